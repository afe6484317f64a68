"""The closing sentences of `bakeoff ann`: speeds are compared only at equal recall and across runs (F35, F36, F57)."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.benchmark.ann.compare_stores import AnnOutcome
from bakeoff.benchmark.load_spec import threads_text
from bakeoff.benchmark.results.claims import (
    FAILED,
    NOT_TUNED,
    Claim,
    Sentence,
    claim,
    reaches_claim,
    speed_claim,
    supported_sentences,
)
from bakeoff.benchmark.results.speeds import SpeedComparison, SpeedRow, SpeedRows


def ann_verdict(outcome: AnnOutcome) -> str:
    """The closing sentences as one line."""
    return " ".join(one.text for one in closing_sentences(outcome))


def closing_sentences(outcome: AnnOutcome) -> tuple[Sentence, ...]:
    """The sentences that the measured rows support."""
    if outcome.stopped:
        return (Sentence((f"No verdict: {outcome.stopped}; what was measured is kept.",)),)
    rows = outcome.table()
    sentences = _front(outcome) if outcome.options.target is None else tuple(_at_target(outcome, rows))
    return supported_sentences((*sentences, *_failures(rows)), rows)


def compare_tuned_stores(outcome: AnnOutcome) -> tuple[SpeedComparison, ...]:
    """Queries per second of the stores at the target recall, all pairs, Holm-corrected."""
    target = outcome.options.target
    return () if target is None else outcome.table().comparisons(target)


def _at_target(outcome: AnnOutcome, rows: SpeedRows) -> Iterator[Sentence]:
    target, measure = outcome.options.target, f"kNN@{outcome.options.k}"
    assert target is not None
    clients = threads_text(outcome.options.threads)
    ranked = rows.at_target(target)
    if len(ranked) > 1:
        yield _comparison(rows, ranked, target, measure, clients)
    elif ranked:
        yield _single(rows, ranked[0], target, measure, clients)
    else:
        yield from _nothing_to_compare(rows, target, measure)
    if len(ranked) < 2:
        yield from _reaching_but_not_compared(rows, {one.system for one in ranked}, target)


def _comparison(
    rows: SpeedRows, ranked: tuple[SpeedRow, ...], target: float, measure: str, clients: str
) -> Sentence:
    first, second = ranked[:2]
    pair = rows.pair(first.system, second.system, target)
    assert pair is not None and first.rate is not None and second.rate is not None
    note = pair.note or "too few runs"
    return Sentence(
        (
            f"At {measure} ≥ {target:g}: ",
            reaches_claim(first, target), " with ", speed_claim(first, clients), ", ",
            reaches_claim(second, target), " with ", speed_claim(second, clients), "; ",
            claim("Fastest", first=first.system, second=second.system, target=target,
                  ratio=first.rate / second.rate, p=pair.p_holm, note=note if pair.p_holm is None else ""),
            ".",
        )
    )  # fmt: skip


def _single(rows: SpeedRows, row: SpeedRow, target: float, measure: str, clients: str) -> Sentence:
    only = claim("OnlyReaches", system=row.system, measure=measure, target=target)
    begin: tuple[str | Claim, ...] = (only, ": ") if only.holds(rows) else (f"At {measure} ≥ {target:g}: ",)
    end = "; no other store is left to compare its speed with."
    return Sentence((*begin, reaches_claim(row, target), " with ", speed_claim(row, clients), end))


def _nothing_to_compare(rows: SpeedRows, target: float, measure: str) -> Iterator[Sentence]:
    scored = [one for one in rows.rows if one.recall is not None]
    none = claim("NoneReaches", measure=measure, target=target)
    if not scored:
        yield Sentence(("No recall was measured; speeds are not compared.",))
    elif none.holds(rows):
        best = max(scored, key=lambda one: one.recall or 0.0)
        figures = {"system": best.system, "setting": best.setting, "recall": best.recall, "target": target}
        yield Sentence((none, ": ", claim("BestRecall", **figures), "; speeds are not compared."))
    else:
        yield Sentence((f"No two stores can be compared at {measure} ≥ {target:g}.",))


def _reaching_but_not_compared(rows: SpeedRows, ranked: set[str], target: float) -> Iterator[Sentence]:
    """Systems with an uncompared row at the target, each once, by its first such row."""
    named = set(ranked)
    for row in rows.rows:
        if row.recall is not None and row.reaches(target) and not row.compared and row.system not in named:
            named.add(row.system)
            why = FAILED if row.system in rows.failures else NOT_TUNED
            figures = {"system": row.system, "setting": row.setting, "recall": row.recall, "target": target}
            yield Sentence((claim("NotCompared", **figures, why=why), "."))


def _failures(rows: SpeedRows) -> tuple[Sentence, ...]:
    return tuple(
        Sentence((claim("Failed", system=system, why=why), ".")) for system, why in rows.failures.items()
    )


def _front(outcome: AnnOutcome) -> tuple[Sentence, ...]:
    points = zip(outcome.points(), outcome.on_front(), strict=True)
    front = tuple((point.system, point.setting) for point, on_front in points if on_front)
    if not front:
        return (Sentence(("No verdict: nothing was measured.",)),)
    return (
        Sentence(("On the front of recall and speed: ", claim("OnFront", settings=front), ".")),
        Sentence(
            (
                "Speeds at unequal recall are not compared; "
                "--target-recall 0.95 tunes all stores to the same recall first.",
            )
        ),
    )
