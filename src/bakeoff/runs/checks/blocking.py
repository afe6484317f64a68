"""Problems of queries and measures that stop a run or are noted in it, even if nobody ran `validate` (F08, F10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bakeoff.errors import QueryFileError
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.pipeline.blank_leaks import blank_leaked_sentences
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.runs.checks.corpus import check_leaks, copied_queries, find_leaks
from bakeoff.runs.checks.findings import Finding
from bakeoff.runs.checks.queries import check_repeated
from bakeoff.runs.checks.text import name_some
from bakeoff.runtime.count_text import count
from bakeoff.truth.queries import QuerySet
from bakeoff.types import Unit

SHOWN = 5
ALLOWABLE = ("leak", "duplicate", "split-overlap")


def blocking_findings(
    queries: QuerySet, corpus: ReadCorpus, allowed: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return notes for the record, and the queries that occur in a document.

    Repeated queries and queries copied from a document stop a run unless allowed.
    """
    embedded = blank_leaked_sentences(corpus, queries)
    leaked = find_leaks(embedded, queries)
    findings = apply_allow_list([*check_repeated(queries), *check_leaks(leaked, embedded, queries)], allowed)
    return refuse_errors(findings), copied_queries(leaked, queries)


def refuse_errors(findings: Iterable[Finding]) -> list[str]:
    """Return one note per kind of warning; raise if there are errors."""
    found = list(findings)
    wrong = [one for one in found if one.level == "error"]
    if wrong:
        raise QueryFileError(lines=_refusal(wrong))
    warnings = [one for one in found if one.level == "warning"]
    codes = dict.fromkeys(one.code for one in warnings)
    return [_note([one for one in warnings if one.code == code]) for code in codes]


def apply_allow_list(findings: Iterable[Finding], allowed: Sequence[str]) -> list[Finding]:
    """Downgrade the findings that the experiment allows to warnings."""
    return [replace(one, level="warning") if _is_allowed(one, allowed) else one for one in findings]


def chunk_unit_conflict(primary: Measure, chunkers: Sequence[str]) -> str:
    """Why a measure can't compare chunkers; '' if it can, or if there is only one."""
    if len(chunkers) < 2 or not counts_chunks(primary):
        return ""
    return (
        f"{primary} counts chunks, which differ between {name_some(chunkers)}, so it can't compare these "
        "chunkers. "
        "Use one chunker, or a primary measure that counts documents or answers."
    )


def counts_chunks(measure: Measure) -> bool:
    """Whether a quality measure depends on how documents are chunked."""
    needs = measure.definition.needs
    return needs is RequiredInput.SECTIONS or (
        needs is RequiredInput.JUDGMENTS and measure.unit is Unit.CHUNK
    )


def _is_allowed(finding: Finding, allowed: Sequence[str]) -> bool:
    return finding.level == "error" and finding.code in allowed


def _refusal(wrong: list[Finding]) -> list[str]:
    lines = [f"{one.where}: {one.message}" for one in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        lines.append(f"and {len(wrong) - SHOWN:,} more; `bakeoff validate` lists them all.")
    kinds = ", ".join(dict.fromkeys(one.code for one in wrong if one.code in ALLOWABLE))
    if kinds:
        lines.append(f"To run anyway, add allow: [{kinds}] to the experiment.")
    return lines


def _note(findings: list[Finding]) -> str:
    """One sentence for all findings of a kind."""
    first = f"{findings[0].where}: {findings[0].message}"
    names = [one.where.rpartition("query ")[2] for one in findings]
    return (
        first
        if len(findings) == 1
        else f"{count(len(findings), 'query', 'queries')} ({name_some(names)}) have the same warning; "
        f"the first: {first}"
    )
