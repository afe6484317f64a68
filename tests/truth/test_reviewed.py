"""A judgment set enters at truth: its queries are judged by people, and only on the text they saw."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.fingerprint import bytes_fingerprint
from bakeoff.runs.run import run
from bakeoff.truth.human_judgments import (
    JudgedSpan,
    JudgmentSet,
    judgment_set,
    judgments_text,
    read_judgments,
)

TEXT = "Passwords are hashed with argon2"


def span(corpus: Path, document: str, text: str, query: str, grade: int) -> JudgedSpan:
    start = (corpus / document).read_text(encoding="utf-8").index(text)
    return JudgedSpan(
        query, document, start, start + len(text), grade, "human", bytes_fingerprint(text.encode())
    )


def judged(folder: Path) -> JudgmentSet:
    corpus = folder / "corpus"
    rows = [
        span(corpus, "guide/auth.md", TEXT, "expiry", 2),
        span(corpus, "guide/billing.md", "An invoice is issued", "expiry", 0),
    ]
    return judgment_set("run", ["ann"], rows)


def test_a_set_is_read_back_and_the_order_of_its_rows_is_no_matter(small: Path) -> None:
    made = judged(small.parent)
    path = small.parent / "judgments.json"
    path.write_text(judgments_text(made))
    assert read_judgments(path) == made
    assert judgment_set("run", ["ann"], reversed(made.rows)).fingerprint() == made.fingerprint()
    other = judgment_set("run", ["ann"], [replace(made.rows[0], grade=1), made.rows[1]])
    assert other.fingerprint() != made.fingerprint()


def test_an_edited_or_damaged_set_is_refused(small: Path) -> None:
    path = small.parent / "judgments.json"
    data = json.loads(judgments_text(judged(small.parent)))
    data["judgments"][0]["grade"] = 3
    for text, message in ((json.dumps(data), "edited"), ("{", "damaged"), ("{}", "not a judgment set")):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_judgments(path)
    with pytest.raises(DataError):
        read_judgments(path.with_name("gone.json"))


@pytest.fixture
def reviewed(small: Path) -> Callable[[JudgmentSet], Path]:
    """The small experiment with a judgment set."""

    def write(made: JudgmentSet) -> Path:
        (small.parent / "judgments.json").write_text(judgments_text(made))
        small.write_text(small.read_text() + "judgments: judgments.json\n")
        return small

    return write


def test_the_queries_of_a_set_are_judged_by_it_alone(
    small: Path, reviewed: Callable[[JudgmentSet], Path], tmp_path: Path
) -> None:
    before = run(small, out=tmp_path / "before")
    after = run(reviewed(judged(small.parent)), out=tmp_path / "after")
    assert before.record.truth_fingerprint != after.record.truth_fingerprint
    sources = {
        (row["query_id"], row["source"])
        for row in after.scores.to_pylist()
        if row["query_id"] in ("expiry", "sso")
    }
    assert sources == {("expiry", "human"), ("sso", "documents")}


def test_a_judgment_of_another_text_does_not_count_and_is_said(
    small: Path, reviewed: Callable[[JudgmentSet], Path], tmp_path: Path
) -> None:
    path = reviewed(judged(small.parent))
    document = small.parent / "corpus/guide/auth.md"
    document.write_text(document.read_text(encoding="utf-8").replace("argon2", "bcrypt"), encoding="utf-8")
    said: list[str] = []
    run(path, out=tmp_path / "run", emit=lambda event: said.append(str(event)))
    assert any("1 judgment" in text and "has changed" in text for text in said)
