"""Resolves a name under `embedders:` or `rerankers:` to a plug-in: its own, a catalogued model, a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.config.pydantic_messages import did_you_mean
from bakeoff.errors import ModelNotFoundError, UnknownPluginError
from bakeoff.storage import catalogue
from bakeoff.storage.catalogue import CatalogueEntry
from bakeoff.storage.hub import REPOSITORY
from bakeoff.storage.weights import models_folder

RUNS_FOLDERS = {"embedders": "onnx", "rerankers": "cross_encoder"}
"""The plug-in that runs a folder with an ONNX graph or safetensors weights."""


def resolve_model(
    kind: str, name: str, params: Mapping[str, object], folder: Path
) -> tuple[str, dict[str, object]]:
    """The plug-in and parameters for a name; relative paths start at `folder`."""
    if kind not in RUNS_FOLDERS or name in registry.names(kind):
        return name, dict(params)
    entry = catalogue.entries().get(name)
    if entry is not None and entry.kind == kind:
        return entry.plugin, {"model": name, **params}
    own = folder / Path(name).expanduser()
    if own.exists() and ("/" in name or name.startswith((".", "~"))):
        return _own_model(kind, own, params)
    if REPOSITORY.fullmatch(name):
        return _pulled_model(kind, name, params)
    names = list(dict.fromkeys((*registry.names(kind), *catalogue.names(kind))))
    raise UnknownPluginError(
        f"no {kind[:-1]} is called {name!r}.{did_you_mean(name, names)} Known: {', '.join(names)}. A model of your own "
        "is written as a path (./models/mine), one of a model hub as owner/name."
    )


def catalogued_model(part: PluginSpec) -> CatalogueEntry | None:
    """The catalogue entry of a model, or None."""
    name = getattr(part.params, "model", None) or part.name
    entry = catalogue.entries().get(str(name))
    return entry if entry is not None and entry.kind == part.kind else None


def _own_model(kind: str, path: Path, params: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The user's own model: a .gguf file, or a folder."""
    gguf = _gguf_file(path)
    if gguf is not None and kind == "embedders":
        return "llamacpp", {"file": str(gguf), **_gguf_prompts(gguf), **params}
    if not path.is_dir():
        raise ModelNotFoundError(f"{path} is a file; give a folder with a model, or a .gguf file.")
    return RUNS_FOLDERS[kind], {"folder": str(path), **params}


def _pulled_model(kind: str, repository: str, params: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """A pulled repository; if it was not pulled, the plug-in says what to run."""
    gguf = _gguf_file(models_folder(repository))
    plugin = "llamacpp" if gguf is not None and kind == "embedders" else RUNS_FOLDERS[kind]
    return plugin, {"model": repository, **params}


def _gguf_file(path: Path) -> Path | None:
    """The GGUF file that a path names, or the only model in its folder."""
    if path.is_file() and path.suffix == ".gguf":
        return path
    files = sorted(path.glob("*.gguf")) if path.is_dir() else []
    if len(files) > 1:
        raise ModelNotFoundError(f"{path} has {len(files)} GGUF files. Name one: {files[0]}")
    return files[0] if files else None


def _gguf_prompts(file: Path) -> dict[str, object]:
    """Prompts from sentence-transformers' files next to a GGUF file."""
    try:
        settings = json.loads((file.parent / "config_sentence_transformers.json").read_text(encoding="utf-8"))
        prompts = dict(settings["prompts"])
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    document = prompts.get("document", prompts.get("passage", ""))
    return {"query_prompt": str(prompts.get("query", "")), "document_prompt": str(document)}
