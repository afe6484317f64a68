"""Damaged truth that once made its reader fall over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.presets.import_formats import read_foreign
from bakeoff.report.exports.truth_files import Qrel, original_qrels
from bakeoff.truth.human_judgments import judgment_set, judgments_text, read_judgments
from bakeoff.truth.importers.rules import ORIGINAL_GRADES
from bakeoff.truth.queries import read_queries


@pytest.mark.parametrize(
    "said", ['{"high": ["d1"]}', '{"1": "d1"}', '{"1": [["d1"]]}', '{"1": 7}', "[" * 5000, "{"]
)
def test_grades_in_a_tag_that_are_none(said: str, tmp_path: Path) -> None:
    row = {"id": "a", "text": "b", "truth": {"documents": ["d1"]}, "tags": {ORIGINAL_GRADES: said}}
    path = tmp_path / "queries.json"
    path.write_text(json.dumps({"queries": [row]}))
    with pytest.raises(DataError, match=f"query a: the tag {ORIGINAL_GRADES} "):
        original_qrels(read_queries(path).queries, [Qrel("a", "d1", 1)])


@pytest.mark.parametrize("content", [",,\n", " \t \n,", '""\n', "\ufeff;;"])
def test_a_table_of_empty_cells(content: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"q\.csv"):
        read_foreign("csv", [tmp_path / "q.csv"])


def test_judgments_without_their_fingerprint(tmp_path: Path) -> None:
    data = json.loads(judgments_text(judgment_set("run", ["ann"], [])))
    del data["fingerprint"]
    path = tmp_path / "judgments.json"
    path.write_text(json.dumps(data))
    with pytest.raises(DataError):
        read_judgments(path)
