"""losses: what the primary measure could still reach after each step of a system, query by query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.measures.definitions import Needs
from bakeoff.measures.names import Measure
from bakeoff.modes import MODES
from bakeoff.plan import System
from bakeoff.results import LOSSES
from bakeoff.stages.judged import Judging, Scored, flat
from bakeoff.stages.kitchen import EXACT, Kitchen
from bakeoff.stages.retrieve import Leg
from bakeoff.stages.serving import Answers
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def losses(
    run: str, system: System, scored: Scored, answers: Answers, kitchen: Kitchen, primary: Measure
) -> pa.Table:
    """The best reachable score after chunking, searching exactly, indexing, fusing and ranking."""
    if primary.definition.needs is not Needs.JUDGMENTS or primary.budget is not None:
        return LOSSES.arrow().empty_table()
    steps = _reachable(system, scored, answers, kitchen, primary)
    ids = [query.id for query in scored.queries.queries]
    return _table(run, system.label, ids, steps)


def _reachable(
    system: System, scored: Scored, answers: Answers, kitchen: Kitchen, primary: Measure
) -> dict[str, np.ndarray]:
    import numpy as np

    judging = Judging(scored, primary.unit or Unit.DOCUMENT)
    query, chunk = judging.relevant_chunks()

    def best(query: np.ndarray, chunk: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        order = np.argsort(query, kind="stable")
        rank = np.zeros(len(query)) if first is None else first
        return judging.values(query[order], chunk[order], rank[order], [primary], ideal=True)[:, 0]

    steps = {"in no chunk": best(query, chunk)}
    steps["search misses"] = best(*_together(_without_index(system, answers, kitchen)))
    if system.store is not None and system.store.name != EXACT and "dense" in MODES[system.mode.name].legs:
        steps["index misses"] = best(*_together(list(answers.legs)))
    before = answers.fuse or answers.legs[0]
    if answers.fuse is not None:
        steps["fused or reranked away"] = best(*_together([before]))
    for look, after in zip(system.rerank, answers.looks, strict=True):
        steps[f"not among the {look.depth} of {look.label}"] = best(
            *_together([before]), _seen(before, look.depth)
        )
        before = after
    steps["ranked too low"] = judging.values(*flat(answers.ranking), [primary])[:, 0]
    return steps


def _without_index(system: System, answers: Answers, kitchen: Kitchen) -> list[Leg]:
    """The searches as they would be if no index missed anything."""
    return [
        kitchen.reference(system).first(answers.count) if kind == "dense" else leg
        for kind, leg in zip(MODES[system.mode.name].legs, answers.legs, strict=True)
    ]


def _seen(ranking: Leg, depth: int) -> np.ndarray:
    """1 for the rows a reranker looks at, 0 for those that stay behind them."""
    import numpy as np

    return np.concatenate([np.arange(len(hits.ids)) < depth for hits in ranking.hits]).astype(np.float64)


def _together(legs: list[Leg]) -> tuple[np.ndarray, np.ndarray]:
    """Query and chunk of everything several searches found."""
    import numpy as np

    parts = [flat(leg) for leg in legs]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _table(run: str, system: str, ids: list[str], steps: dict[str, np.ndarray]) -> pa.Table:
    import numpy as np
    import pyarrow as pa

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
