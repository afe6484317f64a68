"""run: an experiment measured, then its configurations repeated at each depth that it names."""

from __future__ import annotations

from pathlib import Path

from bakeoff.config import experiment
from bakeoff.config.plan import Plan
from bakeoff.runs import run as runner
from bakeoff.runs.analysis import Result
from bakeoff.runtime.events import Emit, no_listener


def run(
    what: str | Path | Plan,
    *,
    out: str | Path | None = None,
    home: str | Path | None = None,
    emit: Emit = no_listener,
    executor: str | None = None,
    force: bool = False,
    runs: int | None = None,
) -> Result:
    """Run an experiment and return its result; the finished systems of an interrupted run are kept.

    `executor` is used instead of the experiment's: `ray`, or `{ray: {address: auto}}`. With `force`, the run of
    another experiment in `out` is moved aside. `runs` is used instead of the experiment's: how often timings are
    repeated, and with `top_k` or the preset vectordb the whole configuration, ingestion and index included, in
    processes of its own.
    """
    plan = what if isinstance(what, Plan) else experiment.load(Path(what))
    plan = plan if runs is None else plan.with_runs(runs)
    result = runner.run(plan, out=out, home=home, emit=emit, executor=executor, force=force)
    if not plan.settings.top_k:
        return result
    from bakeoff.benchmark.configurations.repeats import repeat_configurations
    from bakeoff.servers.control import pids_of

    return repeat_configurations(plan, result, emit, pids_of)
