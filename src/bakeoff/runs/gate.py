"""Non-inferiority test for CI: a new run must not be worse than its baseline by more than a margin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bakeoff.errors import ComparisonError, DataError
from bakeoff.runs.analysis import Result
from bakeoff.runs.compare_runs import changed_models, check_comparable, join_matrices
from bakeoff.runs.folder import changed_tables
from bakeoff.stats.arrays import NOISE
from bakeoff.stats.comparison import PairComparison, ScoreMatrix

ALPHA = 0.05
SMALLEST_CATEGORY = 5


@dataclass(frozen=True, slots=True)
class GateRules:
    """Tolerated losses: points of the primary measure overall, and points within a category."""

    margin: float
    category_margin: float | None = None

    def __post_init__(self) -> None:
        """Raise unless margins are positive numbers."""
        for name, value in (("margin", self.margin), ("category margin", self.category_margin)):
            if value is not None and not value > 0:
                raise ComparisonError(f"the {name} is {value:g}. Give the points that may be lost, above 0.")


@dataclass(frozen=True, slots=True)
class CategoryCheck:
    """One category of queries; `regressed` only if a loss beyond the margin is significant after Holm's
    correction."""

    category: str
    n: int
    difference: float | None
    p: float
    regressed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCheck:
    """One system in both runs: `gain` is the new mean minus the baseline's, signed so that more is better."""

    system: str
    n: int
    before: float | None
    after: float | None
    gain: float | None
    lowest: float | None
    highest: float | None
    verdict: str
    needed: int | None
    categories: tuple[CategoryCheck, ...]
    clusters: int = 0
    effective_n: float = 0.0
    """Number of independent queries with the same information as these, which may be clustered."""
    holds_level: bool = True
    """False if it is not worse on these queries, but a query kind too rare to be sampled could hide a larger
    loss."""

    @property
    def passed(self) -> bool:
        """Whether it is shown to be no worse than the margin allows, also in every category."""
        return self.verdict == "no worse" and not any(one.regressed for one in self.categories)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The outcome: every system must pass, which keeps the overall error rate at that of one test."""

    baseline: str
    candidate: str
    measure: str
    rules: GateRules
    systems: tuple[SystemCheck, ...]
    notes: tuple[str, ...]
    truth: str
    """Source of both runs' judgments: `reviewed` (people's where complete) or `rules`."""

    @property
    def passed(self) -> bool:
        """Whether every system passed."""
        return all(one.passed for one in self.systems)


def run_gate(
    baseline: Result,
    candidate: Result,
    rules: GateRules,
    *,
    system: str | None = None,
    measure: str | None = None,
    allow_mixed: bool = False,
    renamed: Mapping[str, str] | None = None,
) -> GateResult:
    """Test each system that both runs have, or the named one, paired by common queries.

    `renamed` maps baseline labels to new ones; a system whose label alone changed is matched without it.
    """
    runs = (baseline.record.run, candidate.record.run)
    if runs[0] == runs[1]:
        raise ComparisonError(f"{runs[0]} is both baseline and new run. Give two different folders.")
    require_finished_system(baseline)
    for one in (baseline, candidate):
        _require_unchanged(one)
    differing = check_comparable(baseline, candidate, allow_mixed=allow_mixed)
    name = baseline.measure(measure or baseline.record.primary)
    names = [baseline.system(system)] if system else list(baseline.done)
    labels = same_systems(baseline, candidate, renamed or {})
    shared = [one for one in names if one in labels]
    checks = []
    if shared:
        matrix = join_matrices(baseline.matrix(name), _relabel(candidate.matrix(name), labels), *runs)
        checks = [_check(one, matrix, runs, rules, baseline.record.seed) for one in shared]
    checks += [_gone(one, candidate) for one in names if one not in shared]
    notes = (
        *_notes(baseline, candidate, differing),
        *(f"{old} is called {new} in the new run." for old, new in labels.items() if old != new),
        *_cluster_note(checks),
        *_rare_note(checks, rules),
    )
    return GateResult(
        baseline=runs[0],
        candidate=runs[1],
        measure=name,
        rules=rules,
        systems=tuple(checks),
        notes=notes,
        truth=baseline.truth,
    )


def require_finished_system(baseline: Result) -> None:
    """Raise if no system of a baseline finished: a gate without systems would always pass."""
    if not baseline.done:
        raise ComparisonError(
            f"no system of {baseline.path.name} finished, so there is nothing to compare with. Choose another baseline."
        )


def same_systems(baseline: Result, candidate: Result, renamed: Mapping[str, str]) -> dict[str, str]:
    """New label of each baseline system that finished in both runs: mapped, unchanged, or matched by identity."""
    pairs = {baseline.system(old): candidate.system(new) for old, new in renamed.items()}
    old_parts, new_parts = _labels_by_parts(baseline), _labels_by_parts(candidate)
    moved = {
        old: new_parts[parts]
        for parts, old in old_parts.items()
        if parts in new_parts and new_parts[parts] not in baseline.done and old not in candidate.failed
    }
    same = {}
    for old in baseline.done:
        new = pairs.get(old) or (old if old in candidate.done else moved.get(old))
        if new is not None:
            same[old] = new
    twice = [new for new, count in Counter(same.values()).items() if count > 1]
    if twice:
        raise ComparisonError(f"two systems of the baseline would be compared with {twice[0]}. Change --map.")
    return same


def _labels_by_parts(result: Result) -> dict[str, str]:
    """Label of each finished system by the identity of its parts; parts shared by two systems are left out."""
    rows = [row for row in result.systems.to_pylist() if row["system"] in result.done]
    counts = Counter(row["params"] for row in rows)
    return {row["params"]: row["system"] for row in rows if counts[row["params"]] == 1}


def _relabel(matrix: ScoreMatrix, labels: Mapping[str, str]) -> ScoreMatrix:
    """The scores of a new run under its baseline's labels."""
    old_labels = {new: old for old, new in labels.items()}
    systems = tuple(system for system in matrix.systems if system in old_labels)
    part = matrix.only(systems)
    return replace(part, systems=tuple(old_labels[system] for system in part.systems))


