"""Computes everything about a system's queries, all at once or in blocks on workers.

No query's values depend on another query. A block carries its rankings, its judgments and the chunks they
refer to, so its values equal those of one pass over all queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.scoring.inputs import ScoringInputs
from bakeoff.pipeline.scoring.losses import StageCandidates, best_reachable
from bakeoff.pipeline.scoring.score import measure_values
from bakeoff.pipeline.scoring.ties import TieRow, any_equal, tied_rows
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.truth.resolve import Truth
from bakeoff.types import Hits, Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

BLOCK_QUERIES = 1000
WORTH_ROWS = 2_000_000
"""Served rows of all systems that take about ten seconds on one core; fewer are scored in this process."""
SENT = (RequiredInput.JUDGMENTS, RequiredInput.SPANS, RequiredInput.SECTIONS)
"""What is expensive to compute; the rest is computed here."""
PLACES = ("doc", "start", "end", "section")


@dataclass(frozen=True, slots=True)
class QueryScores:
    """One value per query for each measure, the best reachable after each step, and the ties of each unit."""

    columns: dict[Measure, np.ndarray]
    reachable: dict[str, np.ndarray]
    tied: dict[Unit, list[TieRow]]


@dataclass(frozen=True, slots=True)
class ScoreTask:
    """What to compute; `ties` if any two results have equal scores."""

    measures: tuple[Measure, ...]
    primary: Measure
    ties: bool

    def __call__(self, block: QueryBlock) -> QueryScores:
        """Score a block."""
        return self.of(*block.open_inputs())

    def of(self, scored: ScoringInputs, steps: Sequence[StageCandidates]) -> QueryScores:
        """Score queries."""
        measures = list(self.measures)
        return QueryScores(
            measure_values(scored, measures),
            best_reachable(scored, steps, self.primary),
            tied_rows(scored, measures) if self.ties else {},
        )


def score_queries(
    scored: ScoringInputs,
    measures: list[Measure],
    steps: Sequence[StageCandidates],
    workers: WorkerPool | None = None,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> QueryScores:
    """Score all queries, on workers if there are any. `on_progress` is called with the number of finished queries."""
    ties = any_equal(scored)
    if workers is None:
        return ScoreTask(tuple(measures), measures[0], ties).of(scored, steps)
    for measure in measures:
        if measure.budget is not None:
            scored.affordable(measure)  # raises for all queries at once
    sent = tuple(measure for measure in measures if measure.needs in SENT)
    here = measure_values(scored, [measure for measure in measures if measure not in sent])
    count = len(scored.queries.queries)

    def done(number: int) -> None:
        on_progress(min(BLOCK_QUERIES, count - number * BLOCK_QUERIES))

    parts = workers(ScoreTask(sent, measures[0], ties), _blocks(scored, steps, sent), "score", done)
    return _join_blocks(parts, here)


def _join_blocks(parts: list[QueryScores], here: dict[Measure, np.ndarray]) -> QueryScores:
    """Concatenate blocks."""
    import numpy as np

    first = parts[0]
    return QueryScores(
        {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns} | here,
        {name: np.concatenate([part.reachable[name] for part in parts]) for name in first.reachable},
        {unit: [row for part in parts for row in part.tied[unit]] for unit in first.tied},
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """A ranking as arrays: rows per query, and the row numbers and scores of all queries."""

    counts: np.ndarray
    ids: np.ndarray
    scores: np.ndarray

    def leg(self, where: np.ndarray) -> StepResult:
        """Restore the ranking, with row positions among the chunks `where`."""
        import numpy as np

        ids, ends = np.searchsorted(where, self.ids), np.cumsum(self.counts)[:-1]
        pairs = zip(np.split(ids, ends), np.split(self.scores, ends), strict=True)
        return StepResult(tuple(Hits(*pair) for pair in pairs), np.empty((0, len(self.counts))))


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """Some queries with everything their scores depend on; `rankings[0]` is what was served.

    `chunks` are the row numbers of the chunks in `rest`, the only ones these queries involve.
    """

    rest: ScoringInputs
    rankings: tuple[_Rows, ...]
    reaches: tuple[tuple[str, tuple[int, ...], int | None], ...]
    chunks: np.ndarray
    tokens: np.ndarray

    def open_inputs(self) -> tuple[ScoringInputs, tuple[StageCandidates, ...]]:
        """Scoring inputs of the queries, and the candidates of each step."""
        legs = [rows.leg(self.chunks) for rows in self.rankings]
        steps = (
            StageCandidates(step, tuple(legs[i] for i in which), seen) for step, which, seen in self.reaches
        )
        return replace(self.rest, ranking=legs[0], tokens=lambda: self.tokens), tuple(steps)


def _blocks(
    scored: ScoringInputs, steps: Sequence[StageCandidates], measures: tuple[Measure, ...]
) -> Iterator[QueryBlock]:
    """Yield the queries in blocks of a thousand."""
    import numpy as np

    legs = list(
        {id(leg): leg for leg in (scored.ranking, *(leg for one in steps for leg in one.legs))}.values()
    )
    place = {id(leg): number for number, leg in enumerate(legs)}
    named = tuple((one.step, tuple(place[id(leg)] for leg in one.legs), one.seen) for one in steps)
    chunks, judgments = scored.chunking.chunks.select(list(PLACES)), _held_judgments(scored)
    doc, query = chunks["doc"].to_numpy(), judgments["query"].to_numpy()
    tokens = scored.tokens() if any(measure.budget is not None for measure in measures) else None
    for begin in range(0, len(scored.queries.queries), BLOCK_QUERIES):
        end = begin + BLOCK_QUERIES
        own = judgments.filter((query >= begin) & (query < end))
        rows = tuple(_rows(leg, begin, end) for leg in legs)
        where = _about(doc, own["doc"].to_numpy(), [one.ids for one in rows])
        yield QueryBlock(
            _rest(scored, begin, end, own, chunks.take(where), where),
            rows,
            named,
            where,
            np.empty(0, np.int64) if tokens is None else tokens[where],
        )


def _held_judgments(scored: ScoringInputs) -> pa.Table:
    """Judgments valid under this chunking; that there are any is checked for all queries at once."""
    import pyarrow.compute as pc

    from bakeoff.truth.units import judged_spans

    judgments, name = scored.truth.judgments, scored.chunking.fingerprint
    judged_spans(judgments, name)
    bound = judgments["chunking"]
    return judgments.filter(pc.or_(pc.equal(bound, ""), pc.equal(bound, name)))


def _rows(leg: StepResult, begin: int, end: int) -> _Rows:
    import numpy as np

    hits = leg.hits[begin:end]
    counts = np.array([len(hit.ids) for hit in hits], np.int64)
    ids = np.concatenate([hit.ids for hit in hits]).astype(np.int64)
    return _Rows(counts, ids, np.concatenate([hit.scores for hit in hits]).astype(np.float64))


def _about(doc: np.ndarray, judged: np.ndarray, served: list[np.ndarray]) -> np.ndarray:
    """Row numbers of the served chunks and of all chunks in judged documents, ascending."""
    import numpy as np

    chosen = np.zeros(len(doc), bool)
    for ids in served:
        chosen[ids] = True
    documents = np.zeros(int(max(doc.max(initial=0), judged.max(initial=0))) + 1, bool)
    documents[judged] = True
    return np.flatnonzero(chosen | documents[doc])


def _rest(
    scored: ScoringInputs, begin: int, end: int, judgments: pa.Table, chunks: pa.Table, where: np.ndarray
) -> ScoringInputs:
    """Everything but the rankings; queries are numbered from the block's first."""
    import pyarrow.compute as pc

    queries = scored.queries
    table = judgments.set_column(
        judgments.schema.get_field_index("query"),
        "query",
        pc.subtract(judgments["query"], begin).cast(judgments.schema.field("query").type),
    )
    return ScoringInputs(
        ranking=StepResult((), scored.ranking.milliseconds[:, :0]),
        chunking=replace(scored.chunking, chunks=chunks.combine_chunks()),
        queries=replace(
            queries,
            queries=queries.queries[begin:end],
            rules=queries.rules[begin:end],
            located=None,
            filters=(),
        ),
        truth=Truth(table.combine_chunks(), (), ()),
        conventions=scored.conventions,
        tokens=_no_tokens,
        neighbours=_no_neighbours,
        depth=None,
        ids=replace(scored.ids, chunks=scored.ids.chunks[where]) if scored.ids is not None else None,
    )


def _no_tokens() -> np.ndarray:
    raise AssertionError("a block carries its own tokens")


def _no_neighbours() -> None:
    """Blocks have no neighbours: measures that need them are computed here."""
