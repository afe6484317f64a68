"""Damaged files of a review that once made their reader fall over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.review.pool import read_pool
from bakeoff.review.suggestions import read_suggestions


@pytest.mark.parametrize("content", ["null", "3", "[]", '"x"'])
def test_a_pool_that_is_no_object(content: str, tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(content)
    with pytest.raises(DataError):
        read_pool(tmp_path / "pool.json")


def test_a_suggestion_of_a_passage_that_is_no_text(tmp_path: Path) -> None:
    texts = dict.fromkeys(
        ("query", "text_hash", "model", "server", "prompt", "reason", "missing", "time"), "x"
    )
    line = json.dumps({**texts, "item": ["i"], "grade": 1})
    (tmp_path / "m.jsonl").write_text(f"{line}\n{line}\n")
    with pytest.raises(DataError, match="line 1"):
        read_suggestions(tmp_path / "m.jsonl")
