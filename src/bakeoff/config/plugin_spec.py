"""Reads parts of an experiment file: a name with validated parameters; every mistake names its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NoReturn, cast

from pydantic import BaseModel, ConfigDict, Field

from bakeoff import registry
from bakeoff.config import yaml_document
from bakeoff.config.experiment_file import RawSpec
from bakeoff.config.model_names import resolve_model
from bakeoff.config.plan import PluginSpec
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import ExperimentError, UserError
from bakeoff.protocols import Plugin
from bakeoff.types import ExistingCollection, Json, JsonObject

NOT_PARAMS = ("as", "query")
ADDRESSES = ("url", "uri", "dsn", "base_url")
"""Parameters with a server's address, which are not part of a label."""
"""Keys that are not parameters: a plug-in's display name, and a store's query arguments."""
EXISTING = ("collection", "read_only", "id", "vector", "path")
"""Keys of a store that names an existing collection."""


class ExistingPart(BaseModel):
    """An existing collection in an experiment."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    collection: str = Field(min_length=1, description="its name: a collection, an index, or a table")
    read_only: Literal[True] = Field(description="it is searched, and never written to")
    id: str = Field(
        "", description="the payload field of chunk or document ids; default: the engine's own ids"
    )
    vector: str = Field("", description="the field of vectors; default: the only one")
    path: Path | None = Field(None, description="the folder of an embedded engine")


class PluginSpecReader:
    """Reads parts at positions in one file."""

    def __init__(self, located: YamlDocument, folder: Path) -> None:
        self._located, self._folder = located, folder

    def part(self, kind: str, at: Keys, spec: RawSpec) -> PluginSpec:
        """The plug-in named at a position, with its parameters."""
        written, params = self.split(at, spec)
        where = (*at, written) if isinstance(spec, dict) else at
        try:
            name, resolved = resolve_model(kind, written, params, self._folder)
        except UserError as exc:
            raise type(exc)(f"{self._located.where(where)}: {exc}") from exc
        return self.build(kind, name, resolved, where, label(written, params))

    def build(self, kind: str, name: str, params: Mapping[str, Json], at: Keys, shown: str) -> PluginSpec:
        """A plug-in with the parameters at a position in the file; relative paths start at the file's folder."""
        plugin = self.plugin(kind, name, at)
        existing = self._existing(params, at) if kind == "stores" and "collection" in params else None
        own = {key: v for key, v in params.items() if not existing or key not in EXISTING}
        checked = self.validate(plugin.Params, own_parameters(kind, own), at)
        paths = {
            key: (self._folder / value.expanduser()).resolve()
            for key, value in checked
            if isinstance(value, Path)
        }
        return PluginSpec(
            kind, name, shown, checked.model_copy(update=paths) if paths else checked, existing=existing
        )

    def _existing(self, params: Mapping[str, Json], at: Keys) -> ExistingCollection:
        """The existing collection of a store, read-only."""
        if params.get("read_only") is not True:
            self.refuse(at, "a collection that exists is only searched. Add read_only: true to it.")
        existing = {key: value for key, value in params.items() if key in EXISTING}
        part = cast("ExistingPart", self.validate(ExistingPart, existing, at))
        path = str((self._folder / part.path.expanduser()).resolve()) if part.path else ""
        return ExistingCollection(part.collection, part.id, part.vector, path)

    def split(self, at: Keys, spec: RawSpec) -> tuple[str, JsonObject]:
        """Name and parameters as written."""
        if isinstance(spec, str):
            return spec, {}
        if len(spec) != 1:
            self.refuse(
                at, f"{list(spec)} should be one name with its parameters, as in {{tokens: {{size: 256}}}}."
            )
        name, params = next(iter(spec.items()))
        if params is not None and not isinstance(params, dict):
            self.refuse(
                at, f"{name}: {params!r} should be a mapping of parameters, as in {{tokens: {{size: 256}}}}."
            )
        return name, dict(params or {})

    def plugin(self, kind: str, name: str, at: Keys) -> type[Plugin]:
        """The class of a plug-in."""
        try:
            return registry.load(kind, name)
        except UserError as exc:
            raise type(exc)(f"{self._located.where(at)}: {exc}") from exc

    def validate(self, model: type[BaseModel], params: Mapping[str, Json], at: Keys) -> BaseModel:
        """Validate parameters with their model."""
        return yaml_document.validate_model(model, _below(self._located, at, params), ExperimentError)

    def options(self, arguments: Json, at: Keys, what: str = "query") -> Iterator[list[tuple[str, Json]]]:
        """Values of each argument: one, or a list of distinct ones."""
        if not isinstance(arguments or {}, dict):
            self.refuse(
                at, f"{what}: {arguments!r} should be a mapping of query arguments, as in {{ef: [16, 64]}}."
            )
        for key, value in (arguments or {}).items():
            values = value if isinstance(value, list) else [value]
            if not values:
                self.refuse((*at, key), f"{key} has no value. Give at least one.")
            if any(values.index(one) != i for i, one in enumerate(values)):
                self.refuse((*at, key), f"{key}: {values} has a value twice. Remove one.")
            yield [(key, one) for one in values]

    def refuse(self, at: Keys, message: str) -> NoReturn:
        """Raise an error about a position."""
        raise ExperimentError(f"{self._located.where(at)}: {message}")


def own_parameters(kind: str, params: Mapping[str, Json]) -> JsonObject:
    """The plug-in's own parameters; only a store has query arguments."""
    excluded = NOT_PARAMS if kind == "stores" else ("as",)
    return {key: value for key, value in params.items() if key not in excluded}


def label(name: str, params: Mapping[str, Json]) -> str:
    """The user's name of a part (`as: …`), else its name with the given parameters, without its address."""
    if "as" in params:
        return str(params["as"])
    if "collection" in params and "read_only" in params:
        return f"{name}({params['collection']})"
    inner = short({key: value for key, value in params.items() if key not in (*NOT_PARAMS, *ADDRESSES)})
    return f"{name}({inner})" if inner else name


def short(params: Mapping[str, Json]) -> str:
    """Parameters in short form; a group such as build is named by its members."""
    words = (short(v) if isinstance(v, dict) else f"{key}={v}" for key, v in params.items())
    return " ".join(words)


def _below(located: YamlDocument, path: Keys, data: object) -> YamlDocument:
    """The part of a file at a path, with other data but the same lines."""
    place = located.place
    for key in path:
        inside = place.inside
        if isinstance(inside, dict) and key in inside:
            place = inside[str(key)]
        elif isinstance(inside, list) and isinstance(key, int) and key < len(inside):
            place = inside[key]
    return YamlDocument(located.name, data, place)
