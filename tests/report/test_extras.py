"""Load and review in the report: only where they were measured, and with their own numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bakeoff.cli.app import app
from bakeoff.measures.labels import Label
from bakeoff.report.build import build_report
from bakeoff.report.render.html import page
from bakeoff.report.render.markdown import text
from bakeoff.report.sections.optional_sections import collect_optional_sections
from bakeoff.report.sections.reviewed import review_section
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.review_folder import load_state, open_review
from bakeoff.runs.analysis import Result

Make = Callable[..., Result]


def test_a_run_without_other_measurements_has_no_optional_section(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [section.id for section in collect_optional_sections(make_run(), ())] == []


def test_a_review_is_in_the_report_with_its_bounds(
    ran: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ran.result
    exported = CliRunner().invoke(app, ["review", "export", str(result.path)], standalone_mode=False)
    assert exported.exception is None, exported.output
    section = review_section(result)
    assert section is not None and section.grids == () and section.finding.startswith("0 of ")
    review = open_review(result.path)
    item = review.pool().items[0]
    review.ledger.append(
        LedgerEntry(
            LedgerKind.JUDGE, item.id, item.query_id, "ann", item.text_hash, judgment=Label.SEMANTIC_MATCH
        )
    )
    section = review_section(result)
    assert section is not None and section.finding.startswith("1 of ") and len(section.grids) >= 1
    assert load_state(review).settled[item.id].label is Label.SEMANTIC_MATCH
    report = build_report(result)
    assert "Judged by people" in page(report) and "Judged by people" in text(report)


def test_a_final_report_needs_a_review(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["final-report", str(make_run().path)], standalone_mode=False)
    assert "no review yet" in str(told.exception)
