"""losses: the best reachable score of the primary measure after each step of a system, per query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.config.plan import System
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import REFERENCES, StepResult, SystemAnswers
from bakeoff.pipeline.scoring.inputs import ScoringInputs, UnitJudgments, flatten_rankings, perfect_chunks
from bakeoff.pipeline.system_tables import LOSSES
from bakeoff.stats.loss import BEYOND_DEPTH, CEILING, NOT_IN_TEXT
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class StageCandidates:
    """The candidates a step leaves: rankings, of which a reranker sees only the first rows."""

    step: str
    legs: tuple[StepResult, ...]
    seen: int | None = None


def stage_candidates(
    system: System,
    answers: SystemAnswers,
    executor: QueryExecutor,
    primary: Measure,
    placed: StepResult | None = None,
) -> tuple[StageCandidates, ...]:
    """The steps between the chunks and the served ranking; empty if the primary measure has none.

    `placed` is the ranking as if every result outside the corpus were right.
    """
    if primary.needs is not RequiredInput.JUDGMENTS or primary.budget is not None:
        return ()
    if placed is not None:
        return (
            StageCandidates("search misses", (placed,)),
            StageCandidates("not placed", answers.searches),
        )
    exact = executor.reference(system) if system.has_reference else None
    legs = answers.searches if exact is None else _without_index(answers, exact)
    steps = [StageCandidates("search misses", tuple(legs))]
    if exact is not None and system.store is not None and system.store.name != REFERENCES[system.legs[0]]:
        steps.append(StageCandidates("index misses", answers.searches))
    before = answers.fuse or answers.searches[0]
    if answers.fuse is not None:
        steps.append(StageCandidates("fused or reranked away", (before,)))
    for look, after in zip(system.rerank, answers.reranks, strict=True):
        steps.append(StageCandidates(f"not among the {look.depth} of {look.label}", (before,), look.depth))
        before = after
    return tuple(steps)


def best_reachable(
    scored: ScoringInputs, steps: Sequence[StageCandidates], primary: Measure
) -> dict[str, np.ndarray]:
    """Best score of each query after each step: the measure's maximum on this truth, what a ranking of the
    run's depth can reach, the chunks if all are known, and finally what was served."""
    import numpy as np

    if not steps:
        return {}
    judging = UnitJudgments(scored, primary.unit or Unit.DOCUMENT, primary.source)
    limit = judging.ceiling(primary)
    within = judging.ceiling(primary, scored.depth) if _is_cut(primary, scored.depth) else None

    def best(query: np.ndarray, chunk: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        order = np.argsort(query, kind="stable")
        rank = np.zeros(len(query)) if first is None else first
        scores = judging.scores(query[order], chunk[order], rank[order], [primary], order="best").values[:, 0]
        return scores if within is None else np.minimum(scores, within)

    found = {} if limit is None else {CEILING: limit}
    if within is not None:
        found[BEYOND_DEPTH] = within
    if scored.truth.aligned:
        perfect = _with_perfect_chunks(scored, primary)
        found[NOT_IN_TEXT] = perfect if within is None else np.minimum(perfect, within)
    if scored.chunking.whole:
        found["in no chunk"] = best(*judging.relevant_chunks())
    for one in steps:
        first = None if one.seen is None else _seen(one.legs[0], one.seen)
        found[one.step] = best(*_together(list(one.legs)), first)
    found["ranked too low"] = judging.scores(*flatten_rankings(scored.ranking), [primary]).values[:, 0]
    return found


def _is_cut(measure: Measure, depth: int | None) -> bool:
    """Whether a measure looks deeper than rankings of this depth."""
    return depth is not None and (measure.k is None or measure.k > depth)


def _with_perfect_chunks(scored: ScoringInputs, primary: Measure) -> np.ndarray:
    """Best score of each query if everything judged that is in the reader's text were a chunk by itself."""
    import numpy as np

    chunks = perfect_chunks(scored.truth.judgments, scored.chunking.chunks)
    alone = replace(scored, chunking=replace(scored.chunking, chunks=chunks))
    judging = UnitJudgments(alone, primary.unit or Unit.DOCUMENT, primary.source)
    query, chunk = judging.relevant_chunks()
    order = np.argsort(query, kind="stable")
    rank = np.zeros(len(query))
    return judging.scores(query[order], chunk[order], rank, [primary], order="best").values[:, 0]


def _without_index(answers: SystemAnswers, exact: StepResult) -> tuple[StepResult, ...]:
    """The searches as if no index missed anything."""
    return tuple(leg if place else exact.first(answers.count) for place, leg in enumerate(answers.searches))


def _seen(ranking: StepResult, depth: int) -> np.ndarray:
    """1 for rows a reranker sees, 0 for those behind them."""
    import numpy as np

    return np.concatenate([np.arange(len(hits.ids)) < depth for hits in ranking.hits]).astype(np.float64)


def _together(legs: list[StepResult]) -> tuple[np.ndarray, np.ndarray]:
    """Query and chunk of everything the searches found."""
    import numpy as np

    parts = [flatten_rankings(leg) for leg in legs]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def losses_table(run: str, system: str, ids: list[str], steps: dict[str, np.ndarray]) -> pa.Table:
    """One row per step and query."""
    import numpy as np
    import pyarrow as pa

    if not steps:
        return LOSSES.arrow().empty_table()
    total = len(ids) * len(steps)
    values = np.concatenate(list(steps.values()))
    return LOSSES.table(
        {
            "run": pa.repeat(run, total),
            "system": pa.repeat(system, total),
            "query_id": ids * len(steps),
            "step": [step for step in steps for _ in ids],
            "reachable": pa.array(values, mask=np.isnan(values)),
        }
    )
