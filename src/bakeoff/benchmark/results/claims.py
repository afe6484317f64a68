"""Closing sentences made of claims; a sentence is printed only if the measured rows support all its claims (F57).

A claim has a kind and figures. `KINDS` holds, for each kind, the words for the figures and their check against the
rows of the table. Outside its claims a sentence has only connecting words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.benchmark.results.speeds import ALPHA, SpeedRow, SpeedRows, recall_text, unstable_share
from bakeoff.stats.repeat_summary import summarise
from bakeoff.types import Json

FAILED = "the store failed before the end"
NOT_TUNED = "tuning did not choose this setting"


@dataclass(frozen=True, slots=True)
class ClaimKind:
    """The words and the check of one kind of claim; both take the claim's figures by name.

    `holds` also takes the rows, and the row of the claim's system and setting where it has a setting.
    """

    text: Callable[..., str]
    holds: Callable[..., bool]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with figures that the rows support or not."""

    kind: str
    figures: Mapping[str, Json]

    @property
    def text(self) -> str:
        """The words for it."""
        return KINDS[self.kind].text(**self.figures)

    def holds(self, rows: SpeedRows) -> bool:
        """Whether the rows support it; a claim about a missing row does not hold."""
        holds = KINDS[self.kind].holds
        if "setting" not in self.figures:
            return holds(rows, **self.figures)
        row = rows.row(self.figures["system"], self.figures["setting"])
        return row is not None and holds(rows, row, **self.figures)


def claim(kind: str, **figures: object) -> Claim:
    """A claim of a kind with its figures."""
    return Claim(kind, figures)


def reaches_claim(row: SpeedRow, target: float) -> Claim:
    """A setting's measured recall is at the target."""
    return claim("Reaches", system=row.system, setting=row.setting, recall=row.recall, target=target)


def speed_claim(row: SpeedRow, with_clients: str) -> Claim:
    """The median of a row's runs; `spread` is how far they differ if that is too much for one figure."""
    figures = {"rate": row.rate, "runs": len(row.values), "with_clients": with_clients}
    spread = unstable_share(row.values)
    return claim("Speed", system=row.system, setting=row.setting, **figures, spread=spread)


def rate_claim(row: SpeedRow) -> Claim:
    """Whether an open loop's rate was reached in every complete run."""
    return claim(
        "HoldsRate", system=row.system, setting=row.setting, held=row.held, answered=row.rate, p99=row.p99
    )


def slo_claim(system: str, promise: str, rates: Sequence[float | None]) -> Claim:
    """The highest rate that met the SLO: the median over the runs that found one."""
    measured = [rate for rate in rates if rate is not None]
    summary = summarise(measured)
    quartiles = None if summary.q1 is None or summary.q3 is None else (summary.q1, summary.q3)
    counts = {
        "runs": len(measured),
        "without": len(rates) - len(measured),
        "spread": unstable_share(measured),
    }
    return claim(
        "KeepsPromise", system=system, promise=promise, rate=summary.median, quartiles=quartiles, **counts
    )


def _speed_text(*, rate: float, runs: int, with_clients: str, spread: float | None, **_: object) -> str:
    count = "one run" if runs == 1 else f"median of {runs} runs"
    return f"{rate:,.0f} queries per second with {with_clients} ({count}{_noise(spread)})"


def _fastest_text(*, first: str, ratio: float, p: float | None, note: str, **_: object) -> str:
    if p is None:
        return f"the difference was not tested: {note}"
    if p >= ALPHA:
        return f"their speeds are not distinguishable (p = {p:.2g})"
    return f"{first} is {ratio:.2f}× as fast (p = {p:.2g})"


def _is_fastest(
    rows: SpeedRows, *, first: str, second: str, target: float, ratio: float, p: float | None, **_: object
) -> bool:
    """The fastest two of the compared rows, and whether the test separates them."""
    ranked, pair = rows.at_target(target), rows.pair(first, second, target)
    return (
        [one.system for one in ranked[:2]] == [first, second]
        and pair is not None
        and pair.p_holm == p
        and ratio == (ranked[0].rate or 0.0) / (ranked[1].rate or 1.0)
    )


def _rate_text(*, system: str, setting: str, held: bool, answered: float | None, p99: float | None) -> str:
    if held:
        return f"{system} holds {setting}, p99 {'not known' if p99 is None else f'{p99:,.1f} ms'}"
    rate = "" if answered is None else f": {answered:,.0f} per second were answered"
    return f"{system} does not hold {setting}{rate}"


