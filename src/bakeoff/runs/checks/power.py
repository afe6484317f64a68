"""What this many queries can detect: with an assumed spread before any run, with the measured one after a
pilot (C-16, F26)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.errors import ComparisonError, UserError
from bakeoff.measures.names import Measure, parse
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.checks.findings import Finding, Power
from bakeoff.stats.clusters import WORKING_ICC, Clusters, expected_dependence, intraclass_correlation
from bakeoff.stats.power import ALPHA, ASSUMED_SPREADS, AssumedSpread, detectable_difference

FEWEST = 20
_BY_FIRST_HIT = ("RR", "Hit")


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """Standard deviation of paired differences, its source, and the correlation within a cluster."""

    sd: float
    basis: str
    icc: float = WORKING_ICC


def power_of(
    primary: str, queries: int, systems: int, pilot: Path | None, clusters: Sequence[str] = ()
) -> tuple[Power | None, list[Finding]]:
    """Detectable difference, with the pilot's spread if there is a pilot, else an assumed one.

    `clusters` are those of queries with truth; without any, queries count as independent.
    """
    findings = list(_few(queries, primary))
    measure = parse(primary)
    if measure.definition.high == float("inf"):
        return None, findings
    assumed = _assumed_spread(measure)
    spread = ScoreSpread(assumed.sd, f"assumed: {assumed.when}")
    if pilot is not None:
        try:
            spread = _from_pilot(open_run(pilot), primary)
        except UserError as exc:
            return None, [*findings, Finding("error", "pilot", str(pilot), str(exc))]
    return _power(primary, queries, systems, spread, clusters), findings


def _few(queries: int, primary: str) -> Iterator[Finding]:
    if queries < FEWEST:
        have = "query has" if queries == 1 else "queries have"
        text = f"{queries} {have} a value on {primary}. Fewer than {FEWEST} rarely separate systems."
        yield Finding("warning", "few-queries", "queries", text)


def _power(
    primary: str, queries: int, systems: int, spread: ScoreSpread, clusters: Sequence[str]
) -> Power | None:
    pairs = max(1, systems * (systems - 1) // 2)
    depends = expected_dependence(Clusters.of(clusters, queries), spread.icc)
    one = detectable_difference(spread.sd, queries, dependence=depends)
    every = detectable_difference(spread.sd, queries, alpha=ALPHA / pairs, dependence=depends)
    if one is None or every is None:
        return None
    return Power(
        measure=primary,
        queries=queries,
        pairs=pairs,
        spread=spread.sd,
        basis=spread.basis,
        detectable=one,
        detectable_of_all=every,
        clusters=min(depends.clusters, queries),
        design_effect=depends.design_effect,
    )


def _assumed_spread(measure: Measure) -> AssumedSpread:
    """Typical spread of a measure between different models."""
    level = "high" if measure.name in _BY_FIRST_HIT else "typical"
    return next(spread for spread in ASSUMED_SPREADS if spread.name == level)


def _from_pilot(result: Result, primary: str) -> ScoreSpread:
    """Median spread of paired differences over all pairs of a run, without identical systems."""
    matrix = result.matrix(primary)
    values, clusters = matrix.without_structural(), Clusters.of(matrix.clusters, len(matrix.queries))
    spreads, correlations = [], []
    for one, other in itertools.combinations(range(len(values)), 2):
        difference = values[one] - values[other]
        paired = ~np.isnan(difference)
        if paired.sum() > 1 and difference[paired].any():
            spreads.append(float(difference[paired].std(ddof=1)))
            icc = intraclass_correlation(difference[paired], clusters.among(paired))
            correlations += [] if icc is None else [icc]
    if not spreads:
        raise ComparisonError(
            f"{result.path} has no two systems that differ on {primary}, so the spread can't be estimated. "
            "Use a run with systems that differ, or another primary measure."
        )
    basis = f"measured: median of {len(spreads)} pairs in {result.path.name}, {min(spreads):.2f} to {max(spreads):.2f}"
    return ScoreSpread(
        float(np.median(spreads)), basis, float(np.median(correlations)) if correlations else WORKING_ICC
    )
