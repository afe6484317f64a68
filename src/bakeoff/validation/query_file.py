"""validate --queries: a query file checked by itself, without an experiment or documents (S2-7)."""

from __future__ import annotations

from pathlib import Path

from bakeoff.errors import DataError, QueryFileError
from bakeoff.truth.importers import read_foreign
from bakeoff.truth.importers.writing import query_file
from bakeoff.truth.queries import QuerySet, query_set, read_queries
from bakeoff.validation.automation import automation_rows, check_automation
from bakeoff.validation.findings import LEVELS, Finding, Report
from bakeoff.validation.queries import check_queries
from bakeoff.yamlfile import parse


def validate_queries(path: Path, format_: str = "") -> Report:
    """What is wrong with a query file that can be known without documents; `format_` names a foreign format."""
    try:
        queries = _foreign(path, format_) if format_ else read_queries(path)
    except (DataError, QueryFileError) as exc:
        return Report(path.name, (Finding("error", "queries", path.name, str(exc)),))
    findings = [*check_queries(queries), *check_automation(queries)]
    ordered = tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))
    mix = queries.metadata.difficulty_mix
    return Report(path.name, ordered, automation=automation_rows(queries), declared_mix=mix)


def _foreign(path: Path, format_: str) -> QuerySet:
    return query_set(parse(query_file(read_foreign(format_, [path])), path.name, QueryFileError))
