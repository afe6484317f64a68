"""F63: a language model's grades move from one call to the next, and its figures are printed without that."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "plugins" / "embedders"))
from loopback import Answer, Loopback, Request

Cli = Callable[..., Any]


@pytest.fixture
def moody(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A judge that grades a passage 2 the first time and 0 the second."""
    times: Counter[str] = Counter()

    def judged(request: Request) -> Answer:
        passage = request.body["messages"][1]["content"]
        times[passage] += 1
        text = json.dumps({"grade": 2 if times[passage] == 1 else 0, "reason": "because"})
        return 200, {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}

    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    with Loopback(judged) as started:
        monkeypatch.setenv("BAKEOFF_CHAT_URL", f"{started.url}/v1")
        yield started


def test_f63_grades_are_asked_for_twice_and_every_figure_shows_how_many_changed(
    ran: Any, cli: Cli, home: Path, moody: Loopback, laid_out: Callable[..., Path]
) -> None:
    exported = cli("review", "export", ran.result.path, "--to", "review", "--k", 3)
    assert exported.code == 0, exported.err
    asked = cli("review", "suggest", "review", "--model", "moody", "--again", 4, "--json")
    stability = json.loads(asked.out)["agreement"]["stability"]
    assert stability == {"asked_again": 4, "changed": 4}
    repeated = cli("review", "suggest", "review", "--model", "moody", "--again", 4, "--json")
    assert json.loads(repeated.out)["agreement"]["stability"] == stability, "four in all, not four more"
    (shown,) = json.loads(cli("review", "agreement", "review", "--json").out)["models"]
    assert shown["stability"] == stability
    cli("review", "judgments", "review", "--with-suggestions", "moody", "--out", "j.json")
    laid_out(
        Path.cwd(),
        "corpus: {folder: corpus}\nqueries: queries.yaml\njudgments: j.json\nchunkers: [line]\nmodes: [bm25]\n",
    )
    measured = cli("run", "--out", "run")
    assert measured.code == 0, measured.err
    assert "4 of 4 grades changed" in " ".join(measured.out.split())
