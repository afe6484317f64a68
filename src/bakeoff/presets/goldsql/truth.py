"""The statements of a query in gold_queries.yaml, and which of them are the truth of its category."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.truth.importers.draft import ImportLog, ImportOptions, TruthValue
from bakeoff.truth.importers.fields import Fields, as_tag, is_count
from bakeoff.truth.importers.rules import combine_rules, documents
from bakeoff.types import JsonObject

SIGNALS = 2
"""S4-11 calls a chunk relevant if it contains "multiple" signals."""
ROLES = {
    "incident": ("documents",),
    "section": ("sections",),
    "conceptual": ("documents", "sql", "signals"),
    "": ("documents", "sql"),
}
"""Which statements are the truth of a category (S4-8, S4-11, S4-13, S4-19 to S4-21); the others become tags."""
RULES = ("documents", "sql", "signals", "sections")
_NO_REPORT = ("n/a", "na", "none", "none specified", "-", "")
_WHERE = re.compile(r"\s*where\b\s*", re.IGNORECASE)
_SECTION_IS = re.compile(r"section_name\W*(=|\bIN\b)", re.IGNORECASE)
_REPORTS = ("expected_report_ids", "report_ids", "target_reports", "target_report", "target_report_id")
_COUNTS = {
    "min_documents": ("min_relevant_reports", "minimum_relevant_reports", "min_reports"),
    "expected_count": ("expected_report_count", "expected_reports_count", "expected_reports"),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a query: its field, its form as (part of) a rule, and its form as a tag."""

    kind: str
    source: str
    rule: JsonObject
    tag: str
    kept: str


@dataclass(frozen=True, slots=True)
class Context:
    """Settings of all queries of a file."""

    options: ImportOptions
    universal: tuple[str, ...]
    ledger: ImportLog


def statements(fields: Fields, query: str, context: Context) -> list[Statement]:
    """Everything a query states about its truth."""
    found = [_reports(fields, context), _sql(fields, query, context), _signals(fields, query, context)]
    found += [_sections(fields, context), *(_expected_statement(fields, kind) for kind in _COUNTS)]
    return [statement for statement in found if statement]


def truth_of(
    category: str, said: Sequence[Statement], negative: bool, query: str, ledger: ImportLog
) -> tuple[TruthValue, dict[str, str]]:
    """The truth of a query, and tags for its other fields."""
    role = next(role for role in ROLES if category.lower().startswith(role))
    able = [statement for statement in said if statement.rule and statement.kind in RULES]
    used = [statement for statement in able if statement.kind in ROLES[role]] or able
    by_report = role == "incident" and not any(statement.kind == "documents" for statement in able)
    if negative or by_report or not used:
        word = "negative" if negative or by_report else "unjudged"
        ledger.attend(f"no report is expected; written as {word}, and what it states is kept as tags.", query)
        return word, _account(said, [], ledger)
    expected = [statement for statement in said if statement.rule and statement.kind in _COUNTS]
    truth = combine_rules([statement.rule for statement in used])
    for statement in expected:
        truth |= statement.rule
    return truth, _account(said, [*used, *expected], ledger)


def _account(said: Sequence[Statement], used: Sequence[Statement], ledger: ImportLog) -> dict[str, str]:
    tags = {}
    for statement in said:
        if statement in used:
            ledger.note_moved(statement.source, f"truth.{statement.kind}")
        else:
            ledger.note_moved(statement.source, f"tags.{statement.tag}")
            tags[statement.tag] = statement.kept
    return tags


def _reports(fields: Fields, context: Context) -> Statement | None:
    listed = not is_count(fields.peek("expected_reports"))
    key, value = fields.take([*_REPORTS, *(["expected_reports"] if listed else [])])
    if not key or value in (None, []):
        return None
    written = value if isinstance(value, list) else re.split(r"\s*,\s*", str(value))
    names = fields.as_list(key, [name for name in written if str(name).strip().lower() not in _NO_REPORT])
    rule = documents([_report(name, context) for name in names], exact=False) if names else {}
    return Statement("documents", fields.name(key), rule, key, as_tag(value))


def _report(name: str, context: Context) -> str:
    """A report's name; without an extension, or with `--any-extension`, it matches all extensions."""
    stem, _, extension = name.rpartition(".")
    if not stem or not extension.isalnum() or len(extension) > 4:
        return f"{name}.*"
    if context.options.any_extension:
        return f"{stem}.*"
    context.ledger.attend(
        "reports are named with their extension; if your corpus has another one, import with --any-extension."
    )
    return name


def _sql(fields: Fields, query: str, context: Context) -> Statement | None:
    key, value = fields.take(["verification_sql", "sql"])
    if not key or value in (None, ""):
        return None
    if not isinstance(value, str):
        raise fields.wrong(key, value, "a SQL condition")
    condition = _WHERE.sub("", value, count=1) if _WHERE.match(value) else value
    if _SECTION_IS.search(condition):
        context.ledger.attend(
            "the SQL compares section_name by = or IN. Where a label is more than the name, such as "
            "(b) PROBABLE CAUSE or Report > PROBABLE CAUSE, use LIKE '%…%'.",
            query,
        )
    return Statement("sql", fields.name(key), {"sql": condition}, key, condition)


def _signals(fields: Fields, query: str, context: Context) -> Statement | None:
    key, value = fields.take(["relevance_signals", "signals"])
    words = fields.as_list(key, value)
    if not words:
        return None
    rule = {"signals": {"at_least": SIGNALS, "of": words}} if len(words) >= SIGNALS else {}
    if not rule:
        context.ledger.attend(f"one signal is not a rule, which needs {SIGNALS}; it is kept as a tag.", query)
    return Statement("signals", fields.name(key), rule, "signals", as_tag(words))


def _sections(fields: Fields, context: Context) -> Statement | None:
    key, value = fields.take(["primary_sections", "target_sections", "expected_sections"])
    names = fields.as_list(key, value)
    if not names:
        return None
    more = {"universal": list(context.universal)} if context.universal else {}
    over = {"over": "chunks"} if context.options.section_labels else {}
    rule: JsonObject = {"sections": {"of": names, **more}, **over}
    return Statement("sections", fields.name(key), rule, key, as_tag(names))


def _expected_statement(fields: Fields, kind: str) -> Statement | None:
    key, value = fields.take(_COUNTS[kind])
    if not key or value is None:
        return None
    count = fields.as_count(key, value)
    return Statement(kind, fields.name(key), {kind: count} if count else {}, key, as_tag(value))
