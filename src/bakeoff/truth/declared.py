"""What a query file declares about itself, held against what is in it (S0-12, S0-13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bakeoff.truth.problems import Problem
from bakeoff.truth.queries import QuerySet

MIX_TOLERANCE = 0.05
"""A share may be off by this, or by one query where that is more."""


def check_declared(queries: QuerySet) -> tuple[Problem, ...]:
    """Declared totals, category counts and difficulty mix that do not fit the queries."""
    return tuple(
        Problem("warning", "", f"{queries.name}: {text} Correct the metadata, or the queries.")
        for text in (*_total(queries), *_categories(queries), *_mix(queries))
    )


def _total(queries: QuerySet) -> Iterator[str]:
    declared, found = queries.metadata.total, len(queries.queries)
    if declared is not None and declared != found:
        yield f"metadata.total says {declared} queries, there are {found}."


def _categories(queries: QuerySet) -> Iterator[str]:
    found = Counter(query.category for query in queries.queries)
    for category, declared in queries.metadata.categories.items():
        if declared is not None and declared != found[category]:
            yield f'metadata.categories says {declared} queries of "{category}", there are {found[category]}.'


def _mix(queries: QuerySet) -> Iterator[str]:
    count = len(queries.queries)
    found = Counter(query.difficulty for query in queries.queries)
    for level, share in queries.metadata.difficulty_mix.items():
        actual = found[level] / count
        if abs(actual - share) > max(MIX_TOLERANCE, 1 / count) + 1e-9:
            yield (
                f"metadata.difficulty_mix says {share:.0%} {level},"
                f" there are {found[level]} of {count} ({actual:.0%})."
            )
