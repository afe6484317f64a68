"""validate --queries: a query file checked by itself, without an experiment or documents (S2-7)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bakeoff.errors import DataError, QueryFileError
from bakeoff.runs.checks.findings import LEVELS, Finding, ValidationReport
from bakeoff.runs.checks.queries import check_queries
from bakeoff.runs.checks.rule_coverage import automation_rows, check_automation
from bakeoff.truth.queries import QuerySet, read_queries


def validate_queries(path: Path, read: Callable[[Path], QuerySet] = read_queries) -> ValidationReport:
    """What is wrong with a query file that can be known without documents; `read` reads its format."""
    try:
        queries = read(path)
    except (DataError, QueryFileError) as exc:
        return ValidationReport(path.name, (Finding("error", "queries", path.name, str(exc)),))
    findings = [*check_queries(queries), *check_automation(queries)]
    ordered = tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))
    mix = queries.metadata.difficulty_mix
    return ValidationReport(path.name, ordered, automation=automation_rows(queries), declared_mix=mix)
