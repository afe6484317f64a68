"""Sentences about measured rows: each is made of claims, and is printed only where the rows support all of them (F57).

A claim has the figures it speaks of, the words for them, and a check against the rows of the table. Nothing but
connecting words stands in a sentence outside its claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from bakeoff.benchmark.ann.recall_tuning import reaches_target
from bakeoff.benchmark.results.speeds import ALPHA, SpeedComparison, compare_speeds
from bakeoff.benchmark.results.stability import unstable_share
from bakeoff.stats.repeat_summary import summarise

DIGITS = range(4, 10)


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """One row of a table of results: recall, and the speed of each complete run; null recall was not measured.

    `compared` rows are the tuned settings of stores that did not fail. `held` is whether a rate was held, null for a
    closed loop; `p99` is in milliseconds. `cut_short` runs ended early: no speed here is of them.
    """

    system: str
    setting: str
    values: tuple[float, ...] = ()
    recall: float | None = None
    compared: bool = False
    held: bool | None = None
    p99: float | None = None
    cut_short: int = 0

    @property
    def rate(self) -> float | None:
        """The median speed of the complete runs."""
        return summarise(self.values).median

    def reaches(self, target: float) -> bool:
        """Whether its recall is at the target."""
        return reaches_target(self.recall, target)


@dataclass(frozen=True, slots=True)
class SpeedRows:
    """The rows that sentences summarise, and why systems failed.

    `highest` is by system the highest rate that kept a promise in each run, null where none did; `seed` is of the
    intervals of compared speeds.
    """

    rows: tuple[SpeedRow, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    highest: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    seed: int = 7

    def row(self, system: str, setting: str) -> SpeedRow | None:
        """The row of a system at a setting."""
        return next((one for one in self.rows if (one.system, one.setting) == (system, setting)), None)

    def at_target(self, target: float) -> tuple[SpeedRow, ...]:
        """The compared rows at the target with a speed, fastest first."""
        found = [one for one in self.rows if one.compared and one.reaches(target) and one.rate is not None]
        return tuple(sorted(found, key=lambda one: -(one.rate or 0.0)))

    def comparisons(self, target: float) -> tuple[SpeedComparison, ...]:
        """The speeds of the compared rows at the target, all pairs."""
        return compare_speeds({one.system: one.values for one in self.at_target(target)}, self.seed)

    def pair(self, a: str, b: str, target: float) -> SpeedComparison | None:
        """The comparison of two systems."""
        return next((one for one in self.comparisons(target) if {one.a, one.b} == {a, b}), None)


class Claim(Protocol):
    """Something that rows support or not."""

    @property
    def text(self) -> str:
        """The words for it."""
        ...

    def holds(self, rows: SpeedRows) -> bool:
        """Whether the rows support it."""
        ...


@dataclass(frozen=True, slots=True)
class ReachesClaim:
    """A setting's measured recall is at the target."""

    system: str
    setting: str
    recall: float
    target: float

    @property
    def text(self) -> str:
        return f"{self.system} ({self.setting}, recall {recall_text(self.recall, self.target)})"

    def holds(self, rows: SpeedRows) -> bool:
        row = rows.row(self.system, self.setting)
        return row is not None and row.recall == self.recall and row.reaches(self.target)


@dataclass(frozen=True, slots=True)
class OnlyReaches:
    """One system has a row at the target, and no other has."""

    system: str
    measure: str
    target: float

    @property
    def text(self) -> str:
        return f"Only {self.system} reaches {self.measure} {self.target:g}"

    def holds(self, rows: SpeedRows) -> bool:
        return {one.system for one in rows.rows if one.reaches(self.target)} == {self.system}


@dataclass(frozen=True, slots=True)
class NoneReaches:
    """No row is at the target."""

    measure: str
    target: float

    @property
    def text(self) -> str:
        return f"No measured store reaches {self.measure} {self.target:g}"

    def holds(self, rows: SpeedRows) -> bool:
        return not any(one.reaches(self.target) for one in rows.rows)


