"""models.toml → embedders: which models to compare, by the engine that runs each.

    [[fastembed]]
    model = "BAAI/bge-small-en-v1.5"

    [[mistralrs]]
    model = "embedding-gemma"
    quantization = "q8"      # none, q8, q4k
    device = "cpu"           # cpu, metal

A model of `fastembed` runs on the embedder `onnx`, one of `mistralrs` on `llamacpp`: the same weights and precision
on another engine. Weights are read from $BAKEOFF_MODELS, else from the models folder of $BAKEOFF_HOME, where
`bakeoff models pull bge-small` puts those of BAAI/bge-small-en-v1.5. Any embedder's
own name may be a table too, with its parameters; so may fastembed with a folder or with `download`: then its own
engine runs it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from bakeoff import registry
from bakeoff.config.model_names import resolve_model
from bakeoff.config.pydantic_messages import did_you_mean, shorten
from bakeoff.errors import DataError, ModelNotFoundError, SettingError, UnknownPluginError
from bakeoff.storage import catalogue
from bakeoff.storage.catalogue import CatalogueEntry
from bakeoff.storage.environment import get_setting
from bakeoff.storage.weights import here, models_folder
from bakeoff.types import Json, JsonObject

MINILM = ("all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2")
"""Names of the model that `bakeoff models pull minilm` downloads."""
MODELS = "BAKEOFF_MODELS"
"""The variable that names the user's folder of model weights."""

CLS_POOLED = ("baai/bge-",)
"""Name prefixes of models that use the first token's vector, which their exports often don't declare."""


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
    """A model of the file as an embedder with parameters; `missing` says what to do if its weights are not here."""

    engine: str
    model: str
    embedder: str
    params: Mapping[str, Json] = field(default_factory=dict)
    missing: str = ""
    quantization: str = ""
    label: str = ""

    def as_spec(self) -> JsonObject:
        """The choice as an item of `embedders:` in bakeoff.yaml."""
        named = {"as": self.label} if self.label else {}
        return {self.embedder: {**self.params, **named}}

    def is_called(self, name: str) -> bool:
        """Whether a name means this model: its label, its name, or its name without the organisation."""
        return name.casefold() in {
            text.casefold() for text in (self.label, self.model, self.model.rpartition("/")[2])
        }


M = TypeVar("M", bound=BaseModel)


def read_models_file(path: Path) -> list[ModelChoice]:
    """Read the models of a file, in order; relative paths start at the file's folder."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise DataError(f"cannot read {path}: {exc}") from exc
    except tomllib.TOMLDecodeError as exc:
        raise DataError(f"{path} is not TOML: {exc}") from exc
    chosen = list(_choices(path, tables))
    if not chosen:
        raise DataError(f'{path} names no model. Add a table, as [[fastembed]] with model = "...".')
    return _label_models(path, chosen)


def read_available(path: Path, only: Sequence[str] = ()) -> list[ModelChoice]:
    """The models of a file to run, all or those in `only`; raises if one has no weights here."""
    chosen = read_models_file(path)
    if only:
        chosen = _select_models(path, chosen, only)
    absent = [choice for choice in chosen if choice.missing]
    if not absent:
        return chosen
    rest = ",".join(choice.label for choice in chosen if not choice.missing)
    advice = f" Or run the others: --models-only {rest}" if rest else ""
    raise ModelNotFoundError(f"{path}: {'. '.join(choice.missing for choice in absent)}.{advice}")


def _select_models(path: Path, chosen: list[ModelChoice], only: Sequence[str]) -> list[ModelChoice]:
    """The named models, in file order."""
    for name in only:
        if not any(choice.is_called(name) for choice in chosen):
            labels = [choice.label for choice in chosen]
            hint = did_you_mean(name, labels)
            raise SettingError(f"{path} has no model {name!r}.{hint} It has: {', '.join(labels)}.")
    return [choice for choice in chosen if any(choice.is_called(name) for name in only)]


def _label_models(path: Path, chosen: list[ModelChoice]) -> list[ModelChoice]:
    """Label each model for results; the engine is added if two would share a label."""
    plain = [_label(choice) for choice in chosen]
    counts = Counter(plain)
    labels = [
        f"{label} ({choice.engine})" if counts[label] > 1 else label
        for label, choice in zip(plain, chosen, strict=True)
    ]
    for label, count in Counter(labels).items():
        if count > 1:
            raise DataError(f"{path} lists {label} {count} times. Remove all but one.")
    return [replace(choice, label=label) for label, choice in zip(labels, chosen, strict=True)]


def _label(choice: ModelChoice) -> str:
    """The model's name, with its precision if one was chosen."""
    return f"{choice.model} {choice.quantization}" if choice.quantization else choice.model


