"""models.toml → embedders: which models to compare, by the engine that runs each.

    [[fastembed]]
    model = "BAAI/bge-small-en-v1.5"

    [[mistralrs]]
    model = "embedding-gemma"
    quantization = "q8"      # none, q8, q4k
    device = "cpu"           # cpu, metal

A model of `fastembed` runs on the embedder `onnx`, one of `mistralrs` on `llamacpp`: the same weights and precision
on another engine. Any embedder's own name may be a table too, with its parameters; so may fastembed with a
folder or with `download`: then its own engine runs it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from bakeoff import registry
from bakeoff.errors import DataError, UnknownPluginError
from bakeoff.modelerrors import did_you_mean, shorten
from bakeoff.weights import models_folder

MINILM = ("all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2")
"""The names under which the model that `bakeoff models pull minilm` fetches is written."""


class _FastEmbed(BaseModel):
    """A table of `[[fastembed]]`."""

    model_config = ConfigDict(extra="forbid")

    model: str


class _MistralRs(BaseModel):
    """A table of `[[mistralrs]]`."""

    model_config = ConfigDict(extra="forbid")

    model: str
    quantization: Literal["none", "q8", "q4k"] = "none"
    device: Literal["metal", "cpu"] = "cpu"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model of the file as an embedder with its parameters; `missing` says what to do where it is not at hand."""

    engine: str
    model: str
    embedder: str
    params: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""

    def given(self) -> dict[str, Any]:
        """The choice as an item of `embedders:` in bakeoff.yaml."""
        return {self.embedder: dict(self.params)}


M = TypeVar("M", bound=BaseModel)
ENGINES = ("fastembed", "mistralrs")


def read(path: Path) -> list[ModelChoice]:
    """The models of a file, in its order; relative paths are taken from the file's folder."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise DataError(f"cannot read {path}: {exc}") from exc
    except tomllib.TOMLDecodeError as exc:
        raise DataError(f"{path} is not TOML: {exc}") from exc
    chosen = list(_choices(path, tables))
    if not chosen:
        raise DataError(f'{path} names no model. Add a table, as [[fastembed]] with model = "...".')
    return chosen


def choose(engine: str, values: Mapping[str, Any], folder: Path = Path()) -> ModelChoice:
    """One model of an engine; raises DataError for wrong values and UnknownPluginError for an unknown engine."""
    if engine == "fastembed" and not {"folder", "download"} & set(values):
        return _fastembed(_checked(_FastEmbed, values))
    if engine == "mistralrs":
        return _mistralrs(_checked(_MistralRs, values), folder)
    if engine not in registry.names("embedders"):
        known = list(dict.fromkeys((*ENGINES, *registry.names("embedders"))))
        raise UnknownPluginError(
            f"no engine is called {engine!r}.{did_you_mean(engine, known)} Known: {', '.join(known)}."
        )
    _checked(registry.load("embedders", engine).Params, values)
    return ModelChoice(engine, str(values.get("model", engine)), engine, dict(values))


def _choices(path: Path, tables: Mapping[str, Any]) -> Iterator[ModelChoice]:
    for engine, rows in tables.items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{path}: {engine} is {shorten(rows)}, not a list of tables. Write [[{engine}]].")
        for number, values in enumerate(rows, 1):
            try:
                yield choose(engine, values, path.parent)
            except DataError as exc:
                raise DataError(f"{path}, [[{engine}]] number {number}: {exc}") from exc
            except UnknownPluginError as exc:
                raise UnknownPluginError(f"{path}: {exc}") from exc


def _fastembed(row: _FastEmbed) -> ModelChoice:
    if row.model.lower() in MINILM:
        return ModelChoice("fastembed", row.model, "minilm")
    folder = models_folder(row.model.replace("/", "--"))
    there = (folder / "tokenizer.json").is_file()
    missing = f"{row.model} is not at hand: put its ONNX export (model.onnx, tokenizer.json) into {folder}"
    params = {"folder": str(folder), "name": row.model}
    return ModelChoice("fastembed", row.model, "onnx", params, "" if there else missing)


def _mistralrs(row: _MistralRs, folder: Path) -> ModelChoice:
    device = {"device": row.device}
    if row.model.lower() in MINILM:
        return ModelChoice("mistralrs", row.model, "llamacpp", {"quantization": row.quantization, **device})
    own = row.model.endswith(".gguf")
    name = row.model.replace("/", "--")
    file = folder / row.model if own else models_folder(name) / f"{name}-{row.quantization}.gguf"
    missing = f"{row.model} is not at hand: put its GGUF file of precision {row.quantization} at {file}"
    return ModelChoice(
        "mistralrs", row.model, "llamacpp", {"file": str(file), **device}, "" if file.is_file() else missing
    )


def _checked(model: type[M], values: Mapping[str, Any]) -> M:
    try:
        return model.model_validate(dict(values))
    except ValidationError as exc:
        raise DataError("; ".join(_sentence(item, model) for item in exc.errors(include_url=False))) from exc


def _sentence(item: Any, model: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "missing":
        return f"{key} is missing"
    if item["type"] == "extra_forbidden":
        known = list(model.model_fields)
        return f"unknown key {key!r}.{did_you_mean(key, known)} Known keys: {', '.join(known)}"
    return f"{key + ': ' if key else ''}{item['msg'].removeprefix('Value error, ')} (it is {shorten(item['input'])})"
