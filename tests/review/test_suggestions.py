"""A language model's suggestions: strictly read, durable, kept apart from judgments, and measured against people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.measures.labels import Label
from bakeoff.review.judgment_set import make_set
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.outcomes import ItemOutcome, OutcomeState
from bakeoff.review.pool import ReviewPool, write_pool
from bakeoff.review.review_folder import ReviewFolder, load_state
from bakeoff.review.suggesting import ModelFailure, SuggestedGrade, opinion_on, read_opinion, request_body
from bakeoff.review.suggestions import (
    GradeStability,
    grades,
    model_agreement,
    read_suggestions,
    suggest,
    suggestion_files,
    suggestions_file,
    to_ask,
)
from bakeoff.review.web.session import ReviewOptions, ReviewSession
from bakeoff.runtime import json_client
from bakeoff.runtime.json_client import JsonClient
from bakeoff.storage.environment import SettingSource

sys.path.append(str(Path(__file__).parents[1] / "plugins" / "embedders"))
from loopback import Answer, Loopback, Request

KEY = "sk-planted-0123456789"


@dataclass(frozen=True)
class Manners:
    """How the server is asked in a test."""

    timeout: float = 60.0
    retries: int = 2
    requests_per_minute: float | None = None


def chat(text: object, finish: str = "stop") -> Answer:
    """An answer in the published shape of chat completions."""
    message = {"role": "assistant", "content": text}
    return 200, {"id": "c", "object": "chat.completion", "model": "m",
                 "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                 "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}  # fmt: skip


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., JsonClient]]:
    """Connects to a server of this machine that answers as told."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    monkeypatch.setattr(json_client, "BACKOFF_SECONDS", 0.01)
    open_: list[tuple[Loopback, JsonClient]] = []

    def connect(answer: Callable[[Request], Answer], manners: Manners = Manners()) -> JsonClient:
        server = Loopback(answer).__enter__()
        made = JsonClient(f"{server.url}/v1", "CHAT_KEY", manners, ModelFailure, SettingSource.USER)
        open_.append((server, made))
        made.requests = server.requests  # type: ignore[attr-defined]
        return made

    yield connect
    for server, made in open_:
        made.close()
        server.__exit__()


@pytest.fixture
def review(pool: ReviewPool, tmp_path: Path) -> ReviewFolder:
    made = ReviewFolder(tmp_path / "review")
    write_pool(pool, made.pool_file)
    return made


# --- what an answer is worth ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ('{"grade": 0, "reason": "off"}', 0),
        ('{"grade": 2, "reason": "says it"}', 2),
        ('Sure!\n```json\n{"grade": 1, "reason": "half"}\n```', 1),
        ('{"thinking": {"a": 1}} {"grade": 1}', 1),
    ],
)
def test_a_grade_is_read(text: str, grade: int) -> None:
    assert read_opinion(text).grade == grade


@pytest.mark.parametrize(
    "text",
    ["", "2", "relevant", '{"grade": 3}', '{"grade": -1}', '{"grade": "2"}', '{"grade": 1.5}', '{"grade": true}',
     '{"grade": null}', '{"grade": [1]}', '{"grade": 1', '{"score": 1}', "{" * 5000, '{"a":' * 5000, None, 7,
     [{"type": "text"}]],
)  # fmt: skip
def test_what_is_no_grade_is_missing_and_not_a_zero(text: object) -> None:
    said = read_opinion(text)
    assert said.grade is None and said.missing


def test_a_reason_is_one_short_line() -> None:
    said = read_opinion('{"grade": 1, "reason": "' + "a\\n\\u001b[31m b " * 400 + '"}')
    assert "\n" not in said.reason and len(said.reason) == 300


# --- the server -------------------------------------------------------------------------------------


def test_a_model_is_asked_in_the_published_shape(ask: Callable[..., JsonClient], pool: ReviewPool) -> None:
    server = ask(lambda _: chat('{"grade": 2, "reason": "says it"}'))
    assert opinion_on(server, "m", pool.items[0]) == SuggestedGrade(2, "says it")
    (sent,) = server.requests  # type: ignore[attr-defined]
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    assert sent.body == request_body("m", pool.items[0]) and sent.body["temperature"] == 0
    said = str(sent.body)
    assert pool.items[0].query_text in said and pool.items[0].text in said
    assert not any(one.chunk_id in said for one in pool.items[0].returned), "the model is blind as well"


def test_too_many_requests_are_waited_out(ask: Callable[..., JsonClient], pool: ReviewPool) -> None:
    replies = iter([(429, {"error": "slow down"}, {"Retry-After": "0"}), chat('{"grade": 1}')])
    assert opinion_on(ask(lambda _: next(replies)), "m", pool.items[0]).grade == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"error": f"bad key {KEY}"}), "refused"),
        ((403, "no"), "refused"),
        ((500, {"error": f"Authorization: Bearer {KEY}"}), "500"),
        ((200, "not json"), "did not answer with JSON"),
        ((200, {"choices": []}), "IndexError"),
        ((200, ["x"]), "TypeError"),
        ((429, "", {"Retry-After": "86400"}), "asks to wait"),
        ((404, {"error": "no such model"}), "no such model"),
    ],
)  # fmt: skip
def test_a_server_that_fails_is_told_without_the_key(
    answer: Answer, words: str, ask: Callable[..., JsonClient], pool: ReviewPool
) -> None:
    with pytest.raises(ModelFailure, match=words) as caught:
        opinion_on(ask(lambda _: answer), "m", pool.items[0])
    assert "planted" not in str(caught.value)