def _slo_text(
    *,
    system: str,
    promise: str,
    rate: float | None,
    quartiles: tuple[float, float] | None,
    runs: int,
    without: int,
    spread: float | None,
) -> str:
    if rate is None:
        return f"{system} keeps {promise} at none of the rates tried"
    low, high = quartiles or (rate, rate)
    count = f"{low:,.0f}–{high:,.0f} over {runs} runs" if runs > 1 else "one run"
    missed = f"; in {without} of {runs + without} runs at none" if without else ""
    return f"{system} keeps {promise} up to {rate:,.0f} queries per second ({count}{_noise(spread)}){missed}"


def _is_best(rows: SpeedRows, row: SpeedRow, *, recall: float, **_: object) -> bool:
    recalls = [one.recall for one in rows.rows if one.recall is not None]
    return row.recall == recall == max(recalls, default=None)


def _noise(spread: float | None) -> str:
    return "" if spread is None else f"; unstable: runs differ by {spread:.0%}"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


KINDS = {
    "Reaches": ClaimKind(
        lambda system, setting, recall, target: f"{system} ({setting}, recall {recall_text(recall, target)})",
        lambda _, row, recall, target, **__: row.recall == recall and row.reaches(target),
    ),
    "OnlyReaches": ClaimKind(
        lambda system, measure, target: f"Only {system} reaches {measure} {target:g}",
        lambda rows, system, target, **_: (
            {one.system for one in rows.rows if one.reaches(target)} == {system}
        ),
    ),
    "NoneReaches": ClaimKind(
        lambda measure, target: f"No measured store reaches {measure} {target:g}",
        lambda rows, target, **_: not any(one.reaches(target) for one in rows.rows),
    ),
    "BestRecall": ClaimKind(
        lambda system, setting, recall, target: (
            f"the best is {recall_text(recall, target)} ({system}, {setting})"
        ),
        _is_best,
    ),
    "Speed": ClaimKind(
        _speed_text,
        lambda _, row, rate, runs, spread, **__: (
            (row.rate, len(row.values), unstable_share(row.values)) == (rate, runs, spread)
        ),
    ),
    "Fastest": ClaimKind(_fastest_text, _is_fastest),
    "Failed": ClaimKind(
        lambda system, why: f"{system} failed ({why.rstrip('.')})",
        lambda rows, system, why: rows.failures.get(system) == why,
    ),
    "NotCompared": ClaimKind(
        lambda system, setting, recall, target, why: (
            f"{system} ({setting}) measured {recall_text(recall, target)}, but {why}: its speed is not compared"
        ),
        lambda rows, row, system, recall, target, why, **_: (
            (row.compared, row.recall, system in rows.failures) == (False, recall, why == FAILED)
            and row.reaches(target)
        ),
    ),
    "OnFront": ClaimKind(
        lambda settings: ", ".join(f"{system} {setting}" for system, setting in settings),
        lambda rows, settings: set(settings) == rows.front(),
    ),
    "HoldsRate": ClaimKind(
        _rate_text,
        lambda _, row, held, answered, p99, **__: (row.held, row.rate, row.p99) == (held, answered, p99),
    ),
    "CutShort": ClaimKind(
        lambda system, setting, runs: (
            f"{system}: the speeds are without {_runs(runs)} at {setting} that ended early"
        ),
        lambda _, row, runs, **__: row.cut_short == runs > 0,
    ),
    "KeepsPromise": ClaimKind(
        _slo_text,
        lambda rows, system, promise, **figures: (
            slo_claim(system, promise, rows.highest.get(system, ())).figures
            == {"system": system, "promise": promise, **figures}
        ),
    ),
}
"""The kinds of claims, under the names that stored records have."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Claims and the words between them."""

    parts: tuple[str | Claim, ...]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What it claims."""
        return tuple(part for part in self.parts if not isinstance(part, str))

    @property
    def text(self) -> str:
        """The whole sentence."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def all_supported(self, rows: SpeedRows) -> bool:
        """Whether the rows support every claim."""
        return all(one.holds(rows) for one in self.claims)

    def to_dict(self) -> dict[str, object]:
        """The sentence with its claims as plain values."""
        return {"text": self.text, "claims": [{"claim": one.kind, **one.figures} for one in self.claims]}


def supported_sentences(sentences: Sequence[Sentence], rows: SpeedRows) -> tuple[Sentence, ...]:
    """The sentences that the rows support; a notice replaces any other."""
    return tuple(one if one.all_supported(rows) else _withheld(one, rows) for one in sentences)


def _withheld(sentence: Sentence, rows: SpeedRows) -> Sentence:
    wrong = ", ".join(one.kind for one in sentence.claims if not one.holds(rows))
    return Sentence((f"A sentence was withheld because the measured rows do not support it ({wrong}).",))
