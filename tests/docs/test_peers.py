"""What the README says of peers is what benchmarks/results.md measured, to the digit the README gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SAID = [
    ("from Arrow", 0, "measures: Arrow / pytrec_eval, 10,000 × 100, kq/s", "ratio"),
    ("from Arrow", 1, "measures: Arrow / ranx with its objects, 10,000 × 100, kq/s", "ratio"),
    ("from Python dicts", 0, "measures: dicts / pytrec_eval, 10,000 × 100, kq/s", "ratio"),
    ("from Python dicts", 3, "measures: dicts / pytrec_eval, 50 × 10, kq/s", "ratio"),
    ("percentile intervals", 0, "percentile, cpu s against scipy column by column", "ratio"),
    ("SQL truth rules", 0, "sql: 50 rules over 28,321 chunks, s", "ratio"),
    ("semantic chunking", 0, "semantic, MB/s, against bare tree-sitter parsing", "ratio"),
    ("MiniLM on the CPU", 0, "fp32 texts/cpu-s against the sgemm limit", "ratio"),
    ("MiniLM on the CPU", 1, "mixed lengths, texts/cpu-s: fp32 against sentence-transformers", "ratio"),
    ("MiniLM on the CPU", 3, "mixed lengths, texts/cpu-s: int8 against sentence-transformers", "ratio"),
    ("on Ray with one worker", 0, "ray with one worker against this process, seconds", "ratio"),
    ("overhead of the measuring loop", 0, "closed loop, null store, µs per query", "ours"),
    ("a run with a warm cache", 0, "warm rerun / cold run, wall s", "ratio"),
]


def cells(text: str, begins: str) -> list[str]:
    line = next((one for one in text.splitlines() if one.startswith("| ") and begins in one), None)
    assert line is not None, f"no row has {begins!r}"
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(("row", "place", "result", "column"), SAID, ids=str)
def test_peers(row: str, place: int, result: str, column: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    results = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")
    said = re.findall(r"\d+(?:\.\d+)?", cells(readme, row)[1])[place]
    measured = float(cells(results, result)[{"ours": 1, "ratio": 3}[column]])
    digits = len(said.partition(".")[2])
    assert float(said) == pytest.approx(measured, abs=0.51 * 10**-digits), (
        f"README says {said} in the row {row!r}; {result!r} measured {measured}: write {measured:.{digits}f}"
    )


def test_every_figure_of_the_table_is_held() -> None:
    """A figure nobody compares would drift; sizes of the task (10,000 queries, 50 rules) stand in the first cell."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Against peers")[2].partition("## Documentation")[0]
    for line in table.splitlines():
        if not line.startswith("| ") or line.startswith("| what"):
            continue
        name, value, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        value = value.replace("50 queries × 10 results", "n queries × n results").replace("int8", "int")
        figures = re.findall(r"\d+(?:\.\d+)?", value)
        held = [place for row, place, *_ in SAID if row in name]
        assert len(held) == len(figures), f"{name!r} says {figures}; {len(held)} are compared"
