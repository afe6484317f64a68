"""The lines below the verdict: who else is beaten, who is tied, which differences go undetected."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.stats.number_format import describe_clusters, join_names, points_to_three, questions, shortened
from bakeoff.stats.verdict_input import VerdictInput
from bakeoff.stats.verdict_text import few_decide, tied_neighbours


def reasons_for(case: VerdictInput) -> tuple[str, ...]:
    """The lines below the verdict, in order."""
    lines = list(_limits(case))
    if case.rivals:
        lines += [*_beaten(case), *_neighbours(case), *_few_decide(case), *_clusters(case)]
        lines += [*_detectable(case), *_dropped_lines(case)]
    return (*lines, *case.comparison.notes)


def _limits(case: VerdictInput) -> Iterator[str]:
    for system, reason in case.ruled_out:
        yield f"{system} is excluded: {reason}."


def _beaten(case: VerdictInput) -> Iterator[str]:
    others = case.beaten[1:] if not case.unbeaten else case.beaten
    if others and len(others) <= 3:
        yield f"{case.best} also beats {join_names(others)}."
    elif others:
        yield f"{case.best} also beats the other {len(others)} systems."


def _neighbours(case: VerdictInput) -> Iterator[str]:
    if len(case.eligible) > 2:
        text = tied_neighbours(case, 1, 2)
        if text:
            yield text


def _few_decide(case: VerdictInput) -> Iterator[str]:
    if case.doubtful is None and (text := few_decide(case)):
        yield text


def _clusters(case: VerdictInput) -> Iterator[str]:
    """How many independent questions the clustered ones are worth."""
    found = case.comparison.questions
    if found is not None and found.clusters < found.questions:
        yield f"{describe_clusters(found)}."


def _detectable(case: VerdictInput) -> Iterator[str]:
    """The least difference that is usually found. It depends on how alike two systems are: both extremes are named."""
    found = sorted(
        (mdd, pair.n, pair.b) for pair in map(case.pair, case.rivals) if (mdd := pair.mdd) is not None
    )
    if not found:
        return
    (least, n, first), (most, _, last) = found[0], found[-1]
    low, high = points_to_three(least), points_to_three(most)
    size = low if low == high else f"{low} (against {first}) to {high} (against {last})"
    yield (
        f"With {questions(n)}, differences below {size} {case.comparison.measure} usually go undetected "
        f"({case.pair(first).power:.0%} power{_over(len(case.comparison.pairs))})."
    )


def _over(pairs: int) -> str:
    return f", over {pairs} pairs" if pairs > 1 else ""


def _dropped_lines(case: VerdictInput) -> Iterator[str]:
    """Dropped questions by reason, at most five named for each."""
    by_reason: dict[str, list[str]] = {}
    for one in case.pair(case.rivals[0]).dropped:
        by_reason.setdefault(one.reason, []).append(one.query)
    for reason, names in by_reason.items():
        yield f"Not counted: {questions(len(names))} ({shortened(tuple(names))}), {reason}."
