"""bakeoff review suggest as it is typed: a model's opinions beside a review, and what a run on them says of itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.runs.analysis import open_run

sys.path.append(str(Path(__file__).parents[1] / "plugins" / "embedders"))
from loopback import Answer, Loopback, Request

Cli = Callable[..., Any]
MARKED = "judged by a model (tiny-judge), not by people"
KEY = "sk-planted-0123456789"


def judged(request: Request) -> Answer:
    """Grades by a word the passage has, so that grades differ; every seventh answer holds none."""
    passage = request.body["messages"][1]["content"].split("<<<")[1]
    grade = 2 if "token" in passage.lower() else 1 if "card" in passage.lower() else 0
    text = "I cannot say" if len(passage) % 7 == 0 else json.dumps({"grade": grade, "reason": "because"})
    return 200, {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}


@pytest.fixture
def review(ran: Any, cli: Cli, home: Path) -> Path:
    """A review of the tiny run."""
    done = cli("review", "export", ran.result.path, "--to", "review", "--k", 3, "--system", "line dense exact",
               "--system", "line bm25")  # fmt: skip
    assert done.code == 0, done.err
    return Path("review")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Loopback(judged) as started:
        monkeypatch.setenv("BAKEOFF_CHAT_URL", f"{started.url}/v1")
        yield started


def test_from_suggestions_to_a_run_that_says_whose_judgments_it_has(
    review: Path, cli: Cli, server: Loopback, laid_out: Callable[..., Path]
) -> None:
    words = ("review", "suggest", review, "--model", "tiny-judge", "--again", 0)
    few = cli(*words, "--limit", 2, "--json").json
    assert few["asked"] == 2 and len(server.requests) == 2
    done = cli(*words)
    assert done.code == 0 and "These are suggestions" in done.out and server.host in done.out, done.err
    asked = [request.body["messages"][1]["content"] for request in server.requests]
    answered = [text for text in asked if len(text.split("<<<")[1]) % 7]
    assert len(set(answered)) == len(answered), "nothing that has a grade is asked again"
    assert cli(*words, "--json").json["missing"] == len(asked) - len(answered) - few["missing"]
    assert cli("review", "judgments", review, "--people-only", "--out", "none.json").code == 2
    made = cli("review", "judgments", review, "--with-suggestions", "tiny-judge", "--out", "j.json")
    assert made.code == 0 and "tiny-judge" in made.err
    sources = {row["source"] for row in json.loads(Path("j.json").read_text())["judgments"]}
    assert any(one.startswith("model:tiny-judge;") for one in sources) and "human" not in sources
    text = "corpus: {folder: corpus}\nqueries: queries.yaml\njudgments: j.json\nchunkers: [line]\n"
    laid_out(
        Path.cwd(), f"{text}embedders: [{{wordllama: {{dims: 64}}}}]\nstores: [exact]\nmodes: [dense, bm25]\n"
    )
    ran = cli("run", "--out", "run")
    assert ran.code == 0, ran.err
    assert MARKED in " ".join(ran.err.split()), "while it runs"
    assert MARKED in " ".join(ran.out.split()), "beside the verdict"
    assert any(MARKED in note for note in open_run("run").record.notes), "in the result"
    cli("report", "run", "--format", "html,md")
    for name in ("report.html", "report.md"):
        assert "not by people" in Path("run", name).read_text(encoding="utf-8"), name


def test_agreement_shows_models_and_people(review: Path, cli: Cli, server: Loopback) -> None:
    for path in (review / "files").glob("*.yaml"):
        text = path.read_text(encoding="utf-8").replace("judgment: ''", "judgment: SEMANTIC_MATCH")
        path.write_text(
            text.replace("reviewer: ''", "reviewer: ann").replace("complete: false", "complete: true")
        )
    cli("review", "import", review / "files")
    words = ("review", "suggest", review, "--model", "tiny-judge")
    assert cli(*words, "--json").json["asked"] == 0, "people judged all of it"
    assert cli(*words, "--judged", "--json").json["asked"] > 0
    (found,) = cli("review", "agreement", review, "--json").json["models"]
    assert found["model"] == "tiny-judge" and found["relevant"]["items"] > 0
    assert "tiny-judge" in cli("review", "agreement", review).out


def test_a_failure_is_reported_and_answers_are_kept(
    review: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter([judged, judged])

    def refuses(request: Request) -> Answer:
        return next(replies, lambda one: (401, f"no: {one.headers}"))(request)

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Loopback(refuses) as server:
        words = ("review", "suggest", review, "--model", "m", "--url", f"{server.url}/v1", "--retries", "0")
        done = cli(*words)
    assert done.code == 1 and "$OPENAI_API_KEY" in done.err
    assert KEY not in done.err + done.out
    (kept,) = (review / "suggestions").iterdir()
    assert len(kept.read_text().splitlines()) == 2 and KEY not in kept.read_text()
    gone = cli(*words)
    assert gone.code == 1 and "no server answers" in gone.err
    wrong = cli("review", "suggest", review, "--model", "m", "--url", "http://a:hunter2secret@h/v1")
    assert wrong.code == 2 and "password" in wrong.err and "hunter2secret" not in wrong.err
    nobody = cli("review", "judgments", review, "--with-suggestions", "other", "--out", "j.json")
    assert nobody.code == 2 and "suggest --model other" in nobody.err
