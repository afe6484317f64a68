"""Parts of an experiment file: a name with its parameters, checked; every mistake names its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config import yaml_document
from bakeoff.config.plan import PluginSpec, RawSpec
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import ExperimentError, UserError

NOT_PARAMS = ("as", "query")
"""Keys beside a plug-in's parameters: the name a part is shown by, and a store's query arguments."""


class PluginSpecReader:
    """Reads parts at places of one file."""

    def __init__(self, located: YamlDocument, folder: Path) -> None:
        self._located, self._folder = located, folder

    def part(self, kind: str, at: Keys, given: RawSpec) -> PluginSpec:
        """The plug-in a place names, with its parameters."""
        name, params = self.split(at, given)
        where = (*at, name) if isinstance(given, dict) else at
        return self.made(kind, name, params, where, label(name, params))

    def made(self, kind: str, name: str, params: Mapping[str, Any], at: Keys, shown: str) -> PluginSpec:
        """A plug-in with parameters that stand at a place; a path in them is below the file's folder."""
        plugin = self.plugin(kind, name, at)
        checked = self.validated(plugin.Params, own_parameters(kind, params), at)
        paths = {
            key: (self._folder / value.expanduser()).resolve()
            for key, value in checked
            if isinstance(value, Path)
        }
        return PluginSpec(kind, name, shown, checked.model_copy(update=paths) if paths else checked)

    def split(self, at: Keys, given: RawSpec) -> tuple[str, dict[str, Any]]:
        """Name and parameters of what the user wrote."""
        if isinstance(given, str):
            return given, {}
        if len(given) != 1:
            self.refuse(
                at, f"{list(given)} should be one name with its parameters, as in {{tokens: {{size: 256}}}}."
            )
        name, params = next(iter(given.items()))
        if params is not None and not isinstance(params, dict):
            self.refuse(
                at, f"{name}: {params!r} should be a mapping of parameters, as in {{tokens: {{size: 256}}}}."
            )
        return name, dict(params or {})

    def plugin(self, kind: str, name: str, at: Keys) -> Any:
        """The class of a plug-in."""
        try:
            return registry.load(kind, name)
        except UserError as exc:
            raise type(exc)(f"{self._located.where(at)}: {exc}") from exc

    def validated(self, model: type[BaseModel], params: Mapping[str, Any], at: Keys) -> BaseModel:
        """Parameters as their model."""
        return yaml_document.validate_model(model, _below(self._located, at, params), ExperimentError)

    def options(self, given: Any, at: Keys, what: str = "query") -> Iterator[list[tuple[str, Any]]]:
        """The values of each argument, one or a list of different ones."""
        if not isinstance(given or {}, dict):
            self.refuse(
                at, f"{what}: {given!r} should be a mapping of query arguments, as in {{ef: [16, 64]}}."
            )
        for key, value in (given or {}).items():
            values = value if isinstance(value, list) else [value]
            if not values:
                self.refuse((*at, key), f"{key} has no value. Give at least one.")
            if any(values.index(one) != i for i, one in enumerate(values)):
                self.refuse((*at, key), f"{key}: {values} has a value twice. Remove one.")
            yield [(key, one) for one in values]

    def refuse(self, at: Keys, message: str) -> NoReturn:
        """An error about a place."""
        raise ExperimentError(f"{self._located.where(at)}: {message}")


def own_parameters(kind: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The plug-in's own parameters of what the user wrote; only a store has query arguments."""
    beside = NOT_PARAMS if kind == "stores" else ("as",)
    return {key: value for key, value in params.items() if key not in beside}


def label(name: str, params: Mapping[str, Any]) -> str:
    """What the user calls a part (`as: …`), else its name with the parameters that were given."""
    if "as" in params:
        return str(params["as"])
    inner = short({key: value for key, value in params.items() if key not in NOT_PARAMS})
    return f"{name}({inner})" if inner else name


def short(params: Mapping[str, Any]) -> str:
    """Parameters in a few words; a group of them, such as build, is named by its members."""
    words = (short(v) if isinstance(v, dict) else f"{key}={v}" for key, v in params.items())
    return " ".join(words)


def _below(located: YamlDocument, path: Keys, data: Any) -> YamlDocument:
    """The part of a file at a path, with other data but the same lines."""
    place = located.place
    for key in path:
        inside = place.inside
        if isinstance(inside, dict) and key in inside:
            place = inside[str(key)]
        elif isinstance(inside, list) and isinstance(key, int) and key < len(inside):
            place = inside[key]
    return YamlDocument(located.name, data, place)
