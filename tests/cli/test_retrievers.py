"""bakeoff test retriever and init --endpoint, as they are typed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "plugins" / "embedders"))
from loopback import Loopback, Request

EXPERIMENT = """
corpus: {{folder: corpus}}
queries: queries.yaml
retrievers:
  - {{http: {{url: "{url}/s", body: {{q: "{{query}}", n: "{{k}}"}}, hits: {hits}, id: id, text: body, score: score, as: now}}}}
"""


def answer(request: Request) -> tuple[int, Any]:
    texts = {
        name: (Path("corpus") / name).read_text(encoding="utf-8")
        for name in ("guide/auth.md", "guide/billing.md")
    }
    rows = [
        {"meta": {"path": name}, "id": name, "body": text, "score": 2.0 - place}
        for place, (name, text) in enumerate(texts.items())
    ]
    return 200, {"total": 2, "found": rows[: request.body.get("n", 5)]}


@pytest.fixture
def server(home: Path, laid_out: Callable[..., Path]) -> Iterator[Loopback]:
    laid_out(Path.cwd(), "")
    with Loopback(answer) as found:
        yield found


def test_one_question_shows_the_places_of_its_results(server: Loopback, cli: Any) -> None:
    Path("bakeoff.yaml").write_text(EXPERIMENT.format(url=server.url, hits="found"), encoding="utf-8")
    found = cli("test", "retriever", "now", "--k", 2, "--json")
    assert found.code == 0, found.err
    assert [(row["document"], row["how"]) for row in found.json["rows"]] == [
        ("guide/auth.md", "text"),
        ("guide/billing.md", "text"),
    ]
    assert found.json["question"] == "how long is an access token valid" and found.json["milliseconds"] > 0
    assert cli("test", "retriever", "now", "--question", "tax", "--k", 1).code == 0
    assert server.requests[-1].body == {"q": "value added tax for another country", "n": 1}


def test_a_wrong_path_or_name_is_reported(server: Loopback, cli: Any) -> None:
    Path("bakeoff.yaml").write_text(EXPERIMENT.format(url=server.url, hits="hits"), encoding="utf-8")
    wrong = cli("test", "retriever", "now")
    assert wrong.code == 1 and "found: [2 of {meta: {path: text}" in wrong.err
    other = cli("test", "retriever", "nobody")
    assert other.code == 2 and "It has: now" in other.err


def test_validate_sends_nothing(server: Loopback, cli: Any) -> None:
    Path("bakeoff.yaml").write_text(EXPERIMENT.format(url=server.url, hits="found"), encoding="utf-8")
    assert cli("validate").code in (0, 1)
    assert server.requests == []


def test_init_writes_a_mapping_that_works(server: Loopback, cli: Any) -> None:
    given = ("--endpoint", f"{server.url}/s", "--body", '{q: "{query}", n: "{k}"}')
    found = cli("init", "corpus", "--into", "e", *given)
    assert found.code == 0, found.err
    (written,) = yaml.safe_load(Path("e/bakeoff.yaml").read_text(encoding="utf-8"))["retrievers"]
    paths = {name: written["http"][name] for name in ("hits", "id", "text", "score", "as")}
    assert paths == {"hits": "found", "id": "meta.path", "text": "body", "score": "score", "as": "current"}
    assert cli("test", "retriever", "current", "--experiment", "e").code == 0


def test_init_needs_the_address_and_an_answer(server: Loopback, cli: Any) -> None:
    assert cli("init", "corpus", "--into", "a", "--body", "{}").code == 2
    assert cli("init", "corpus", "--into", "b", "--endpoint", "http://127.0.0.1:1/s").code == 1
    assert cli("init", "corpus", "--into", "c", "--endpoint", "ftp://x").code == 2
