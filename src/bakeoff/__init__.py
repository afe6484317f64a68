"""bakeoff: which embedding model, chunker, vector database and retrieval mode suits your documents.

    import bakeoff
    result = bakeoff.run("bakeoff.yaml")
    print(result.verdict.sentence)

Names are imported when first used, so that `import bakeoff` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.config.plan import Plan
    from bakeoff.errors import BakeoffError
    from bakeoff.measures.api import evaluate
    from bakeoff.presets.vectordb.metrics import calculate_all_metrics
    from bakeoff.review.reviewed_run import load_system
    from bakeoff.review.reviewed_run import open_reviewed as open_run
    from bakeoff.runs.analysis import Result, compare
    from bakeoff.runs.live.live_system import FoundPassage, LiveSystem, open_system
    from bakeoff.runs.live.replay import self_test
    from bakeoff.runs.score_files import compare_scores
    from bakeoff.runtime.events import Emit

_HOMES = {
    "BakeoffError": "bakeoff.errors",
    "FoundPassage": "bakeoff.runs.live.live_system",
    "LiveSystem": "bakeoff.runs.live.live_system",
    "Result": "bakeoff.runs.analysis",
    "calculate_all_metrics": "bakeoff.presets.vectordb.metrics",
    "compare": "bakeoff.runs.analysis",
    "compare_scores": "bakeoff.runs.score_files",
    "evaluate": "bakeoff.measures.api",
    "load_system": "bakeoff.review.reviewed_run",
    "open_run": "bakeoff.review.reviewed_run:open_reviewed",
    "open_system": "bakeoff.runs.live.live_system",
    "self_test": "bakeoff.runs.live.replay",
}

__all__ = [
    "BakeoffError",
    "FoundPassage",
    "LiveSystem",
    "Result",
    "__version__",
    "calculate_all_metrics",
    "compare",
    "compare_scores",
    "evaluate",
    "load_system",
    "open_run",
    "open_system",
    "run",
    "self_test",
]


def run(
    what: str | Path | Plan,
    *,
    out: str | Path | None = None,
    home: str | Path | None = None,
    emit: Emit | None = None,
    executor: str | None = None,
    force: bool = False,
    runs: int | None = None,
) -> Result:
    """Run an experiment and return its result; finished systems of an interrupted run are kept.

    In a notebook, progress is drawn below the cell; with `emit`, the caller receives the events instead. If
    people judged this run, the result follows their judgments, as with `open_run`; `Result.by_rules()` does
    not. `executor` overrides the experiment's: `ray`, or `{ray: {address: auto}}`. With `force`, the run of
    another experiment in `out` is moved aside. `runs` overrides the experiment's number of timing repeats.
    With `top_k` or the preset vectordb, the whole configuration is repeated, including ingestion and index,
    each time in new processes.
    """
    from pathlib import Path

    from bakeoff.config import experiment
    from bakeoff.config.plan import Plan
    from bakeoff.review.reviewed_run import with_people
    from bakeoff.runs import run as runner
    from bakeoff.runtime.events import no_listener
    from bakeoff.runtime.notebook import notebook_listener

    plan = what if isinstance(what, Plan) else experiment.load(Path(what))
    plan = plan if runs is None else plan.with_runs(runs)
    listener = emit or notebook_listener() or no_listener
    result = runner.run(plan, out=out, home=home, emit=listener, executor=executor, force=force)
    if plan.settings.top_k:
        from bakeoff.benchmark.configurations.repeats import repeat_configurations
        from bakeoff.runtime.servers.control import pids_of

        result = repeat_configurations(plan, result, listener, pids_of)
    return with_people(result)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bakeoff' has no attribute {name!r}")
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return __all__
