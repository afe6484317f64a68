"""What a system is scored with, and rankings of chunks held against the judgments of one unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.errors import SystemFailure
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import Measure
from bakeoff.stages.chunk import Chunking
from bakeoff.stages.retrieve import Leg
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.measures.evaluate import Scores
    from bakeoff.truth.units import Ranked


@dataclass(frozen=True, slots=True)
class Scored:
    """What a system is scored with."""

    ranking: Leg
    chunking: Chunking
    queries: QuerySet
    truth: Truth
    conventions: Conventions
    tokens: Callable[[], np.ndarray]
    neighbours: Callable[[], tuple[Leg, Leg] | None]
    depth: int | None = None

    def affordable(self, measure: Measure) -> np.ndarray:
        """Which served rows fit into a measure's token budget; raises where more had to be retrieved to fill it."""
        import numpy as np

        from bakeoff.measures.spans import within_budget

        query, chunk, _ = flat(self.ranking)
        tokens, budget = self.tokens()[chunk], measure.budget or 0
        read = np.bincount(query, weights=tokens, minlength=len(self.ranking.hits))
        self._refuse_shallow(measure, read)
        return within_budget(query, tokens, budget)

    def _refuse_shallow(self, measure: Measure, read: np.ndarray) -> None:
        """A ranking that ends at the retrieval depth below the budget would score too low."""
        import numpy as np

        depth, budget = self.depth, measure.budget or 0
        if depth is None or depth >= self.chunking.chunks.num_rows:
            return
        full = np.array([len(hit.ids) >= depth for hit in self.ranking.hits])
        short = full & (read < budget)
        if short.any():
            wanted = int(np.ceil(depth * budget / max(float(read[short].min()), 1.0) * 1.2))
            raise SystemFailure(
                f"{measure} cannot be computed: the {depth} chunks retrieved for a query hold as few as "
                f"{int(read[short].min())} tokens ({int(short.sum())} of {len(full)} queries stay below the budget). "
                f"Set depth: {wanted}, or lower the budget."
            )


class Judging:
    """The judgments of one unit under a system's chunking, and rankings of chunks held against them."""

    def __init__(self, scored: Scored, unit: Unit) -> None:
        from bakeoff.truth.units import derive

        self._scored, self._unit = scored, unit
        judgments = scored.truth.judgments
        self._table = with_spans(judgments) if unit is Unit.ANSWER else judgments
        self._share = scored.conventions.overlap_share
        self.judged = derive(self._table, *self._chunking, unit, overlap=self._share)

    @property
    def _chunking(self) -> tuple[pa.Table, str]:
        return self._scored.chunking.chunks, self._scored.chunking.fingerprint

    def relevant_chunks(self) -> tuple[np.ndarray, np.ndarray]:
        """Query and chunk of every chunk that is relevant to a query."""
        from bakeoff.truth.units import derive

        found = derive(self._table, *self._chunking, Unit.CHUNK, overlap=self._share)
        kept = found.grade > 0
        return found.query[kept], found.item[kept]

    def scores(
        self,
        query: np.ndarray,
        chunk: np.ndarray,
        score: np.ndarray,
        measures: list[Measure],
        *,
        ideal: bool = False,
    ) -> Scores:
        """Rankings of chunks scored at this unit, as served or in the best order of what they hold."""
        import numpy as np

        from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
        from bakeoff.measures.evaluate import evaluate
        from bakeoff.truth.units import Ranked, collapse

        chunks, name = self._chunking
        units = collapse(
            Ranked(query, chunk, score), chunks, self._unit, self._table, name, overlap=self._share
        )
        item, value = self._best_first(units) if ideal else (units.item, units.score)
        judged = self.judged
        return evaluate(
            RankingArrays(units.query, item, value),
            JudgmentArrays(judged.query, judged.item, judged.grade),
            measures,
            conventions=self._scored.conventions,
            queries=np.arange(len(self._scored.queries.queries)),
        )

    def _best_first(self, units: Ranked) -> tuple[np.ndarray, np.ndarray]:
        """The items of each query with the highest grades first, with falling scores."""
        import numpy as np

        span = max(int(units.item.max(initial=0)), int(self.judged.item.max(initial=0))) + 1
        keys = self.judged.query.astype(np.int64) * span + self.judged.item
        wanted = units.query.astype(np.int64) * span + units.item
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        known = keys[place] == wanted if len(keys) else np.zeros(len(wanted), bool)
        grade = np.where(known, self.judged.grade[place], 0) if len(keys) else np.zeros(len(wanted))
        order = np.lexsort((-grade, -units.score, units.query))  # equal scores: the best grade first
        return units.item[order], -np.arange(len(order), dtype=np.float64)


def flat(ranking: Leg) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query, chunk and score of every served row, query by query."""
    import numpy as np

    counts = [len(hit.ids) for hit in ranking.hits]
    query = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    chunk = np.concatenate([hit.ids for hit in ranking.hits]).astype(np.int64)
    return query, chunk, np.concatenate([hit.scores for hit in ranking.hits]).astype(np.float64)


def with_spans(judgments: pa.Table) -> pa.Table:
    """The judgments that say where the answer is; queries judged by whole documents only have none."""
    import pyarrow.compute as pc

    return judgments.filter(pc.is_valid(judgments["start"]))
