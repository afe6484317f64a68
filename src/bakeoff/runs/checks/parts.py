"""Whether everything a run would use is here: packages of plug-ins, and the weights of models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from bakeoff import registry
from bakeoff.config import yaml_document
from bakeoff.config.model_names import resolve_model
from bakeoff.config.plan import Plan, PluginSpec
from bakeoff.errors import BakeoffError, ConsentError, ExperimentError, MissingExtraError, UserError
from bakeoff.pipeline.vector_forms import require_dims
from bakeoff.protocols import Embedder, Reranker, Retriever
from bakeoff.runs.checks.findings import Finding
from bakeoff.storage.consent import require_code
from bakeoff.types import ModelInfo

_LISTS = ("chunkers", "embedders", "encoders", "stores", "rerankers", "retrievers")


def check_weights(plan: Plan) -> Iterator[Finding]:
    """Embedders, rerankers and retrievers that could not start; a model says what it is without being loaded."""
    parts = (
        part for system in plan.systems for part in (system.retriever, system.embedder, *system.parts[5:])
    )
    chosen = [part for part in parts if part]
    for part in {(part.kind, part.label): part for part in chosen}.values():
        try:
            _ask(part)
        except ConsentError as exc:
            yield Finding("error", "consent", part.label, str(exc))
        except UserError as exc:
            yield Finding("error", "weights", part.label, str(exc))
        except BakeoffError as exc:
            text = f"it cannot start: {exc} Its systems will fail unless that changes."
            yield Finding("warning", "unreachable", part.label, text)


def load_faults(path: Path, error: UserError) -> Iterator[Finding]:
    """Why an experiment cannot be read; of missing packages all are named at once."""
    missing = list(_missing(path)) if isinstance(error, MissingExtraError) else []
    if missing:
        yield from missing
    else:
        yield from (Finding("error", "experiment", path.name, line) for line in error.lines)


def _ask(part: PluginSpec) -> None:
    """Start a model that is on this machine; a model behind a server is made, but its server is not asked.

    The user's own code is not run, only whether it may be.
    """
    if code := getattr(part.params, "call", "") or getattr(part.params, "object", ""):
        require_code(code.partition(":")[0])
        return
    plugin = cast("type[Embedder | Reranker | Retriever]", registry.load(part.kind, part.name))
    model = plugin(part.params)
    try:
        if not getattr(plugin, "remote", False):
            info = getattr(model, "info", None)
            if isinstance(info, ModelInfo):
                require_dims(part, info)
    finally:
        model.close()


def _missing(path: Path) -> Iterator[Finding]:
    located = yaml_document.read(path, ExperimentError, name=path.name)
    for kind in _LISTS:
        for place, given in enumerate(located.data.get(kind) or []):
            name = given if isinstance(given, str) else next(iter(given), "")
            try:
                registry.load(kind, resolve_model(kind, name, {}, path.parent)[0])
            except UserError as exc:
                yield Finding("error", "extra", located.where((kind, place)), str(exc))
