"""losses: what the primary measure could still reach after each step of a system, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.config.modes import MODES
from bakeoff.config.plan import System
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.pipeline.query_executor import EXACT, QueryExecutor
from bakeoff.pipeline.query_pipeline import StepResult, SystemAnswers
from bakeoff.pipeline.scoring.inputs import ScoringInputs, UnitJudgments, flatten_rankings
from bakeoff.pipeline.system_tables import LOSSES
from bakeoff.stats.loss import CEILING
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class StageCandidates:
    """What a step leaves to choose from: rankings, of which a closer look sees the first rows only."""

    step: str
    legs: tuple[StepResult, ...]
    seen: int | None = None


def measure_losses(
    run: str,
    system: System,
    scored: ScoringInputs,
    answers: SystemAnswers,
    executor: QueryExecutor,
    primary: Measure,
) -> pa.Table:
    """The best reachable score after chunking, searching exactly, indexing, fusing and ranking."""
    steps = stage_candidates(system, answers, executor, primary)
    ids = [query.id for query in scored.queries.queries]
    return losses_table(run, system.label, ids, best_reachable(scored, steps, primary))


def stage_candidates(
    system: System, answers: SystemAnswers, executor: QueryExecutor, primary: Measure
) -> tuple[StageCandidates, ...]:
    """The steps between the chunks and the served ranking; none where the primary measure has none."""
    if primary.needs is not RequiredInput.JUDGMENTS or primary.budget is not None:
        return ()
    steps = [StageCandidates("search misses", tuple(_without_index(system, answers, executor)))]
    if system.store is not None and system.store.name != EXACT and "dense" in MODES[system.mode.name].legs:
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
    """The best score of each query after each step: first what the measure can give on this truth, then the chunks,
    last what was served."""
    import numpy as np

    if not steps:
        return {}
    judging = UnitJudgments(scored, primary.unit or Unit.DOCUMENT)
    query, chunk = judging.relevant_chunks()
    limit = judging.ceiling(primary)

    def best(query: np.ndarray, chunk: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        order = np.argsort(query, kind="stable")
        rank = np.zeros(len(query)) if first is None else first
        return judging.scores(query[order], chunk[order], rank[order], [primary], order="best").values[:, 0]

    found = {} if limit is None else {CEILING: limit}
    found["in no chunk"] = best(query, chunk)
    for one in steps:
        first = None if one.seen is None else _seen(one.legs[0], one.seen)
        found[one.step] = best(*_together(list(one.legs)), first)
    found["ranked too low"] = judging.scores(*flatten_rankings(scored.ranking), [primary]).values[:, 0]
    return found


def _without_index(system: System, answers: SystemAnswers, executor: QueryExecutor) -> list[StepResult]:
    """The searches as they would be if no index missed anything."""
    return [
        executor.reference(system).first(answers.count) if kind == "dense" else leg
        for kind, leg in zip(MODES[system.mode.name].legs, answers.searches, strict=True)
    ]


def _seen(ranking: StepResult, depth: int) -> np.ndarray:
    """1 for the rows a reranker looks at, 0 for those that stay behind them."""
    import numpy as np

    return np.concatenate([np.arange(len(hits.ids)) < depth for hits in ranking.hits]).astype(np.float64)


def _together(legs: list[StepResult]) -> tuple[np.ndarray, np.ndarray]:
    """Query and chunk of everything several searches found."""
    import numpy as np

    parts = [flatten_rankings(leg) for leg in legs]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def losses_table(run: str, system: str, ids: list[str], steps: dict[str, np.ndarray]) -> pa.Table:
    """One row a step and query."""
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