@dataclass(frozen=True, slots=True)
class BestRecall:
    """The highest recall of all rows."""

    system: str
    setting: str
    recall: float
    target: float

    @property
    def text(self) -> str:
        return f"the best is {recall_text(self.recall, self.target)} ({self.system}, {self.setting})"

    def holds(self, rows: SpeedRows) -> bool:
        known = [one.recall for one in rows.rows if one.recall is not None]
        row = rows.row(self.system, self.setting)
        return row is not None and row.recall == self.recall == max(known, default=None)


@dataclass(frozen=True, slots=True)
class SpeedClaim:
    """The median of a row's runs; `spread` is how far they differ where that is too much to believe one figure."""

    system: str
    setting: str
    rate: float
    runs: int
    with_clients: str
    spread: float | None

    @property
    def text(self) -> str:
        runs = "one run" if self.runs == 1 else f"median of {self.runs} runs"
        noise = f"; unstable: runs differ by {self.spread:.0%}" if self.spread is not None else ""
        return f"{self.rate:,.0f} queries per second with {self.with_clients} ({runs}{noise})"

    def holds(self, rows: SpeedRows) -> bool:
        row = rows.row(self.system, self.setting)
        return (
            row is not None
            and (row.rate, len(row.values)) == (self.rate, self.runs)
            and unstable_share(row.values) == self.spread
        )


@dataclass(frozen=True, slots=True)
class FastestClaim:
    """The first of two is the fastest of the compared rows, the second the next, and the test separates them or not.

    `ratio` and `p` are null where the runs were not tested; `note` is the reason.
    """

    first: str
    second: str
    target: float
    ratio: float
    p: float | None
    note: str = ""

    @property
    def separated(self) -> bool:
        """Whether the difference is shown."""
        return self.p is not None and self.p < ALPHA

    @property
    def text(self) -> str:
        if self.p is None:
            return f"the difference was not tested: {self.note}"
        if not self.separated:
            return f"their speeds are not distinguishable (p = {self.p:.2g})"
        return f"{self.first} is {self.ratio:.2f}× as fast (p = {self.p:.2g})"

    def holds(self, rows: SpeedRows) -> bool:
        ranked, pair = rows.at_target(self.target), rows.pair(self.first, self.second, self.target)
        return (
            [one.system for one in ranked[:2]] == [self.first, self.second]
            and pair is not None
            and pair.p_holm == self.p
            and self.ratio == (ranked[0].rate or 0.0) / (ranked[1].rate or 1.0)
        )


@dataclass(frozen=True, slots=True)
class FailedClaim:
    """A system failed."""

    system: str
    why: str

    @property
    def text(self) -> str:
        return f"{self.system} failed ({self.why.rstrip('.')})"

    def holds(self, rows: SpeedRows) -> bool:
        return rows.failures.get(self.system) == self.why


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A row is at the target and its speed is not compared."""

    system: str
    setting: str
    recall: float
    target: float
    why: str

    @property
    def text(self) -> str:
        recall = recall_text(self.recall, self.target)
        return f"{self.system} ({self.setting}) measured {recall}, but {self.why}: its speed is not compared"

    def holds(self, rows: SpeedRows) -> bool:
        row = rows.row(self.system, self.setting)
        return (
            row is not None
            and not row.compared
            and row.recall == self.recall
            and row.reaches(self.target)
            and (self.system in rows.failures) == (self.why == FAILED)
        )


FAILED = "the store failed before the end"
NOT_TUNED = "tuning did not choose this setting"


@dataclass(frozen=True, slots=True)
class OnFront:
    """The settings that no other one beats in both recall and speed."""

    settings: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return ", ".join(f"{system} {setting}" for system, setting in self.settings)

    def holds(self, rows: SpeedRows) -> bool:
        known = [
            (one, one.recall, one.rate)
            for one in rows.rows
            if one.recall is not None and one.rate is not None
        ]
        beaten = {
            (one.system, one.setting)
            for one, recall, rate in known
            for _, other, faster in known
            if other >= recall and faster >= rate and (other > recall or faster > rate)
        }
        return set(self.settings) == {(one.system, one.setting) for one, _, _ in known} - beaten


@dataclass(frozen=True, slots=True)
class HoldsRate:
    """An open loop's rate was held in every complete run, or not."""

    system: str
    setting: str
    held: bool
    answered: float | None
    p99: float | None

    @property
    def text(self) -> str:
        if self.held:
            p99 = "not known" if self.p99 is None else f"{self.p99:,.1f} ms"
            return f"{self.system} holds {self.setting}, p99 {p99}"
        answered = "" if self.answered is None else f": {self.answered:,.0f} per second were answered"
        return f"{self.system} does not hold {self.setting}{answered}"

    def holds(self, rows: SpeedRows) -> bool:
        row = rows.row(self.system, self.setting)
        return row is not None and (row.held, row.rate, row.p99) == (self.held, self.answered, self.p99)


