"""losses: what the primary measure could still reach after each step of a system, query by query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.measures.definitions import Needs
from bakeoff.measures.names import Measure
from bakeoff.plan import System
from bakeoff.results import LOSSES
from bakeoff.stages.judged import Judging, Scored, flat
from bakeoff.stages.kitchen import EXACT, Answers, Kitchen
from bakeoff.stages.retrieve import Leg
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def losses(
    run: str, system: System, scored: Scored, answers: Answers, kitchen: Kitchen, primary: Measure
) -> pa.Table:
    """The best reachable score after chunking, searching exactly, indexing, fusing and ranking."""
    if primary.definition.needs is not Needs.JUDGMENTS:
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

    def best(query: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        order = np.argsort(query, kind="stable")
        zeros = np.zeros(len(query))
        return judging.values(query[order], chunk[order], zeros, [primary], ideal=True)[:, 0]

    steps = {"in no chunk": best(query, chunk)}
    words = list(answers.legs[1:] if system.store else answers.legs)
    exact = [kitchen.reference(system), *words] if system.store else words
    steps["search misses"] = best(*_together(exact))
    if system.store is not None and system.store.name != EXACT:
        steps["index misses"] = best(*_together(list(answers.legs)))
    if answers.fuse is not None or answers.rerank is not None:
        steps["fused or reranked away"] = best(*_together([answers.ranking]))
    steps["ranked too low"] = judging.values(*flat(answers.ranking), [primary])[:, 0]
    return steps


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
