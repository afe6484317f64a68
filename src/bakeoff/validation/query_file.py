"""validate --queries: a query file checked by itself, without an experiment or documents (S2-7)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bakeoff.errors import DataError, QueryFileError
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.validation.automation import automation_rows, check_automation
from bakeoff.validation.findings import LEVELS, Finding, Report
from bakeoff.validation.queries import check_queries


def validate_queries(path: Path, read: Callable[[Path], QuerySet] = read_queries) -> Report:
    """What is wrong with a query file that can be known without documents; `read` reads its format."""
    try:
        queries = read(path)
    except (DataError, QueryFileError) as exc:
        return Report(path.name, (Finding("error", "queries", path.name, str(exc)),))
    findings = [*check_queries(queries), *check_automation(queries)]
    ordered = tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))
    mix = queries.metadata.difficulty_mix
    return Report(path.name, ordered, automation=automation_rows(queries), declared_mix=mix)