def choose_models(engine: str, values: Mapping[str, object], folder: Path = Path()) -> ModelChoice:
    """One model of an engine; raises DataError for wrong values and UnknownPluginError for an unknown engine."""
    if engine == "fastembed" and not {"folder", "download"} & set(values):
        return _read_fastembed(_check_row(_FastEmbed, values))
    if engine == "mistralrs":
        return _mistralrs(_check_row(_MistralRs, values), folder)
    embedder, values = resolve_model("embedders", engine, values, folder)
    params = _check_row(registry.load("embedders", embedder).Params, values)
    paths = {
        key: str(folder / value.expanduser())
        for key, value in params
        if isinstance(value, Path) and key in values
    }
    model = str(values.get("model") or values.get("name") or _folder_name(paths) or engine)
    return ModelChoice(
        engine, model, embedder, {**values, **paths}, quantization=str(values.get("quantization") or "")
    )


def _folder_name(paths: Mapping[str, str]) -> str:
    return Path(paths["folder"]).name if "folder" in paths else ""


def _choices(path: Path, tables: Mapping[str, object]) -> Iterator[ModelChoice]:
    for engine, rows in tables.items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{path}: {engine} is {shorten(rows)}, not a list of tables. Write [[{engine}]].")
        for number, values in enumerate(rows, 1):
            try:
                yield choose_models(engine, values, path.absolute().parent)
            except DataError as exc:
                raise DataError(f"{path}, [[{engine}]] number {number}: {exc}") from exc
            except UnknownPluginError as exc:
                raise UnknownPluginError(f"{path}: {exc}") from exc


def _read_fastembed(row: _FastEmbed) -> ModelChoice:
    if row.model.lower() in MINILM:
        return ModelChoice("fastembed", row.model, "minilm")
    folder = _weights_folder(row.model)
    there = (folder / "tokenizer.json").is_file()
    entry = _find_catalogued(row.model)
    if entry is not None and not there and here(entry) is not None:  # FastEmbed puts no prompt before a query
        return ModelChoice(
            "fastembed", row.model, entry.plugin, {"model": entry.name, "name": row.model, "query_prompt": ""}
        )
    pull = f"fetch it with `bakeoff models pull {entry.name}`, " if entry is not None else ""
    missing = (
        f"{row.model} is not on this machine: {pull}put its ONNX export (model.onnx, tokenizer.json) into "
        f"{folder}, or set {MODELS} to the folder that holds it as {folder.name}"
    )
    params = {"folder": str(folder), "name": row.model}
    if row.model.lower().startswith(CLS_POOLED):
        params["pooling"] = "cls"
    return ModelChoice("fastembed", row.model, "onnx", params, "" if there else missing)


def _find_catalogued(model: str) -> CatalogueEntry | None:
    """The catalogued full-precision model that a hub lists under this name."""
    return next(
        (
            entry
            for entry in catalogue.entries().values()
            if entry.kind == "embedders"
            and entry.plugin == "onnx"
            and entry.precision == "fp32"
            and any(source.hub.casefold() == model.casefold() for source in entry.sources)
        ),
        None,
    )


def _weights_folder(model: str) -> Path:
    """Where a model's weights are: in the user's model folder if set, under any usual spelling."""
    flat = model.replace("/", "--")
    folder = get_setting(MODELS)
    if not folder:
        return models_folder(flat)
    root = Path(folder).expanduser().absolute()
    spellings = (flat, model, model.rpartition("/")[2])
    return next((root / name for name in spellings if (root / name).is_dir()), root / flat)


def _mistralrs(row: _MistralRs, folder: Path) -> ModelChoice:
    device = {"device": row.device}
    precision = "" if row.quantization == "none" else row.quantization
    if row.model.lower() in MINILM:
        params = {"quantization": row.quantization, **device}
        return ModelChoice("mistralrs", row.model, "llamacpp", params, quantization=precision)
    own = row.model.endswith(".gguf")
    name = row.model.replace("/", "--")
    file = folder / row.model if own else _weights_folder(row.model) / f"{name}-{row.quantization}.gguf"
    missing = (
        f"{row.model} is not on this machine: put its GGUF file of precision {row.quantization} at {file}"
    )
    return ModelChoice(
        "mistralrs",
        row.model,
        "llamacpp",
        {"file": str(file), **device},
        "" if file.is_file() else missing,
        quantization=precision,
    )


def _check_row(model: type[M], values: Mapping[str, object]) -> M:
    try:
        return model.model_validate(dict(values))
    except ValidationError as exc:
        raise DataError("; ".join(_sentence(item, model) for item in exc.errors(include_url=False))) from exc


def _sentence(item: Any, model: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "missing":
        return f"{key} is missing"
    if item["type"] == "extra_forbidden":
        fields = list(model.model_fields)
        return f"unknown key {key!r}.{did_you_mean(key, fields)} Known keys: {', '.join(fields)}"
    return f"{key + ': ' if key else ''}{item['msg'].removeprefix('Value error, ')} (it is {shorten(item['input'])})"