@dataclass(frozen=True, slots=True)
class CutShort:
    """Runs of a row ended early; no figure is of them."""

    system: str
    setting: str
    runs: int

    @property
    def text(self) -> str:
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        return f"{self.system}: the speeds are without {runs} at {self.setting} that ended early"

    def holds(self, rows: SpeedRows) -> bool:
        row = rows.row(self.system, self.setting)
        return row is not None and row.cut_short == self.runs > 0


@dataclass(frozen=True, slots=True)
class KeepsPromise:
    """The highest rate that kept a promise: the median of the runs in which there was one."""

    system: str
    promise: str
    rate: float | None
    quartiles: tuple[float, float] | None
    runs: int
    without: int
    spread: float | None

    @property
    def text(self) -> str:
        if self.rate is None:
            return f"{self.system} keeps {self.promise} at no rate that was tried"
        low, high = self.quartiles or (self.rate, self.rate)
        runs = f" ({low:,.0f}–{high:,.0f} over {self.runs} runs" if self.runs > 1 else " (one run"
        noise = f"; unstable: runs differ by {self.spread:.0%})" if self.spread is not None else ")"
        missed = f"; in {self.without} of {self.runs + self.without} runs at no rate" if self.without else ""
        return f"{self.system} keeps {self.promise} up to {self.rate:,.0f} queries per second{runs}{noise}{missed}"

    def holds(self, rows: SpeedRows) -> bool:
        return self == promise_of(self.system, self.promise, rows.highest.get(self.system, ()))


def promise_of(system: str, promise: str, rates: Sequence[float | None]) -> KeepsPromise:
    """The claim of the highest rates of the runs."""
    kept = [rate for rate in rates if rate is not None]
    found = summarise(kept)
    quartiles = None if found.q1 is None or found.q3 is None else (found.q1, found.q3)
    return KeepsPromise(
        system, promise, found.median, quartiles, len(kept), len(rates) - len(kept), unstable_share(kept)
    )


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
        """The sentence, beginning with a capital where it begins with our own words."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def supported(self, rows: SpeedRows) -> bool:
        """Whether the rows support every claim."""
        return all(claim.holds(rows) for claim in self.claims)

    def to_dict(self) -> dict[str, Any]:
        """The sentence with its claims as plain values."""
        claims = [{"claim": type(claim).__name__, **asdict(claim)} for claim in self.claims]  # type: ignore[call-overload]
        return {"text": self.text, "claims": claims}


def supported_sentences(sentences: Sequence[Sentence], rows: SpeedRows) -> tuple[Sentence, ...]:
    """The sentences that the rows support; one that they do not is replaced by a notice."""
    return tuple(one if one.supported(rows) else _withheld(one, rows) for one in sentences)


def speed_of(row: SpeedRow, with_clients: str) -> SpeedClaim:
    """The claim of a row's speed."""
    assert row.rate is not None
    return SpeedClaim(
        row.system, row.setting, row.rate, len(row.values), with_clients, unstable_share(row.values)
    )


def recall_text(recall: float, target: float | None = None) -> str:
    """A recall to four digits, or to as many as show on which side of the target it is."""
    for digits in DIGITS:
        text = f"{recall:.{digits}f}"
        if target is None or (float(text) >= target) == (recall >= target):
            return text
    return repr(recall)


def _withheld(sentence: Sentence, rows: SpeedRows) -> Sentence:
    wrong = ", ".join(type(claim).__name__ for claim in sentence.claims if not claim.holds(rows))
    return Sentence((f"A sentence was withheld because the measured rows do not support it ({wrong}).",))
