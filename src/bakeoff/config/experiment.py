"""bakeoff.yaml → a validated plan of systems. Nothing is read, embedded or connected to here."""

from __future__ import annotations

import itertools
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config import models_toml, yaml_document
from bakeoff.config.modes import MODES, Hybrid
from bakeoff.config.pipelines import ModeReader
from bakeoff.config.plan import ExperimentFile, Plan, PluginSpec, RawSpec, RetrievalSpec, System, fits_words
from bakeoff.config.plugin_spec import PluginSpecReader, label, short
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import DataError, ExperimentError, SettingError, UserError
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.presets import Preset
from bakeoff.measures.presets import preset as find_preset
from bakeoff.protocols import SupportsHybrid, SupportsVectors
from bakeoff.types import Unit


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A models.toml instead of an experiment's models (None for the experiment's own), and the models to run of it."""

    path: Path | None = None
    only: tuple[str, ...] = ()


OWN_MODELS = ModelFile()
"""All models that the experiment names itself."""


def load(path: Path, models: ModelFile = OWN_MODELS) -> Plan:
    """The plan of an experiment file; every mistake in it is an error that names line, key and remedy."""
    if path.is_dir():
        path = path / "bakeoff.yaml"
    if not path.exists():
        raise ExperimentError(f"{path} does not exist. Write one with: bakeoff init FOLDER")
    located = yaml_document.read(path, ExperimentError, name=path.name)
    reader = _Reader(located, path.resolve().parent, models)
    plan = reader.plan(path.read_text(encoding="utf-8"))
    return replace(plan, file=path.name)


def executor(text: str, name: str = "--executor") -> PluginSpec:
    """The executor that a text names, as `ray` or `{ray: {workers: 2}}`; `name` stands in error messages."""
    located = yaml_document.parse(text, name, ExperimentError)
    if not isinstance(located.data, str | dict):
        raise ExperimentError(
            f"{name}: {text!r} should name an executor, as in ray or {{ray: {{workers: 2}}}}."
        )
    return PluginSpecReader(located, Path.cwd()).part("executors", (), located.data)


class _Reader:
    """Turns the parts of one experiment file into a plan."""

    def __init__(self, located: YamlDocument, folder: Path, models: ModelFile = OWN_MODELS) -> None:
        self._located, self._read = located, PluginSpecReader(located, folder)
        self._folder, self._models = folder, models
        self._file = yaml_document.validate_model(ExperimentFile, located, ExperimentError)

    def plan(self, text: str) -> Plan:
        preset = self._preset(self._file.preset) if self._file.preset else None
        measures = self._measures(preset)
        self._check_tuned(self._ways(), measures[0])
        systems = tuple(self._systems())
        self._check_labels(systems)
        self._check_current(systems)
        return Plan(
            name=self._file.name or self._folder.name,
            text=text,
            folder=self._folder,
            source=self._source(),
            queries=self._path(self._file.queries),
            systems=systems,
            primary=measures[0],
            measures=measures,
            settings=self._settings(preset),
            executor=self.executor(),
            conventions=self._conventions(preset),
            models=self._models_text(),
        )

    def _settings(self, preset: Preset | None) -> ExperimentFile:
        """The file's settings; where it is silent, the preset's number of runs and depths, under the preset's name."""
        written = self._file.model_fields_set
        if "top_k" in written and sorted(set(self._file.top_k)) != self._file.top_k:
            self._read.refuse(("top_k",), f"top_k is {self._file.top_k}; it must grow, as in [1, 3, 5, 10].")
        if preset is None:
            return self._file
        usual = {"runs": preset.runs, "top_k": list(preset.top_k)}
        chosen = {name: value for name, value in usual.items() if name not in written}
        return self._file.model_copy(update={"preset": preset.name, **chosen})

    def executor(self) -> PluginSpec | None:
        given = self._file.executor
        return None if given is None else self._read.part("executors", ("executor",), given)

    def _systems(self) -> Iterator[System]:
        chunkers = self._parts("chunkers")
        embedders = self._embedders()
        stores = [(p, s) for p in self._parts("stores") for s in self._searches(p)]
        ways = self._ways()
        if any(MODES[way.mode.name].vectors for way in ways):
            self._check_vectors()
        for chunker, way in itertools.product(chunkers, ways):
            one = System(
                chunker,
                way.mode,
                keyword=way.keyword,
                keyword_search=way.keyword_search,
                depth=way.depth,
                rerank=way.rerank,
            )
            if not MODES[way.mode.name].vectors:
                yield _label_system(one, many=False)
                continue
            for embedder, (store, search) in itertools.product(embedders, self._able(way, stores)):
                yield _label_system(
                    replace(one, embedder=embedder, store=store, search=search), many=len(stores) > 1
                )

    def _embedders(self) -> list[PluginSpec]:
        """The models: those of `embedders`, of the file of models, or of both where both are written."""
        path, only = self._models_path(), self._models.only
        if path is None:
            if only:
                raise SettingError(
                    f"--models-only {','.join(only)} needs a models.toml. Add --models FILE, or write models: FILE "
                    f"into {self._located.name}."
                )
            return self._parts("embedders")
        both = self._models.path is None and "embedders" in self._file.model_fields_set
        listed = self._parts("embedders") if both else []
        try:
            chosen = models_toml.read_available(path, only)
        except UserError as exc:
            where = "--models" if self._models.path else self._located.where(("models",))
            raise type(exc)(f"{where}: {exc}") from exc
        made = [self._read.part("embedders", ("models",), choice.given()) for choice in chosen]
        twice = {one.label for one in listed} & {one.label for one in made}
        if twice:
            self._read.refuse(("models",), f"{min(twice)} is in embedders too. Remove one.")
        return [*listed, *made]

    def _models_path(self) -> Path | None:
        """The file of models that was asked for, else the one the experiment names."""
        named = self._file.models
        return self._models.path or (self._path(named) if named is not None else None)

    def _models_text(self) -> str:
        path = self._models_path()
        return path.read_text(encoding="utf-8") if path is not None else ""

    def _ways(self) -> list[RetrievalSpec]:
        """How queries are answered, in the order of the file."""
        file = self._file
        if file.mode is not None and "modes" in file.model_fields_set:
            self._read.refuse(("mode",), "mode and modes both say how to search. Keep one of them.")
        listed = file.modes if file.mode is None else [file.mode]
        reader = ModeReader(self._read, self._parts("rerankers"), file.depth)
        ways: list[RetrievalSpec] = []
        for i, given in enumerate(listed):
            at: Keys = ("modes", i) if file.mode is None else ("mode",)
            for way in reader.ways(at, given):
                self._distinct_way(at, way, ways)
                ways.append(way)
        return ways

    def _distinct_way(self, at: Keys, way: RetrievalSpec, others: list[RetrievalSpec]) -> None:
        if _way_label(way) in map(_way_label, others):
            self._read.refuse(
                at, f"{_way_label(way)} is listed twice in {at[0]}. Remove one, or name one with as: NAME."
            )

    def _able(
        self, way: RetrievalSpec, stores: list[tuple[PluginSpec, BaseModel]]
    ) -> list[tuple[PluginSpec, BaseModel]]:
        """The stores a mode can use: fusing by itself is not every store's."""
        if "native" not in MODES[way.mode.name].legs:
            return stores
        able = [one for one in stores if issubclass(registry.load("stores", one[0].name), SupportsHybrid)]
        if not able:
            names = ", ".join(dict.fromkeys(store.name for store, _ in stores))
            self._read.refuse(
                ("stores",),
                f"{way.mode.name} needs a store that fuses by itself; {names} cannot. Use hybrid.",
            )
        return able

    def _parts(self, kind: str) -> list[PluginSpec]:
        given: list[RawSpec] = getattr(self._file, kind)
        return self._distinct(kind, [self._read.part(kind, (kind, i), item) for i, item in enumerate(given)])

    def _distinct(self, kind: str, parts: list[PluginSpec]) -> list[PluginSpec]:
        seen: set[str] = set()
        for i, part in enumerate(parts):
            if part.label in seen:
                self._read.refuse((kind, i), f"{part.label} is listed twice in {kind}. Remove one.")
            seen.add(part.label)
        return parts

    def _searches(self, store: PluginSpec) -> list[BaseModel]:
        """One set of query arguments for each combination of the listed values."""
        plugin = registry.load("stores", store.name)
        for i, given in enumerate(self._file.stores):
            name, params = self._read.split(("stores", i), given)
            if label(name, params) != store.label:
                continue
            at = ("stores", i, name, "query")
            choices = itertools.product(*self._read.options(params.get("query"), at))
            return [self._read.validated(plugin.Query, dict(choice), at) for choice in choices]
        return [plugin.Query()]

    def _check_labels(self, systems: tuple[System, ...]) -> None:
        seen: set[str] = set()
        for system in systems:
            if system.label in seen:
                self._read.refuse(
                    (), f"two systems would be called {system.label!r}. Name their parts apart with as: NAME."
                )
            seen.add(system.label)

    def _check_current(self, systems: tuple[System, ...]) -> None:
        """The system in use today is one of the experiment's."""
        name = self._file.current
        if name is None:
            return
        labels = [system.label for system in systems]
        found = [label for label in labels if fits_words(label, name)]
        if name not in labels and len(found) != 1:
            why = f"fits {len(found)} systems" if found else "fits no system"
            self._read.refuse(("current",), f"{name!r} {why}. Systems: {'; '.join(found or labels)}.")

    def _check_tuned(self, ways: Iterable[RetrievalSpec], primary: str) -> None:
        """A weight is tuned on the primary measure, so that must be scored against judgments."""
        tuned = [way for way in ways if isinstance(way.mode.params, Hybrid) and way.mode.params.tuned]
        if tuned and parse(primary).needs is not RequiredInput.JUDGMENTS:
            self._read.refuse(
                ("measures", "primary"),
                f"{primary} is not scored against judgments, so no weight can be tuned on it. "
                "Choose another primary measure, or give the weight.",
            )

    def _check_vectors(self) -> None:
        for i, store in enumerate(self._parts("stores")):
            if not issubclass(registry.load("stores", store.name), SupportsVectors):
                why = f"{store.name} searches by words only. Leave it out; the modes bm25 and hybrid use it."
                self._read.refuse(("stores", i), why)

    def _source(self) -> PluginSpec:
        given = dict(self._file.corpus)
        name = str(given.pop("source", "folder"))
        plugin = self._read.plugin("sources", name, ("corpus",))
        params = self._read.validated(
            plugin.Params, {k: _expand_variables(v) for k, v in given.items()}, ("corpus",)
        )
        paths = {k: self._path(v) for k, v in params if isinstance(v, Path)}
        return PluginSpec("sources", name, name, params.model_copy(update=paths))

    def _conventions(self, preset: Preset | None) -> Conventions:
        """The preset's conventions, or the usual ones, with what the file changes of them."""
        try:
            return (preset.conventions if preset else DEFAULT).changed(self._file.conventions)
        except DataError as exc:
            raise ExperimentError(f"{self._located.where(('conventions',))}: {exc}") from exc

    def _measures(self, preset: Preset | None) -> tuple[str, ...]:
        """What the file names; where it names none, what its preset reports, the preset's own primary first.

        A preset's measures of people's labels are those of its review, which comes after the run.
        """
        chosen = [self._file.measures.primary, *self._file.measures.also]
        if preset and "measures" not in self._file.model_fields_set:
            at_once = [str(m) for m in preset.measures if m.definition.needs is not RequiredInput.LABELS]
            chosen = [preset.primary, *at_once]
        named = tuple(dict.fromkeys(self._measure(name, i) for i, name in enumerate(chosen)))
        return tuple(dict.fromkeys((*named, *self._beside(named))))

    def _beside(self, named: tuple[str, ...]) -> Iterator[str]:
        """What must be seen too: section accuracy without universal sections (F11), what chunks cost to read (F08)."""
        measures = [parse(name) for name in named]
        for measure in measures:
            if measure.name == "SecAcc":
                yield str(replace(measure, name="SecAcc_primary"))
        if len(self._file.chunkers) > 1 and not any(measure.name == "tokens" for measure in measures):
            yield str(Measure("tokens", k=measures[0].k or 10, unit=Unit.CHUNK))

    def _preset(self, name: str) -> Preset:
        try:
            return find_preset(name)
        except UserError as exc:
            raise ExperimentError(f"{self._located.where(('preset',))}: {exc}") from exc

    def _measure(self, name: str, position: int) -> str:
        at: Keys = ("measures", "also", position - 1) if position else ("measures", "primary")
        try:
            measure = parse(name)
        except UserError as exc:
            raise type(exc)(f"{self._located.where(at)}: {exc}") from exc
        if measure.unit is None and measure.definition.needs is RequiredInput.JUDGMENTS:
            measure = measure.at_unit(Unit.DOCUMENT)
        return str(measure)

    def _path(self, path: Path) -> Path:
        return (self._folder / path.expanduser()).resolve()


def _label_system(system: System, *, many: bool) -> System:
    """The system with its label; the store is named where there is a choice of stores."""
    store = f"{system.store.label}{_settings(system.search)}" if system.store and many else ""
    embedder = system.embedder.label if system.embedder else ""
    looks = (one.label for one in system.rerank)
    words = (system.chunker.label, embedder, store, system.mode.label, *looks)
    return replace(system, label=" · ".join(word for word in words if word))


def _way_label(way: RetrievalSpec) -> str:
    return " · ".join((way.mode.label, *(one.label for one in way.rerank)))


def _settings(search: BaseModel | None) -> str:
    chosen = search.model_dump(exclude_defaults=True) if search is not None else {}
    return f"[{short(chosen)}]" if chosen else ""


def _expand_variables(value: Any) -> Any:
    return value.replace("${stdlib}", sysconfig.get_paths()["stdlib"]) if isinstance(value, str) else value
