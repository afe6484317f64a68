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
    from bakeoff.benchmark.run_and_repeat import run
    from bakeoff.errors import BakeoffError
    from bakeoff.measures.api import evaluate
    from bakeoff.presets.vectordb.metrics import calculate_all_metrics
    from bakeoff.review.reviewed_run import open_reviewed as open_run
    from bakeoff.runs.analysis import Result, compare
    from bakeoff.runs.score_files import compare_scores

_HOMES = {
    "BakeoffError": "bakeoff.errors",
    "Result": "bakeoff.runs.analysis",
    "calculate_all_metrics": "bakeoff.presets.vectordb.metrics",
    "compare": "bakeoff.runs.analysis",
    "compare_scores": "bakeoff.runs.score_files",
    "evaluate": "bakeoff.measures.api",
    "open_run": "bakeoff.review.reviewed_run:open_reviewed",
    "run": "bakeoff.benchmark.run_and_repeat",
}

__all__ = [
    "BakeoffError",
    "Result",
    "__version__",
    "calculate_all_metrics",
    "compare",
    "compare_scores",
    "evaluate",
    "open_run",
    "run",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bakeoff' has no attribute {name!r}")
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return __all__
