"""What this many queries can show: from an assumed spread before any run, from the data after a pilot (C-16, F26)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bakeoff.analysis import Result, open_run
from bakeoff.errors import ComparisonError, UserError
from bakeoff.measures.names import Measure, parse
from bakeoff.stats.power import ALPHA, ASSUMED_SPREADS, AssumedSpread, detectable_difference
from bakeoff.validation.findings import Finding, Power

FEWEST = 20
_BY_FIRST_HIT = ("RR", "Hit")


def power_of(
    primary: str, queries: int, systems: int, pilot: Path | None
) -> tuple[Power | None, list[Finding]]:
    """The detectable difference with the pilot's spread if there is a pilot, else with an assumed one."""
    findings = list(_few(queries, primary))
    measure = parse(primary)
    if measure.definition.high == float("inf"):
        return None, findings
    spread = _assumed(measure)
    known, basis = spread.sd, f"assumed: {spread.when}"
    if pilot is not None:
        try:
            known, basis = _from_pilot(open_run(pilot), primary)
        except UserError as exc:
            return None, [*findings, Finding("error", "pilot", str(pilot), str(exc))]
    return _power(primary, queries, systems, known, basis), findings


def _few(queries: int, primary: str) -> Iterator[Finding]:
    if queries < FEWEST:
        have = "query has" if queries == 1 else "queries have"
        text = f"{queries} {have} a value on {primary}. Fewer than {FEWEST} rarely tell systems apart."
        yield Finding("warning", "few-queries", "queries", text)


def _power(primary: str, queries: int, systems: int, spread: float, basis: str) -> Power | None:
    pairs = max(1, systems * (systems - 1) // 2)
    one = detectable_difference(spread, queries)
    every = detectable_difference(spread, queries, alpha=ALPHA / pairs)
    if one is None or every is None:
        return None
    return Power(primary, queries, pairs, spread, basis, one, every)


def _assumed(measure: Measure) -> AssumedSpread:
    """The spread that is usual for a measure, between different models."""
    wanted = "high" if measure.name in _BY_FIRST_HIT else "typical"
    return next(spread for spread in ASSUMED_SPREADS if spread.name == wanted)


def _from_pilot(result: Result, primary: str) -> tuple[float, str]:
    """The median spread of paired differences over all pairs of a run, identical systems left out."""
    matrix = result.matrix(primary)
    values = matrix.scored()
    spreads = []
    for one, other in itertools.combinations(range(len(values)), 2):
        difference = values[one] - values[other]
        difference = difference[~np.isnan(difference)]
        if len(difference) > 1 and difference.any():
            spreads.append(float(difference.std(ddof=1)))
    if not spreads:
        raise ComparisonError(
            f"{result.path} has no two systems that differ on {primary}, so it shows no spread."
            " Give a run of two or more systems."
        )
    shown = f"measured: median of {len(spreads)} pairs in {result.path.name}, {min(spreads):.2f} to {max(spreads):.2f}"
    return float(np.median(spreads)), shown
