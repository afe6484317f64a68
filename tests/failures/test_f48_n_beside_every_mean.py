"""F48: 39 of 50 queries printed under "50 queries". n and the excluded stand beside every mean."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.report.build import build_report
from bakeoff.report.render.html import write_html
from bakeoff.report.render.markdown import write_markdown

_place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_f48", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)

THIRTY_NINE = made_up.Made(systems=4, queries=50, negatives=5, nulls=6)


def test_f48_every_mean_of_the_systems_table_says_39_counted_and_11_excluded(tmp_path: Path) -> None:
    result = made_up.write_run(tmp_path / "run", THIRTY_NINE)
    text = write_html(result).read_text(encoding="utf-8")
    table = re.search(r'id="systems-table".*?</table>', text, re.S)
    assert table is not None
    assert table[0].count("n 39, 11 excluded") == 4 * len(result.record.measures)
    assert "n 50" not in table[0]


def test_f48_group_means_add_up_to_the_counted_queries(tmp_path: Path) -> None:
    for part in build_report(made_up.write_run(tmp_path / "run", THIRTY_NINE)).breakdowns:
        for _, means in part.rows:
            assert sum(mean.n for mean in means) == 39
        assert sum(part.excluded) == 11


def test_f48_the_excluded_queries_are_named_with_their_reasons(tmp_path: Path) -> None:
    result = made_up.write_run(tmp_path / "run", THIRTY_NINE)
    exclusions = build_report(result).background.exclusions
    reasons = {one.reason: one.queries for one in exclusions}
    assert reasons["no relevant item at this unit"] == tuple(f"q-{n:02d}" for n in range(1, 7))
    assert reasons["no right answer (negative)"] == tuple(f"q-{n:02d}" for n in range(46, 51))
    text = write_html(result).read_text(encoding="utf-8")
    assert all(f"q-{n:02d}" in text for n in (*range(1, 7), *range(46, 51)))


def test_f48_the_markdown_twin_says_it_too(tmp_path: Path) -> None:
    result = made_up.write_run(tmp_path / "run", THIRTY_NINE)
    rows = [
        line
        for line in write_markdown(result).read_text(encoding="utf-8").splitlines()
        if re.match(r"\| [A-D] \|", line)
    ]
    assert len(rows) == 4
    assert all(row.count("n 39, 11 excluded") == len(result.record.measures) for row in rows)


def test_f48_a_run_names_what_it_left_out_and_counts_the_rest(ran: Any) -> None:
    result = ran.result
    gone = {(one.query_id, one.measure): one.reason for one in result.record.excluded}
    for name in result.record.measures:
        for system, one in result.summaries(name).items():
            assert one.n + len(one.excluded) == result.queries.num_rows, (system, name)
            assert {dropped.query for dropped in one.excluded} == {q for q, m in gone if m == name}
    assert gone["nothing", result.record.primary] == "no right answer (negative)"


def test_f48_the_terminal_says_how_many_questions_a_mean_counts(ran: Any, capsys: Any) -> None:
    pair = next(pair for pair in ran.result.comparison.pairs if pair.mdd is not None)
    words = ["compare", str(ran.result.path), pair.a, pair.b]
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "of 12 questions" in told and "not counted: nothing, nowhere (2 questions)" in told
