"""Checks the query file on its own: declared counts, repeats, synthetic queries, universal sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bakeoff.measures.conventions import Conventions
from bakeoff.runs.checks.findings import Finding
from bakeoff.runs.checks.text import name_some, quote
from bakeoff.runtime.count_text import count
from bakeoff.truth.duplicates import SimilarQueries, find_similar
from bakeoff.truth.problems import Problem
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.rules import section_titles
from bakeoff.types import JsonObject

SPLIT = "split"
SYNTHETIC = "synthetic"


def check_queries(queries: QuerySet) -> Iterator[Finding]:
    """Everything that can be checked without documents."""
    yield from _check_declared_mix(queries)
    yield from check_repeated(queries)
    yield from _check_synthetic_mix(queries)
    yield from _negatives(queries)


def check_sections(
    queries: QuerySet, measures: tuple[str, ...], conventions: Conventions
) -> Iterator[Finding]:
    """Report the universal sections, and queries that add their own (F11)."""
    if any(name.startswith("SecAcc@") for name in measures):
        listed = ", ".join(conventions.universal_sections) or "none"
        text = (
            f"universal sections, correct for any section query: {listed}. They are part of the conventions."
        )
        yield Finding("note", "universal-sections", "measures", text)
    universal = {name.casefold() for name in conventions.universal_sections}
    for place, rule in enumerate(queries.rules):
        _, titles = section_titles(rule, ())
        extra = [name for name in titles if name.casefold() not in universal]
        if extra:
            text = (
                f"universal sections beyond the conventions: {name_some(extra)}. They make its SecAcc easier"
            )
            fix = "Make them targets of this query or remove them, unless this is intended."
            yield Finding("warning", "universal-sections", queries.where(place), f"{text}. {fix}")


def _check_declared_mix(queries: QuerySet) -> Iterator[Finding]:
    for problem in check_declared(queries):
        yield Finding("warning", "declared", queries.name, problem.message.removeprefix(f"{queries.name}: "))


def check_repeated(queries: QuerySet) -> Iterator[Finding]:
    """Queries that repeat an earlier one (F10)."""
    for pair in find_similar([query.text for query in queries.queries]):
        yield _overlap(queries, pair) or _duplicate(queries, pair)


def _overlap(queries: QuerySet, pair: SimilarQueries) -> Finding | None:
    """Similar queries on both sides of a split: tuning on one then leaks into the test of the other."""
    first, second = (queries.queries[place] for place in (pair.first, pair.second))
    sides = first.tags.get(SPLIT, ""), second.tags.get(SPLIT, "")
    if sides[0] == sides[1] or not all(sides):
        return None
    text = f"it is in split {sides[1]} and {_likeness(pair)} {first.id} of split {sides[0]}: {quote(first.text)}."
    fix = "Put both on one side, or remove one."
    return Finding("error", "split-overlap", queries.where(pair.second), f"{text} {fix}")


def _duplicate(queries: QuerySet, pair: SimilarQueries) -> Finding:
    first = queries.queries[pair.first]
    text = f"it {_likeness(pair)} {first.id}: {quote(first.text)}. One question would count twice."
    if pair.same:
        return Finding("error", "duplicate", queries.where(pair.second), f"{text} Remove one.")
    fix = "Remove one, or reword it."
    return Finding("warning", "near-duplicate", queries.where(pair.second), f"{text} {fix}")


def _likeness(pair: SimilarQueries) -> str:
    return "has the words of" if pair.same else f"shares {pair.jaccard:.0%} of its words with"


def _check_synthetic_mix(queries: QuerySet) -> Iterator[Finding]:
    """A mix of synthetic and human-written queries must be declared: their scores mean different things."""
    synthetic = [query.id for query in queries.queries if query.synthetic]
    total, declared = len(queries.queries), _declared_synthetic(queries)
    if declared is not None and declared != len(synthetic):
        text = (
            f"metadata.extra.{SYNTHETIC} says {declared}, but there are {len(synthetic)}. Correct the number."
        )
        yield Finding("warning", "synthetic", queries.name, text)
    elif synthetic and len(synthetic) < total and declared is None:
        text = (
            f"{len(synthetic)} of {total} queries are synthetic ({name_some(synthetic)}), the others are not."
        )
        fix = f"Move them to another file, or declare them: metadata: {{extra: {{{SYNTHETIC}: {len(synthetic)}}}}}."
        yield Finding("warning", "synthetic", queries.name, f"{text} {fix}")
    if synthetic and len(synthetic) == total:
        text = (
            f"all {total} queries are synthetic: scores show how well drafts are found, not what users ask."
        )
        yield Finding("note", "synthetic", queries.name, text)


def _declared_synthetic(queries: QuerySet) -> int | None:
    """Number of synthetic queries that the file declares."""
    value = _extra(queries).get(SYNTHETIC)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_imported(queries: QuerySet) -> bool:
    """Whether `bakeoff import` wrote the file, so that queries and judgments were collected elsewhere."""
    return "imported" in _extra(queries)


def _extra(queries: QuerySet) -> JsonObject:
    data = queries.located.data if queries.located else {}
    return (data.get("metadata") or {}).get("extra") or {}


def _negatives(queries: QuerySet) -> Iterator[Finding]:
    negative = [query.id for query in queries.queries if query.negative]
    if negative and len(negative) == len(queries.queries):
        text = (
            "every query is negative, so no relevance measure has a value. Add queries that have an answer."
        )
        yield Finding("error", "negative", queries.name, text)
    elif negative:
        have = "has" if len(negative) == 1 else "have"
        text = f"{count(len(negative), 'query', 'queries')} {have} no right answer ({name_some(negative, 5)})"
        how = "by its top score (AUROC)" if len(negative) == 1 else "as false alarms"
        yield Finding(
            "note", "negative", queries.name, f"{text}: scored separately {how}, not part of any other mean."
        )


MIX_TOLERANCE = 0.05
"""Tolerated error of a declared share; at least one query."""


def check_declared(queries: QuerySet) -> tuple[Problem, ...]:
    """Declared totals, category counts and difficulty mix that don't match the queries."""
    return tuple(
        Problem("warning", "", f"{queries.name}: {text} Correct the metadata, or the queries.")
        for text in (*_total(queries), *_categories(queries), *_mix(queries))
    )


def _total(queries: QuerySet) -> Iterator[str]:
    declared, total = queries.metadata.total, len(queries.queries)
    if declared is not None and declared != total:
        yield f"metadata.total says {declared} queries, but there are {total}."


def _categories(queries: QuerySet) -> Iterator[str]:
    counts = Counter(query.category for query in queries.queries)
    for category, declared in queries.metadata.categories.items():
        if declared is not None and declared != counts[category]:
            yield f'metadata.categories says {declared} queries of "{category}", but there are {counts[category]}.'


def _mix(queries: QuerySet) -> Iterator[str]:
    count = len(queries.queries)
    counts = Counter(query.difficulty for query in queries.queries)
    for level, share in queries.metadata.difficulty_mix.items():
        actual = counts[level] / count
        if abs(actual - share) > max(MIX_TOLERANCE, 1 / count) + 1e-9:
            yield (
                f"metadata.difficulty_mix says {share:.0%} {level}, but there are {counts[level]} of "
                f"{count} ({actual:.0%})."
            )
