"""The inputs for scoring a system, and the evaluation of chunk rankings at one unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from bakeoff.errors import SystemFailure
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import Measure
from bakeoff.pipeline.chunk import ChunkedCorpus, TokenCounts
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.storage.schemas import CHUNKS
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.measures.evaluate import ScoreArrays
    from bakeoff.truth.units import IdOrder, RankedUnits

Order = Literal["served", "best", "worst"]
"""Order of rows with equal scores."""


@dataclass(frozen=True, slots=True)
class ScoringInputs:
    """The inputs for scoring a system; `ids` only if the conventions break ties by id."""

    ranking: StepResult
    chunking: ChunkedCorpus
    queries: QuerySet
    truth: Truth
    conventions: Conventions
    tokens: Callable[[], TokenCounts | np.ndarray]
    neighbours: Callable[[], tuple[StepResult, StepResult] | None]
    depth: int | None = None
    ids: IdOrder | None = None

    def affordable(self, measure: Measure) -> np.ndarray:
        """Mask of served rows that fit a measure's token budget; raises if the depth is too small to fill it."""
        import numpy as np

        from bakeoff.measures.spans import within_budget

        query, chunk, _ = flatten_rankings(self.ranking)
        tokens, budget = self.tokens()[chunk], measure.budget or 0
        read = np.bincount(query, weights=tokens, minlength=len(self.ranking.hits))
        self._refuse_shallow(measure, read)
        return within_budget(query, tokens, budget)

    def _refuse_shallow(self, measure: Measure, read: np.ndarray) -> None:
        """Raise if rankings end at the retrieval depth before filling the budget: they would score too low."""
        import numpy as np

        depth, budget = self.depth, measure.budget or 0
        if depth is None or (self.chunking.whole and depth >= self.chunking.chunks.num_rows):
            return
        full = np.array([len(hit.ids) >= depth for hit in self.ranking.hits])
        short = full & (read < budget)
        if short.any():
            needed = int(np.ceil(depth * budget / max(float(read[short].min()), 1.0) * 1.2))
            raise SystemFailure(
                f"{measure} cannot be computed: the {depth} chunks retrieved per query hold as few as "
                f"{int(read[short].min())} tokens ({int(short.sum())} of {len(full)} queries stay below the budget). "
                f"Set depth: {needed}, or lower the budget."
            )