def _cluster_note(checks: list[SystemCheck]) -> Iterator[str]:
    """A note on what clustered queries are worth, for the system that loses most by clustering."""
    together = [one for one in checks if one.clusters < one.n and one.effective_n < one.n]
    if together:
        worst = min(together, key=lambda one: one.effective_n)
        yield (
            f"{worst.n:,} queries in {worst.clusters:,} clusters are worth {worst.effective_n:.0f} "
            f"independent ones ({worst.system})."
        )


def _rare_note(checks: list[SystemCheck], rules: GateRules) -> Iterator[str]:
    """A note if a pass does not cover kinds of queries too rare to be sampled."""
    doubtful = [one for one in checks if not one.holds_level]
    if doubtful:
        worst = min(doubtful, key=lambda one: one.clusters)
        share = 1 - ALPHA ** (1 / worst.clusters)
        yield (
            f"{worst.n:,} queries can miss a kind that is up to {share:.1%} of all queries: a loss above "
            f"{rules.margin:g} that such a kind causes is not ruled out ({worst.system})."
        )


def _require_unchanged(result: Result) -> None:
    """Raise if a run's tables differ from what it wrote; nothing overrides this."""
    changed = changed_tables(result.path, result.record)
    if changed:
        names = ", ".join(f"{name}.parquet" for name in changed)
        raise DataError(
            f"{result.path} was changed after the run: {names}. A gate accepts only what a run wrote; run the "
            "experiment again."
        )