def test_silence_is_told(ask: Callable[..., JsonClient], pool: ReviewPool) -> None:
    import threading

    never = threading.Event()

    def answer(_: Request) -> Answer:
        never.wait(60)
        return chat("")

    try:
        with pytest.raises(ModelFailure):
            opinion_on(ask(answer, Manners(timeout=0.1, retries=1)), "m", pool.items[0])
    finally:
        never.set()


# --- the files --------------------------------------------------------------------------------------


def test_only_what_nobody_judged_is_asked_and_each_answer_is_kept(
    review: ReviewFolder, pool: ReviewPool
) -> None:
    state, path = load_state(review), suggestions_file(review.folder, "org/model:7b")
    items = to_ask(pool, state.settled, [])
    assert {item.id for item in items} == {item.id for item in pool.open}
    said = iter([SuggestedGrade(2, "yes"), SuggestedGrade(None, missing="no JSON"), SuggestedGrade(0, "no")])
    with pytest.raises(ModelFailure):
        for _ in suggest(items, path, "org/model:7b", "host", lambda _: _next(said)):
            pass
    kept = read_suggestions(path)
    assert [one.grade for one in kept] == [2, None, 0], "what was answered before the fault is on disk"
    again = to_ask(pool, state.settled, kept)
    assert {item.id for item in items} - {item.id for item in again} == {items[0].id, items[2].id}, (
        "missing is asked again"
    )
    assert suggestion_files(review.folder) == [path] and path.parent.parent == review.folder


def _next(said: Iterator[SuggestedGrade]) -> SuggestedGrade:
    for one in said:
        return one
    raise ModelFailure("the server is gone")


def test_a_line_that_was_cut_off_does_not_count_and_a_wrong_one_is_said(
    review: ReviewFolder, pool: ReviewPool
) -> None:
    path = suggestions_file(review.folder, "m")
    list(suggest(pool.items[:2], path, "m", "h", lambda _: SuggestedGrade(1)))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert len(read_suggestions(path)) == 2
    path.write_bytes(whole.replace(b'"grade": 1', b'"grade": 9', 1))
    with pytest.raises(DataError, match="line 1"):
        read_suggestions(path)


def test_suggestions_are_no_judgments_and_who_judges_does_not_see_them(
    review: ReviewFolder, pool: ReviewPool
) -> None:
    before = load_state(review)
    list(
        suggest(
            pool.open,
            suggestions_file(review.folder, "m"),
            "m",
            "h",
            lambda _: SuggestedGrade(2, "a telling reason"),
        )
    )
    after = load_state(review)
    assert after == before and not make_set(pool, after.settled, rules=False).rows
    told = str(ReviewSession(review, ReviewOptions(repeats=0)).open("ann"))
    assert "telling" not in told and "grade=2" not in told and "suggest" not in told


def test_a_changed_passage_does_not_inherit_a_suggestion(pool: ReviewPool, tmp_path: Path) -> None:
    from dataclasses import replace

    path = tmp_path / "s.jsonl"
    list(suggest(pool.items, path, "m", "h", lambda _: SuggestedGrade(2)))
    changed = replace(pool, items=(replace(pool.items[0], text="another text"), *pool.items[1:]))
    assert set(grades(changed, read_suggestions(path))) == {item.id for item in pool.items[1:]}


# --- against people, and as judgments that say whose they are ---------------------------------------


def test_agreement_is_over_what_people_judged(pool: ReviewPool) -> None:
    """Worked by hand: 4 passages, 3 the same; chance 0.5 and so kappa (0.75 - 0.5) / 0.5."""
    items = pool.open[:4]
    labels = [Label.SEMANTIC_MATCH, Label.SEMANTIC_MATCH, Label.FALSE_POSITIVE, Label.FALSE_POSITIVE]
    settled = {
        item.id: ItemOutcome(item.id, item.query_id, OutcomeState.AGREED, label)
        for item, label in zip(items, labels, strict=True)
    }
    settled[pool.items[0].id] = ItemOutcome(pool.items[0].id, "q0", OutcomeState.RULE, Label.KEYWORD_MATCH)
    said = {item.id: grade for item, grade in zip(items, (2, 0, 0, 0), strict=True)} | {pool.items[0].id: 0}
    found = model_agreement("m", said, 3, settled, GradeStability(asked_again=0, changed=0))
    assert found.relevant.items == 4 and found.same == 0.75 and found.missing == 3
    assert found.relevant.value == pytest.approx(0.5) and found.relevant.low is not None
    assert (found.only_model, found.only_people) == (0, 1)
    assert found.graded.value is None, "people gave no grades"


def test_what_a_model_fills_in_says_so(review: ReviewFolder, pool: ReviewPool) -> None:
    judged, conflict = pool.open[0], pool.open[1]
    for name, item, label in (("ann", judged, Label.FALSE_POSITIVE), ("ann", conflict, Label.FALSE_POSITIVE),
                              ("bob", conflict, Label.SEMANTIC_MATCH)):  # fmt: skip
        review.ledger.append(
            LedgerEntry(LedgerKind.JUDGE, item.id, item.query_id, name, item.text_hash, label)
        )
    made = make_set(
        pool, load_state(review).settled, suggested={item.id: 2 for item in pool.items}, model="m"
    )
    sources = {row.source for row in made.rows}
    assert sources == {"human", "rule:sql", "model:m"}
    by = {(row.query, row.start): (row.grade, row.source) for row in made.rows}
    assert by[judged.query_id, judged.start] == (0, "human"), "people come before the model"
    assert (conflict.query_id, conflict.start) not in by, "a model decides no conflict"
    assert made.reviewers == ("ann", "bob")
