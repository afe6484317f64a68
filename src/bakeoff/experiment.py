"""bakeoff.yaml → a validated plan of systems. Nothing is read, embedded or connected to here."""

from __future__ import annotations

import difflib
import itertools
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bakeoff import registry, yamlfile
from bakeoff.errors import ExperimentError, UserError
from bakeoff.measures.definitions import Needs
from bakeoff.measures.names import parse
from bakeoff.modes import MODES, ModeKind
from bakeoff.plan import ExperimentFile, Given, Part, Plan, System
from bakeoff.protocols import SupportsKeywords, SupportsVectors
from bakeoff.types import Unit
from bakeoff.yamlfile import Keys, Located

NOT_PARAMS = ("as", "query")
"""Keys beside a plug-in's parameters: the name a part is shown by, and a store's query arguments."""


def load(path: Path) -> Plan:
    """The plan of an experiment file; every mistake in it is an error that names line, key and remedy."""
    if path.is_dir():
        path = path / "bakeoff.yaml"
    if not path.exists():
        raise ExperimentError(f"{path} does not exist. Write one with: bakeoff init FOLDER")
    located = yamlfile.read(path, ExperimentError, name=path.name)
    return _Reader(located, path.resolve().parent).plan(path.read_text(encoding="utf-8"))


class _Reader:
    """Turns the parts of one experiment file into a plan."""

    def __init__(self, located: Located, folder: Path) -> None:
        self._located = located
        self._folder = folder
        self._file = yamlfile.validate_model(ExperimentFile, located, ExperimentError)

    def plan(self, text: str) -> Plan:
        measures = self._measures()
        systems = tuple(self._systems())
        self._check_labels(systems)
        return Plan(
            name=self._file.name or self._folder.name,
            text=text,
            folder=self._folder,
            source=self._source(),
            queries=self._path(self._file.queries),
            systems=systems,
            primary=measures[0],
            measures=measures,
            settings=self._file,
        )

    def _systems(self) -> Iterator[System]:
        chunkers = self._parts("chunkers")
        embedders = self._parts("embedders")
        stores = [(p, s) for p in self._parts("stores") for s in self._searches(p)]
        rerankers = [None, *self._parts("rerankers")]
        modes = [(mode, self._keyword(mode, i)) for i, mode in enumerate(self._modes())]
        if any(MODES[mode.name].dense for mode, _ in modes):
            self._check_vectors()
        for chunker, (mode, keyword), reranker in itertools.product(chunkers, modes, rerankers):
            kind = MODES[mode.name]
            if not kind.dense:
                yield _named(System(chunker, mode, keyword=keyword, reranker=reranker), many=False)
                continue
            for embedder, (store, search) in itertools.product(embedders, stores):
                system = System(chunker, mode, embedder, store, search, keyword, reranker)
                yield _named(system, many=len(stores) > 1)

    def _parts(self, kind: str) -> list[Part]:
        given: list[Given] = getattr(self._file, kind)
        return self._distinct(kind, [self._part(kind, i, item) for i, item in enumerate(given)])

    def _distinct(self, kind: str, parts: list[Part]) -> list[Part]:
        seen: set[str] = set()
        for i, part in enumerate(parts):
            if part.label in seen:
                self._refuse((kind, i), f"{part.label} is listed twice in {kind}. Remove one.")
            seen.add(part.label)
        return parts

    def _part(self, kind: str, position: int, given: Given) -> Part:
        name, params = self._split((kind, position), given)
        plugin = self._plugin(kind, name, (kind, position))
        label = _label(name, params)
        own = _own(kind, params)
        where = (kind, position, name) if isinstance(given, dict) else (kind, position)
        return Part(kind, name, label, self._validated(plugin.Params, own, where))

    def _split(self, at: Keys, given: Given) -> tuple[str, dict[str, Any]]:
        if isinstance(given, str):
            return given, {}
        if len(given) != 1:
            self._refuse(
                at, f"{list(given)} should be one name with its parameters, as in {{tokens: {{size: 256}}}}."
            )
        name, params = next(iter(given.items()))
        if params is not None and not isinstance(params, dict):
            self._refuse(
                at, f"{name}: {params!r} should be a mapping of parameters, as in {{tokens: {{size: 256}}}}."
            )
        return name, dict(params or {})

    def _plugin(self, kind: str, name: str, at: Keys) -> Any:
        try:
            return registry.load(kind, name)
        except UserError as exc:
            raise type(exc)(f"{self._located.where(at)}: {exc}") from exc

    def _validated(self, model: type[BaseModel], params: Mapping[str, Any], at: Keys) -> BaseModel:
        part = _below(self._located, at, params)
        return yamlfile.validate_model(model, part, ExperimentError)

    def _searches(self, store: Part) -> list[BaseModel]:
        """One set of query arguments for each combination of the listed values."""
        plugin = registry.load("stores", store.name)
        for i, given in enumerate(self._file.stores):
            name, params = self._split(("stores", i), given)
            if _label(name, params) != store.label:
                continue
            at = ("stores", i, name, "query")
            choices = itertools.product(*self._options(params.get("query"), at))
            return [self._validated(plugin.Query, dict(choice), at) for choice in choices]
        return [plugin.Query()]

    def _check_labels(self, systems: tuple[System, ...]) -> None:
        seen: set[str] = set()
        for system in systems:
            if system.label in seen:
                self._refuse(
                    (), f"two systems would be called {system.label!r}. Name their parts apart with as: NAME."
                )
            seen.add(system.label)

    def _options(self, query: Any, at: Keys) -> Iterator[list[tuple[str, Any]]]:
        """The values of each query argument, one or a list of different ones."""
        if not isinstance(query or {}, dict):
            self._refuse(
                at, f"query: {query!r} should be a mapping of query arguments, as in {{ef: [16, 64]}}."
            )
        for key, value in (query or {}).items():
            values = value if isinstance(value, list) else [value]
            if not values:
                self._refuse((*at, key), f"{key} has no value. Give at least one.")
            if any(values.index(one) != i for i, one in enumerate(values)):
                self._refuse((*at, key), f"{key}: {values} has a value twice. Remove one.")
            yield [(key, one) for one in values]

    def _modes(self) -> list[Part]:
        parts = []
        for i, given in enumerate(self._file.modes):
            name, params = self._split(("modes", i), given)
            kind = MODES.get(name) or self._unknown_mode(i, name)
            at = ("modes", i, name) if isinstance(given, dict) else ("modes", i)
            checked = self._validated(kind.params, _own("modes", params), at)
            parts.append(Part("modes", name, _label(name, params), checked))
        return self._distinct("modes", parts)

    def _unknown_mode(self, position: int, name: str) -> ModeKind:
        near = difflib.get_close_matches(name, MODES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        self._refuse(("modes", position), f"no mode is called {name!r}.{hint} Known: {', '.join(MODES)}.")
        raise AssertionError

    def _keyword(self, mode: Part, position: int) -> Part | None:
        if not MODES[mode.name].keywords:
            return None
        engine = str(getattr(mode.params, "engine"))  # noqa: B009 - every mode with keywords has it
        at = ("modes", position, mode.name, "engine")
        plugin = self._plugin("stores", engine, at)
        if not issubclass(plugin, SupportsKeywords):
            self._refuse(
                at, f"{engine} does not search by words, which {mode.name} needs. Choose another engine."
            )
        return Part("stores", engine, engine, plugin.Params())

    def _check_vectors(self) -> None:
        for i, store in enumerate(self._parts("stores")):
            if not issubclass(registry.load("stores", store.name), SupportsVectors):
                why = f"{store.name} searches by words only. Leave it out; the modes bm25 and hybrid use it."
                self._refuse(("stores", i), why)

    def _source(self) -> Part:
        given = dict(self._file.corpus)
        name = str(given.pop("source", "folder"))
        plugin = self._plugin("sources", name, ("corpus",))
        params = self._validated(plugin.Params, {k: _expanded(v) for k, v in given.items()}, ("corpus",))
        paths = {k: self._path(v) for k, v in params if isinstance(v, Path)}
        return Part("sources", name, name, params.model_copy(update=paths))

    def _measures(self) -> tuple[str, ...]:
        chosen = [self._file.measures.primary, *self._file.measures.also]
        return tuple(dict.fromkeys(self._measure(name, i) for i, name in enumerate(chosen)))

    def _measure(self, name: str, position: int) -> str:
        at: Keys = ("measures", "also", position - 1) if position else ("measures", "primary")
        try:
            measure = parse(name)
        except UserError as exc:
            raise type(exc)(f"{self._located.where(at)}: {exc}") from exc
        if measure.unit is None and measure.definition.needs is Needs.JUDGMENTS:
            measure = measure.at_unit(Unit.DOCUMENT)
        return str(measure)

    def _path(self, path: Path) -> Path:
        return (self._folder / path.expanduser()).resolve()

    def _refuse(self, at: Keys, message: str) -> None:
        raise ExperimentError(f"{self._located.where(at)}: {message}")


def _named(system: System, *, many: bool) -> System:
    """The system with its label; the store is named where there is a choice of stores."""
    store = f"{system.store.label}{_settings(system.search)}" if system.store and many else ""
    reranker = system.reranker.label if system.reranker else ""
    embedder = system.embedder.label if system.embedder else ""
    words = (system.chunker.label, embedder, store, system.mode.label, reranker)
    return replace(system, label=" · ".join(word for word in words if word))


def _own(kind: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The plug-in's own parameters of what the user wrote; only a store has query arguments."""
    beside = NOT_PARAMS if kind == "stores" else ("as",)
    return {key: value for key, value in params.items() if key not in beside}


def _label(name: str, params: Mapping[str, Any]) -> str:
    """What the user calls a part (`as: …`), else its name with the parameters that were given."""
    if "as" in params:
        return str(params["as"])
    inner = _short({key: value for key, value in params.items() if key not in NOT_PARAMS})
    return f"{name}({inner})" if inner else name


def _short(params: Mapping[str, Any]) -> str:
    """Parameters in a few words; a group of them, such as build, is named by its members."""
    words = (_short(v) if isinstance(v, dict) else f"{key}={v}" for key, v in params.items())
    return " ".join(words)


def _settings(search: BaseModel | None) -> str:
    chosen = search.model_dump(exclude_defaults=True) if search is not None else {}
    return f"[{_short(chosen)}]" if chosen else ""


def _expanded(value: Any) -> Any:
    return value.replace("${stdlib}", sysconfig.get_paths()["stdlib"]) if isinstance(value, str) else value


def _below(located: Located, path: Keys, data: Any) -> Located:
    """The part of a file at a path, with other data but the same lines."""
    place = located.place
    for key in path:
        inside = place.inside
        if isinstance(inside, dict) and key in inside:
            place = inside[str(key)]
        elif isinstance(inside, list) and isinstance(key, int) and key < len(inside):
            place = inside[key]
    return Located(located.name, data, place)