def _check(
    system: str, matrix: ScoreMatrix, runs: tuple[str, str], rules: GateRules, seed: int
) -> SystemCheck:
    from bakeoff.stats.compare import compare

    old, new = (f"{system} @ {run}" for run in runs)
    both = matrix.only((new, old))
    pair = compare(both, seed, alpha=ALPHA).pair(new, old)
    sign = 1 if matrix.higher_is_better else -1
    low, high = _signed_bounds(pair, sign)
    gain = None if pair.difference is None else sign * pair.difference
    return SystemCheck(
        system=system,
        n=pair.n,
        before=pair.mean_b,
        after=pair.mean_a,
        gain=gain,
        lowest=low,
        highest=high,
        verdict=_verdict(pair, low, high, rules.margin),
        needed=_queries_needed(pair, gain, rules.margin),
        categories=tuple(_categories(both, rules, sign, seed)),
        clusters=pair.clusters,
        effective_n=pair.effective_n,
        holds_level=low is None or low <= -rules.margin or pair.no_worse(rules.margin),
    )


def _signed_bounds(pair: PairComparison, sign: int) -> tuple[float | None, float | None]:
    """Ends of the 90 % interval, each a one-sided bound at 5 %, signed so that more is better.

    If every query changed by the same amount, that amount is both ends.
    """
    if pair.n > 1 and pair.sd is not None and pair.difference is not None and pair.sd <= NOISE:
        return sign * pair.difference, sign * pair.difference
    interval = pair.equivalence_interval if sign > 0 else pair.equivalence_interval.negate()
    return interval.low, interval.high


def _verdict(pair: PairComparison, low: float | None, high: float | None, margin: float) -> str:
    if pair.n == 0 or low is None or high is None:
        return "no common queries" if pair.n == 0 else "inconclusive"
    if low > -margin:
        return "no worse"
    return "worse" if high < -margin else "inconclusive"


def _queries_needed(pair: PairComparison, gain: float | None, margin: float) -> int | None:
    """Number of queries needed, if the difference and its spread stay the same."""
    if gain is None or gain <= -margin:
        return None
    return pair.queries_at(margin + gain, 2 * ALPHA)


def _categories(matrix: ScoreMatrix, rules: GateRules, sign: int, seed: int) -> Iterator[CategoryCheck]:
    from bakeoff.stats.compare import compare
    from bakeoff.stats.correction import holm

    if rules.category_margin is None:
        return
    changes = []
    for category in sorted(set(matrix.categories)):
        part = _only(matrix, category)
        pair = compare(part, seed, alpha=ALPHA).pair(*part.systems)
        if pair.n >= SMALLEST_CATEGORY:
            changes.append((category, pair))
    corrected = holm([pair.p_randomisation for _, pair in changes])
    for (category, pair), p in zip(changes, corrected, strict=True):
        gain = None if pair.difference is None else sign * pair.difference
        beyond = gain is not None and gain < -rules.category_margin and p <= ALPHA
        yield CategoryCheck(category or "(none)", pair.n, gain, p, beyond)


def _only(matrix: ScoreMatrix, category: str) -> ScoreMatrix:
    """The scores of one category's queries."""
    places = [place for place, one in enumerate(matrix.categories) if one == category]
    queries = tuple(matrix.queries[place] for place in places)
    categories = tuple(matrix.categories[place] for place in places)
    clusters = tuple(matrix.clusters[place] for place in places) if matrix.clusters else ()
    return replace(
        matrix,
        queries=queries,
        categories=categories,
        clusters=clusters,
        values=matrix.values[:, places],
        best=None if matrix.best is None else matrix.best[:, places],
    )


def _gone(system: str, candidate: Result) -> SystemCheck:
    reason = candidate.failed.get(system)
    verdict = f"failed: {reason}" if reason else "not in the new run"
    return SystemCheck(
        system=system,
        n=0,
        before=None,
        after=None,
        gain=None,
        lowest=None,
        highest=None,
        verdict=verdict,
        needed=None,
        categories=(),
    )


def _notes(baseline: Result, candidate: Result, differing: tuple[str, ...]) -> Iterator[str]:
    one, other = baseline.record, candidate.record
    if differing:
        yield f"Conventions differ: {', '.join(differing)}."
    if one.truth_fingerprint != other.truth_fingerprint:
        yield "The truth differs from the baseline's, so a difference may come from the judgments, not the system."
    before, after = one.corpus, other.corpus
    if before and after and before.fingerprint != after.fingerprint:
        yield "The corpus differs from the baseline's."
    yield from changed_models(one, other)
