"""The evaluator: computes every measure at every cut-off in one pass, in blocks of whole queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from bakeoff.errors import DataError
from bakeoff.measures.arrays import Flags, Floats, Ints, JudgmentArrays, RankingArrays, distinct, union
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.hits import groups_of, hits_of, truth_of
from bakeoff.measures.kernels import HitBlock, bounds
from bakeoff.measures.names import Measure, check_computable
from bakeoff.measures.result import Evaluation, OmittedQuery, TieRange
from bakeoff.measures.ties import tie_range, tied_of, tied_queries

BLOCK_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class QueryExclusion:
    """A query that a mean leaves out, and why."""

    query: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class ScoreArrays:
    """One row per query, one column per measure; NaN means not computed and never enters a mean.

    `lower` and `upper` are over unjudged results (see Definition.bounds). The tied arrays hold numbers only
    where the order of equal scores changes the value, and are None if it never does.
    """

    queries: Ints
    measures: tuple[Measure, ...]
    values: Floats
    lower: Floats
    upper: Floats
    excluded: tuple[QueryExclusion, ...] = ()
    tied_low: Floats | None = None
    tied_high: Floats | None = None
    tied_expected: Floats | None = None

    def means(self) -> Floats:
        """Mean of each measure over the queries that have it; NaN if none has."""
        there = ~np.isnan(self.values)
        counts = there.sum(axis=0)
        sums = np.where(there, self.values, 0.0).sum(axis=0)
        return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)


def evaluate(
    rankings: RankingArrays,
    judgments: JudgmentArrays,
    measures: Sequence[Measure],
    *,
    conventions: Conventions = DEFAULT,
    queries: Ints | None = None,
) -> ScoreArrays:
    """Score rankings against judgments, for `queries` or all that are ranked or judged."""
    return evaluate_blocks(
        rankings.blocks(BLOCK_ROWS), judgments, measures, conventions=conventions, queries=queries
    )


def evaluate_blocks(
    blocks: Iterable[RankingArrays],
    judgments: JudgmentArrays,
    measures: Sequence[Measure],
    *,
    conventions: Conventions = DEFAULT,
    queries: Ints | None = None,
) -> ScoreArrays:
    """Like evaluate, over blocks of whole queries in ascending order, holding one block in memory at a time."""
    wanted = tuple(measures)
    check_computable(wanted)
    chosen = None if queries is None else np.unique(queries)
    parts = [
        score_block(rankings, between, asked, wanted, conventions)
        for rankings, between, asked in _with_queries(blocks, judgments, chosen)
    ]
    if not any(len(part.queries) for part in parts):
        raise DataError("there is nothing to score: no query has results or judgments.")
    return join_scores(parts)


def score_block(
    rankings: RankingArrays,
    judgments: JudgmentArrays,
    queries: Ints,
    measures: tuple[Measure, ...],
    conventions: Conventions,
) -> ScoreArrays:
    """Score the given queries (ascending) in one block."""
    rankings = order_rankings(rankings, conventions)
    block = HitBlock(truth_of(judgments, queries), hits_of(rankings, judgments, queries), conventions.rel)
    scores = score_hits(block, measures, conventions)
    return scores if rankings.rank is not None else _with_ties(scores, rankings, judgments, conventions)


def score_hits(block: HitBlock, measures: tuple[Measure, ...], conventions: Conventions) -> ScoreArrays:
    """Values and bounds of a block whose rankings and judgments are joined."""
    layers = np.empty((3, len(measures), block.size))
    left = RemainingQueries(block, conventions)
    for place, measure in enumerate(measures):
        point = measure.definition.values(block, measure)
        layers[:, place] = point, *bounds(block, measure, point)
        missing, zero = left.masks(measure)
        layers[:, place, zero] = np.where(np.isnan(layers[:, place, zero]), np.nan, 0.0)
        layers[:, place, missing] = np.nan
    values, lower, upper = (layer.T for layer in layers)
    return ScoreArrays(block.truth.queries, measures, values, lower, upper, left.exclusions(measures))


@dataclass(slots=True, eq=False)
class RemainingQueries:
    """Which queries of a block the conventions leave out or score zero."""

    block: HitBlock
    conventions: Conventions
    judged: Flags = field(init=False)
    silent: Flags = field(init=False)

    def __post_init__(self) -> None:
        self.judged = np.zeros(self.block.size, dtype=bool)
        self.judged[self.block.truth.row] = True
        empty: Flags = self.block.pooled.depth == 0
        self.silent = (
            empty if self.conventions.no_results == "exclude" else np.zeros(self.block.size, dtype=bool)
        )

    def masks(self, measure: Measure) -> tuple[Flags, Flags]:
        """Masks of queries whose value is missing, and whose value is zero by convention."""
        if not measure.definition.needs_relevant:
            return self.silent, np.zeros(self.block.size, dtype=bool)
        missing = self.silent | ~self.judged
        empty: Flags = self.block.truth.at_least(self.block.threshold(measure)) == 0
        if self.conventions.empty_truth == "exclude":
            return missing | empty, np.zeros(self.block.size, dtype=bool)
        return missing, empty

    def exclusions(self, measures: tuple[Measure, ...]) -> tuple[QueryExclusion, ...]:
        """Every query that some measure leaves out, with the reason."""
        judged, silent = self.judged, self.silent
        reasons = {"no results": silent, "no judgments": ~judged & ~silent}
        if self.conventions.empty_truth == "exclude":
            for rel in sorted({self.block.threshold(m) for m in measures if m.definition.needs_relevant}):
                empty = (self.block.truth.at_least(rel) == 0) & judged & ~silent
                reasons[f"no item of grade {rel} or higher"] = empty
        queries = self.block.truth.queries
        found = [
            QueryExclusion(int(queries[at]), why)
            for why, rows in reasons.items()
            for at in np.flatnonzero(rows)
        ]
        return tuple(sorted(found, key=lambda one: one.query))


def order_rankings(rankings: RankingArrays, conventions: Conventions) -> RankingArrays:
    """The rankings in scoring order."""
    if conventions.score_precision == "single":
        rankings = replace(rankings, score=rankings.score.astype(np.float32).astype(np.float64))
    if conventions.order == "served":
        return rankings
    same = rankings.query[1:] == rankings.query[:-1]
    if not (same & (rankings.score[1:] >= rankings.score[:-1])).any():
        return rankings
    return _by_score_and_id(rankings)


def _by_score_and_id(rankings: RankingArrays) -> RankingArrays:
    order = np.lexsort((-rankings.score, rankings.query))
    first = replace(rankings, score=rankings.score[order], item=rankings.item[order])
    if not len(tied_queries(first)):
        return first
    if rankings.id_order is None:
        raise DataError(
            "rankings have tied scores, and these conventions break ties by string id, which arrays lack. "
            "Set RankingArrays.id_order."
        )
    order = np.lexsort((-rankings.id_order, -rankings.score, rankings.query))
    return replace(
        rankings, score=rankings.score[order], item=rankings.item[order], id_order=rankings.id_order[order]
    )


def _with_queries(
    blocks: Iterable[RankingArrays], judgments: JudgmentArrays, chosen: Ints | None
) -> Iterator[tuple[RankingArrays, JudgmentArrays, Ints]]:
    """Each block with its judgments and queries, including queries without results before its last one."""
    last = np.iinfo(np.int64).min
    for rankings in blocks:
        if not len(rankings):
            continue
        if rankings.query[0] <= last:
            raise DataError(
                f"rankings: query {int(rankings.query[0])} occurs in two blocks. Keep each query in one block."
            )
        end = int(rankings.query[-1])
        between = judgments.between(last + 1, end)
        yield rankings, between, _asked_queries(rankings, between, chosen, last, end)
        last = end
    none = RankingArrays(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    end = np.iinfo(np.int64).max
    between = judgments.between(last + 1, end)
    yield none, between, _asked_queries(none, between, chosen, last, end)


def _asked_queries(
    rankings: RankingArrays, judgments: JudgmentArrays, chosen: Ints | None, last: int, end: int
) -> Ints:
    if chosen is not None:
        return np.asarray(chosen[(chosen > last) & (chosen <= end)])
    return union(distinct(rankings.query), distinct(judgments.query)).astype(np.int64)


def _with_ties(
    scores: ScoreArrays, rankings: RankingArrays, judgments: JudgmentArrays, conventions: Conventions
) -> ScoreArrays:
    """Add the tie range of queries with tied results."""
    tied = tied_queries(rankings)
    tied = np.intersect1d(tied, scores.queries) if len(tied) else tied
    if not len(tied):
        return scores
    groups = groups_of(rankings.query, tied)
    keep: slice | Flags = slice(None) if groups.every is None else groups.every
    part = RankingArrays(rankings.query[keep], rankings.item[keep], rankings.score[keep])
    block = HitBlock(truth_of(judgments, tied), hits_of(part, judgments, tied), conventions.rel)
    sets = tied_of(part, np.repeat(groups.row, groups.counts), block)
    place = np.searchsorted(scores.queries, tied)
    layers = np.full((3, *scores.values.shape), np.nan)
    for column, measure in enumerate(scores.measures):
        missing = np.isnan(scores.values[place, column])
        for layer, found in zip(layers, tie_range(sets, block, measure), strict=True):
            layer[place, column] = np.where(missing, np.nan, found)
    if np.isnan(layers).all():
        return scores
    return replace(scores, tied_low=layers[0], tied_high=layers[1], tied_expected=layers[2])


def evaluate_alongside(parts: Sequence[ScoreArrays], measures: Sequence[Measure]) -> ScoreArrays:
    """Merge scores of the same queries by different measures, with columns in the order of `measures`."""
    if len(parts) == 1:
        return parts[0]
    place = {measure: at for at, measure in enumerate(one for part in parts for one in part.measures)}
    columns = [place[measure] for measure in measures]

    def join(name: str) -> Floats:
        return np.concatenate([_layer(part, name) for part in parts], axis=1)[:, columns]

    excluded = sorted(
        {one for part in parts for one in part.excluded}, key=lambda one: (one.query, one.reason)
    )
    scores = ScoreArrays(
        parts[0].queries,
        tuple(measures),
        join("values"),
        join("lower"),
        join("upper"),
        tuple(excluded),
    )
    if all(part.tied_low is None for part in parts):
        return scores
    low, high, mean = (join(name) for name in ("tied_low", "tied_high", "tied_expected"))
    return replace(scores, tied_low=low, tied_high=high, tied_expected=mean)


def join_scores(parts: Sequence[ScoreArrays]) -> ScoreArrays:
    """Concatenate the scores of several blocks."""
    scores = ScoreArrays(
        np.concatenate([part.queries for part in parts]),
        parts[0].measures,
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        tuple(one for part in parts for one in part.excluded),
    )
    if all(part.tied_low is None for part in parts):
        return scores
    low, high, mean = (
        np.concatenate([_layer(part, name) for part in parts])
        for name in ("tied_low", "tied_high", "tied_expected")
    )
    return replace(scores, tied_low=low, tied_high=high, tied_expected=mean)


def _layer(part: ScoreArrays, name: str) -> Floats:
    found = getattr(part, name)
    return np.full(part.values.shape, np.nan) if found is None else found


def from_scores(scores: ScoreArrays, names: Sequence[str], conventions: Conventions) -> Evaluation:
    """Build an Evaluation from array scores; row i belongs to the query `names[i]`."""
    ends = cache(lambda: (_columns(scores.lower), _columns(scores.upper)))
    place = {int(query): at for at, query in enumerate(scores.queries)}
    left = tuple(OmittedQuery(names[place[one.query]], one.reason) for one in scores.excluded)
    return Evaluation(
        queries=tuple(names),
        measures=scores.measures,
        columns=_columns(scores.values),
        ends=ends,
        excluded=left,
        conventions=conventions,
        ties=_ties(scores, names),
    )


def _columns(layer: Floats) -> tuple[tuple[float | None, ...], ...]:
    rows = layer.T.tolist()
    gaps = np.atleast_1d(np.isnan(layer).any(axis=0))
    return tuple(
        tuple(None if value != value else value for value in row) if gap else tuple(row)  # noqa: PLR0124
        for row, gap in zip(rows, gaps, strict=True)
    )


def _ties(scores: ScoreArrays, names: Sequence[str]) -> dict[str, dict[str, TieRange]]:
    found: dict[str, dict[str, TieRange]] = {}
    if scores.tied_low is None or scores.tied_high is None or scores.tied_expected is None:
        return found
    for row, column in zip(*np.nonzero(~np.isnan(scores.tied_low)), strict=True):
        mean = float(scores.tied_expected[row, column])
        ends = float(scores.tied_low[row, column]), float(scores.tied_high[row, column])
        measure = str(scores.measures[column])
        found.setdefault(names[row], {})[measure] = TieRange(*ends, None if np.isnan(mean) else mean)
    return found
