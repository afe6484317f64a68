"""The Markdown twin: the same numbers, and text that stays text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bakeoff.report.render.html import write_html
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import Result
from bakeoff.runs.markdown_tables import block, escape_markdown, table

Make = Callable[..., Result]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | b", r"a \| b"),
        ("<script>", r"\<script\>"),
        ("two\nlines", "two lines"),
        ("# no heading", r"\# no heading"),
        ("- no list", r"\- no list"),
        ("[x](javascript:alert(1))", r"\[x](javascript:alert(1))"),
        ("![x](y)", r"!\[x](y)"),
        ("[.75 .86]", "[.75 .86]"),
        ("snake_case *star* `tick`", r"snake\_case \*star\* \`tick\`"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        (r"back\slash", r"back\\slash"),
    ],
)
def test_plain_text_stays_text(text: str, expected: str) -> None:
    assert escape_markdown(text) == expected


def test_a_fence_is_longer_than_any_inside() -> None:
    lines = block("before\n````\nafter")
    assert lines[0] == "`````text"
    assert lines[-2] == "`````"


def test_rows_have_as_many_cells_as_the_heading() -> None:
    lines = table(["a", "b"], [("x|y", 1), ("z", 2)])
    assert [line.replace(r"\|", "").count("|") for line in lines[:-1]] == [3, 3, 3, 3]


def test_it_holds_the_numbers_of_the_html(make_run: Make) -> None:
    result = make_run(systems=4, nulls=2)
    markdown = write_markdown(result).read_text(encoding="utf-8")
    page = write_html(result).read_text(encoding="utf-8")
    assert escape_markdown(result.verdict.sentence) in markdown
    for system in result.done:
        row = next(
            line for line in markdown.splitlines() if line.startswith("| ") and f"| {system} |" in line
        )
        first = row.split("|")[3].strip().split(" (")[0]
        assert first in page
    assert "n 43, 7 excluded" in markdown


def test_it_is_the_same_every_time(make_run: Make) -> None:
    result = make_run(systems=3)
    assert write_markdown(result).read_bytes() == write_markdown(result).read_bytes()


def test_hostile_text_makes_no_table_row_and_no_tag(make_run: Make) -> None:
    result = make_run(labels=("a | b <i>x</i>", "c\nd"), passage="```\n<script>alert(1)</script>\n| x |")
    lines = write_markdown(result).read_text(encoding="utf-8").splitlines()
    heading = next(line for line in lines if line.startswith("|  | system |"))
    rows = [line for line in lines if line.startswith(("| A |", "| B |"))]
    assert len(rows) == 2
    assert all(row.replace("\\|", "").count("|") == heading.count("|") for row in rows)


@pytest.mark.parametrize("fields", [{"systems": 1}, {"systems": 2, "failed": 2}, {"systems": 3, "nulls": 45}])
def test_unusual_runs_are_written_too(make_run: Make, fields: dict[str, object]) -> None:
    text = write_markdown(make_run(**fields)).read_text(encoding="utf-8")
    assert text.startswith("# Which made-up system finds")
    assert "nan" not in text
    assert "None" not in text
