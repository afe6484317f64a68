"""The http retriever against a real server that misbehaves."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

sys.path.insert(0, str(Path(__file__).parents[1] / "embedders"))
from loopback import Loopback, Request

from bakeoff.errors import ConsentError, RetrieverError
from bakeoff.plugins.retrievers.http import HttpRetriever, shape
from bakeoff.types import Condition, DateCondition, RetrievedRow

PATHS = {"hits": "hits.hits", "id": "_id", "text": "_source.body", "score": "_score"}
HITS = [
    {"_id": "a.md", "_score": 2.5, "_source": {"body": "one"}},
    {"_id": "b.md", "_score": 1.0, "_source": {"body": "two"}},
]
BODY = {"query": {"match": {"body": "{query}"}}, "size": "{k}"}


def found(_request: Request) -> tuple[int, Any]:
    return 200, {"took": 3, "hits": {"total": 2, "hits": HITS}}


def made(url: str, **params: Any) -> HttpRetriever:
    given = {"body": BODY, "retries": 0, **PATHS, **params}
    return HttpRetriever(HttpRetriever.Params(url=f"{url}/_search", **given))


def test_the_body_is_filled_and_the_answer_mapped() -> None:
    with Loopback(found) as server:
        rows = list(made(server.url).search('a "quoted" {k} question', 7, ()))
        (request,) = server.requests
    assert rows == [RetrievedRow("a.md", text="one", score=2.5), RetrievedRow("b.md", text="two", score=1.0)]
    assert request.body == {"query": {"match": {"body": 'a "quoted" {k} question'}}, "size": 7}


def test_get_puts_the_question_into_the_address() -> None:
    with Loopback(found) as server:
        url = f"{server.url}/s?q={{query}}&n={{k}}"
        params = HttpRetriever.Params(url=url, method="GET", **PATHS)
        assert len(list(HttpRetriever(params).search("a&b ü", 3, ()))) == 2
        assert server.requests[0].path == "/s?q=a%26b%20%C3%BC&n=3"


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ({"hits": "hits.rows"}, ("hits.rows", "null", "hits: [2 of {_id: text")),
        ({"text": "_source.text"}, ("_source.text", "rank 1", "_source: {body: text}")),
        ({"score": "_source.score"}, ("score", "rank 1")),
    ],
)
def test_a_wrong_path_shows_the_shape_of_the_answer(paths: dict[str, str], words: tuple[str, ...]) -> None:
    paths = {"id": None, **paths} if "text" in paths else paths
    with Loopback(found) as server, pytest.raises(RetrieverError) as fault:
        list(made(server.url, **paths).search("q", 2, ()))
    assert all(word in str(fault.value) for word in words)


def test_a_shape_holds_no_values() -> None:
    assert shape({"key": "secret", "n": [1, 2]}) == "{key: text, n: [2 of number]}"


def test_an_endpoint_that_is_down_slow_or_answers_429() -> None:
    with pytest.raises(RetrieverError):
        made("http://127.0.0.1:1").search("q", 1, ())

    def busy(_request: Request) -> tuple[int, Any, dict[str, str]]:
        return (429, {}, {"Retry-After": "0"}) if len(server.requests) < 3 else (*found(_request), {})

    with Loopback(busy) as server:
        assert len(list(made(server.url, retries=3).search("q", 2, ()))) == 2
        assert len(server.requests) == 3
    with (
        Loopback(lambda _: (429, {}, {"Retry-After": "0"})) as server,
        pytest.raises(RetrieverError, match="429"),
    ):
        made(server.url, retries=1).search("q", 2, ())
    with (
        Loopback(lambda _: (200, "<html>")) as server,
        pytest.raises(RetrieverError, match="JSON"),
    ):
        list(made(server.url).search("q", 1, ()))


def test_filters_become_what_the_endpoint_takes() -> None:
    body = {**BODY, "filter": "{filters}"}
    filters = {"product": {"terms": {"product": "{values}"}}, "year": {"range": {"gte": "{least}"}}}
    with Loopback(found) as server:
        retriever = made(server.url, body=body, filters=filters)
        where = (Condition("product", ("a", "b")), Condition("year", least=2020.0))
        assert retriever.takes_filters and len(list(retriever.search("q", 2, where))) == 2
        sent = server.requests[0].body["filter"]
        assert sent == [{"terms": {"product": ["a", "b"]}}, {"range": {"gte": 2020.0}}]
        with pytest.raises(RetrieverError, match="colour"):
            retriever.search("q", 2, (Condition("colour", ("red",)),))


def test_dates_are_dates_and_missing_bounds_are_left_out() -> None:
    filters = {
        "day": {"range": {"day": {"gte": "{from}", "lte": "{to}"}}},
        "year": {"gte": "{least}", "lte": "{most}"},
    }
    where = (DateCondition("day", (), 1777593600.0), Condition("year", most=2020.0))
    with Loopback(found) as server:
        list(made(server.url, body={**BODY, "filter": "{filters}"}, filters=filters).search("q", 2, where))
        sent = server.requests[0].body["filter"]
    assert sent == [{"range": {"day": {"gte": "2026-05-01T00:00:00Z"}}}, {"lte": 2020.0}]


@pytest.mark.parametrize(
    ("template", "condition", "missing"),
    [
        ({"range": {"gte": "{least}"}}, Condition("f", least=1.0, most=2.0), "{most}"),
        ({"range": {"gte": "{least}"}}, Condition("f", ("a",)), "{value}"),
        ({"term": "{value}"}, Condition("f", ("a", "b")), "{values}"),
        ({"terms": "{values}"}, Condition("f", least=1.0), "{least}"),
        ({"range": {"gte": "{least}"}}, DateCondition("f", (), 1.0), "{from}"),
    ],
)
def test_a_template_that_leaves_out_a_part_of_a_filter_is_an_error(
    template: Any, condition: Condition, missing: str
) -> None:
    """It would search without that part."""
    with Loopback(found) as server:
        retriever = made(server.url, body={**BODY, "filter": "{filters}"}, filters={"f": template})
        with pytest.raises(RetrieverError) as fault:
            retriever.search("q", 2, (condition,))
        assert missing in str(fault.value) and server.requests == []


@pytest.mark.parametrize(
    "given",
    [
        {"filters": {"f": "{value}"}},
        {"url": "http://h/_search?api_key=123"},
        {"url": "http://user:word@h/"},
        {"headers": {"Authorization": "Bearer abc"}},
        {"hits": "hits["},
        {"body": {"q": "fixed"}},
        {"id": None, "text": None},
        {"method": "GET"},
    ],
)
def test_parameters_that_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        HttpRetriever.Params(**{"url": "http://h/", "body": BODY, **PATHS, **given})


def test_a_header_takes_its_key_from_the_environment_with_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", "sesame-open")
    headers = {"X-Api-Key": "${SEARCH_KEY}"}
    with Loopback(found) as server:
        with pytest.raises(ConsentError, match="SEARCH_KEY"):
            made(server.url, headers=headers)
        monkeypatch.setenv("BAKEOFF_ALLOW_KEYS", "SEARCH_KEY")
        retriever = made(server.url, headers=headers)
        list(retriever.search("q", 1, ()))
        sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["x-api-key"] == "sesame-open"
    with pytest.raises(ConsentError, match="allow-host"):
        made("https://search.example", headers=headers)


def test_the_wait_for_a_turn_is_outside_the_search() -> None:
    with Loopback(found) as server:
        retriever = made(server.url, requests_per_minute=600.0)
        for _ in range(3):
            retriever.pace()
            retriever.search("q", 1, ())
        gaps = [b.at - a.at for a, b in zip(server.requests, server.requests[1:], strict=False)]
    assert min(gaps) > 0.05
