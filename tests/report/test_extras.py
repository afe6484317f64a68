"""Load and review in the report: only where they were measured, and with their own numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bakeoff.analysis import Result
from bakeoff.cli.app import app
from bakeoff.measures.labels import Label
from bakeoff.report.extras import extras
from bakeoff.report.html import page
from bakeoff.report.markdown import text
from bakeoff.report.reviewed import review_section
from bakeoff.report.tables import tables
from bakeoff.review.desk import open_desk, stands
from bakeoff.review.ledger import Entry, Kind

Make = Callable[..., Result]


def test_nothing_beside_a_run_is_no_section(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [section.id for section in extras(make_run(), ())] == []


def test_a_review_is_in_the_report_with_its_bounds(
    ran: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ran.result
    exported = CliRunner().invoke(app, ["review", "export", str(result.path)], standalone_mode=False)
    assert exported.exception is None, exported.output
    section = review_section(result)
    assert section is not None and section.grids == () and section.finding.startswith("0 of ")
    desk = open_desk(result.path)
    item = desk.pool().items[0]
    desk.ledger.append(
        Entry(Kind.JUDGE, item.id, item.query_id, "ann", item.text_hash, judgment=Label.SEMANTIC_MATCH)
    )
    section = review_section(result)
    assert section is not None and section.finding.startswith("1 of ") and len(section.grids) >= 1
    assert stands(desk).settled[item.id].label is Label.SEMANTIC_MATCH
    report = tables(result)
    assert "Judged by people" in page(report) and "Judged by people" in text(report)


def test_a_final_report_needs_a_review(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["final-report", str(make_run().path)], standalone_mode=False)
    assert "no review yet" in str(told.exception)