class UnitJudgments:
    """The judgments of one unit under a system's chunking, and how rankings of chunks score on them.

    With `source`, only the judgments of that source.
    """

    def __init__(self, scored: ScoringInputs, unit: Unit, source: str = "") -> None:
        from bakeoff.truth.units import derive_units, judgments_from

        self._scored, self._unit = scored, unit
        judgments = judgments_from(scored.truth.judgments, source)
        if scored.truth.aligned and unit is Unit.DOCUMENT:
            judgments = lost_as_documents(judgments)
        self._table = with_spans(judgments) if unit is Unit.ANSWER else judgments
        self.judged = derive_units(self._table, *self._chunking, unit, conventions=scored.conventions)

    @property
    def _chunking(self) -> tuple[pa.Table, str]:
        return self._scored.chunking.chunks, self._scored.chunking.fingerprint

    def relevant_chunks(self) -> tuple[np.ndarray, np.ndarray]:
        """Query and chunk of every relevant chunk."""
        from bakeoff.truth.units import derive_units

        units = derive_units(self._table, *self._chunking, Unit.CHUNK, conventions=self._scored.conventions)
        relevant = units.grade > 0
        return units.query[relevant], units.item[relevant]

    def ceiling(self, measure: Measure, depth: int | None = None) -> np.ndarray | None:
        """Best possible value of a measure for each query, within the first `depth` chunks if given; None if
        unknown."""
        import numpy as np

        from bakeoff.measures.arrays import JudgmentArrays
        from bakeoff.measures.ceilings import ceiling, items_within

        judged = self.judged
        return ceiling(
            measure,
            JudgmentArrays(judged.query, judged.item, judged.grade),
            conventions=self._scored.conventions,
            queries=np.arange(len(self._scored.queries.queries)),
            depth=None if depth is None else items_within(depth, measure.unit),
        )

    def scores(
        self,
        query: np.ndarray,
        chunk: np.ndarray,
        score: np.ndarray,
        measures: list[Measure],
        *,
        order: Order = "served",
    ) -> ScoreArrays:
        """Score rankings of chunks at this unit: as served, or with ties in their best or worst order.

        Some measures count chunks under any conventions, so this takes up to two passes.
        """
        from bakeoff.measures.evaluate import evaluate_alongside

        usual = self._scored.conventions
        by_chunks = [measure for measure in measures if self.counts_chunks(measure)]
        others = [measure for measure in measures if measure not in by_chunks]
        passes = [(others, usual), (by_chunks, replace(usual, k_counts="chunks"))]
        rows = query, chunk, score
        scores = [self._pass(rows, chosen, rules, order) for chosen, rules in passes if chosen]
        return evaluate_alongside(scores, measures)

    def counts_chunks(self, measure: Measure) -> bool:
        """Whether k and ranks count chunks for a measure, by the conventions or its own definition."""
        return self._scored.conventions.k_counts == "chunks" or measure.definition.chunk_depth

    def _pass(
        self,
        rows: tuple[np.ndarray, np.ndarray, np.ndarray],
        measures: list[Measure],
        conventions: Conventions,
        order: Order,
    ) -> ScoreArrays:
        """Compute all measures that count k the same way."""
        import numpy as np

        from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
        from bakeoff.measures.evaluate import evaluate

        units = self._arrange(rows, conventions, order)
        judged = self.judged
        return evaluate(
            RankingArrays(units.query, units.item, units.score, units.rank),
            JudgmentArrays(judged.query, judged.item, judged.grade),
            measures,
            # the rows are already in the order of the conventions
            conventions=replace(conventions, order="served", score_precision="double"),
            queries=np.arange(len(self._scored.queries.queries)),
        )

    def _collapse(
        self, rows: tuple[np.ndarray, np.ndarray, np.ndarray], conventions: Conventions
    ) -> RankedUnits:
        from bakeoff.truth.units import RankedUnits, collapse_ranking

        chunks, name = self._chunking
        ids = self._scored.ids
        return collapse_ranking(
            RankedUnits(*rows), chunks, self._unit, self._table, name, conventions=conventions, ids=ids
        )

    def _arrange(
        self, rows: tuple[np.ndarray, np.ndarray, np.ndarray], conventions: Conventions, order: Order
    ) -> RankedUnits:
        """The units of each query, with ties as served or in their best or worst order."""
        import numpy as np

        from bakeoff.truth.units import RankedUnits

        if order == "served":
            return self._collapse(rows, conventions)
        served = replace(conventions, order="served")
        if conventions.k_counts == "chunks" and self._unit is not Unit.ANSWER:
            at = self._arranged_chunks(*rows, worst=order == "worst")
            falling = -np.arange(len(at), dtype=np.float64)
            return self._collapse((rows[0][at], rows[1][at], falling), served)
        units = self._collapse(rows, served)
        grade = self._grades(units.query, units.item)
        at = np.lexsort((grade if order == "worst" else -grade, -units.score, units.query))
        return RankedUnits(units.query, units.item[at], -np.arange(len(at), dtype=np.float64))

    def _arranged_chunks(
        self, query: np.ndarray, chunk: np.ndarray, score: np.ndarray, *, worst: bool
    ) -> np.ndarray:
        """Best: one chunk of each relevant unit, then its other chunks, then as few other units as possible.

        Worst: one chunk of each other unit, then their other chunks, then the relevant units one after
        another.
        """
        import numpy as np

        from bakeoff.truth.units import unit_items

        unit = unit_items(self._chunking[0], self._unit)[chunk]
        grade = self._grades(query, unit)
        key = query.astype(np.int64) * (int(unit.max(initial=0)) + 1) + unit
        by_score = np.lexsort((-score, query))
        first = by_score[np.unique(key[by_score], return_index=True)[1]]
        repeated = np.ones(len(key), np.int64)
        repeated[first] = 0
        _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
        size = counts[inverse]
        if worst:
            group = np.where(grade > 0, 2, repeated)
            return np.lexsort((key, -size, grade, group, -score, query))
        group = np.where(grade > 0, repeated, 2)
        return np.lexsort((key, -size, -grade, group, -score, query))

    def _grades(self, query: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Grade of each item of a query; 0 if it was not judged."""
        import numpy as np

        judged = self.judged
        if not len(judged.query):
            return np.zeros(len(query))
        span = max(int(item.max(initial=0)), int(judged.item.max(initial=0))) + 1
        keys = judged.query.astype(np.int64) * span + judged.item
        wanted = query.astype(np.int64) * span + item
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, judged.grade[place], 0)


def flatten_rankings(ranking: StepResult) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query, chunk and score of every served row, query by query."""
    import numpy as np

    counts = [len(hit.ids) for hit in ranking.hits]
    query = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    chunk = np.concatenate([hit.ids for hit in ranking.hits]).astype(np.int64)
    return query, chunk, np.concatenate([hit.scores for hit in ranking.hits]).astype(np.float64)


def perfect_chunks(judgments: pa.Table, chunks: pa.Table) -> pa.Table:
    """A chunk for every judged span found in the text, and one for every judged document with text."""
    import pyarrow.compute as pc

    from bakeoff.truth.alignment import lost_spans

    judged = judgments["doc"].unique()
    has_text = set(judged.filter(pc.is_in(judged, value_set=chunks["doc"])).to_pylist())
    rows = judgments.filter(~lost_spans(judgments))
    places = zip(*(rows[name].to_pylist() for name in ("doc", "start", "end")), strict=True)
    longest = pc.max(chunks["end"]).as_py() or 1
    found = [
        (doc, start or 0, longest if end is None else end)
        for doc, start, end in dict.fromkeys(places)
        if doc in has_text
    ]
    found += [(doc, 0, longest) for doc in has_text]
    doc, start, end = map(list, zip(*sorted(set(found)), strict=True)) if found else ([], [], [])
    blank = [""] * len(doc)
    columns = {name: blank if kind.endswith("string") else [0] * len(doc) for name, kind in CHUNKS.columns}
    return CHUNKS.table(
        {**columns, "id": [str(n) for n in range(len(doc))], "doc": doc, "start": start, "end": end}
    )


def lost_as_documents(judgments: pa.Table) -> pa.Table:
    """Judgments of documents; a document stays relevant if the text lost its span."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from bakeoff.truth.alignment import lost_spans

    lost = pa.array(lost_spans(judgments))
    for name in ("start", "end"):
        column = pc.if_else(lost, pa.scalar(None, pa.int32()), judgments[name])
        judgments = judgments.set_column(judgments.column_names.index(name), name, column)
    return judgments


def with_spans(judgments: pa.Table) -> pa.Table:
    """Judgments that locate the answer; queries judged by whole documents only have none."""
    import pyarrow.compute as pc

    return judgments.filter(pc.is_valid(judgments["start"]))
