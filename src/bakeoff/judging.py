"""A result → the evidence, and the verdict that follows from it."""

from __future__ import annotations

from bakeoff.analysis import Result
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.evidence import Costs, Evidence, Limits
from bakeoff.stats.interaction import Interaction, interactions
from bakeoff.stats.verdict import Verdict, decide


def judge(result: Result) -> Verdict:
    """The verdict on the primary measure, under the experiment's limits."""
    return decide(evidence(result))


def evidence(result: Result) -> Evidence:
    """Everything the verdict may use, from stored rows."""
    limits = result.record.limits
    index_mb = limits.get("index_mb")
    return Evidence(
        comparison=result.comparison,
        interactions=_interactions(result),
        costs={system: _costs(result, system) for system in result.done},
        limits=Limits(
            p95_ms=limits.get("p95_ms"), index_bytes=index_mb * 1e6 if index_mb is not None else None
        ),
    )


def _costs(result: Result, system: str) -> Costs:
    sizes = dict(
        zip(result.systems["system"].to_pylist(), result.systems["index_bytes"].to_pylist(), strict=True)
    )
    return Costs(p95_ms=result.timing(system, "total", "p95_ms"), index_bytes=sizes[system])


def _interactions(result: Result) -> tuple[Interaction, ...]:
    """The best system against each it is not shown to beat, by category."""
    comparison, matrix = result.comparison, result.matrix(result.record.primary)
    rivals = [system for system in comparison.indistinguishable_from_best if system != comparison.best]
    if comparison.best is None or not rivals or len({c for c in matrix.categories if c}) < 2:
        return ()
    return interactions(matrix, comparison.best, rivals, BootstrapSettings(result.record.seed))
