"""The systems of an experiment: every combination of its parts, and its retrievers, each with a label."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config import models_toml
from bakeoff.config.experiment_file import ExperimentFile, RawSpec
from bakeoff.config.modes import MODES, RETRIEVER
from bakeoff.config.pipelines import ModeReader, encoder_names, stores_of
from bakeoff.config.plan import (
    RETRIEVERS,
    USUAL_READING,
    ModelFile,
    PluginSpec,
    Reading,
    RetrievalSpec,
    System,
)
from bakeoff.config.plugin_spec import PluginSpecReader, short
from bakeoff.config.vector_forms import FormReader, fit_rescore
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import SettingError, UserError
from bakeoff.protocols import HOLDS, SupportsHybrid
from bakeoff.types import VectorKind

COMBINED = frozenset(
    {"chunks", "chunkers", "embedders", "encoders", "models", "stores", "modes", "mode", "rerankers"}
)
"""Keys of combinations; a file with retrievers and none of these has retrievers only."""


EXISTING = "existing"
"""The chunker for chunks made elsewhere."""
NAMES: dict[VectorKind, str] = {"dense": "dense", "sparse": "sparse", "tokens": "token"}
"""Display names of the kinds of vectors."""


class SystemReader:
    """Combines the parts of one experiment file into systems."""

    def __init__(
        self,
        located: YamlDocument,
        read: PluginSpecReader,
        file: ExperimentFile,
        folder: Path,
        models: ModelFile,
    ) -> None:
        self._located, self._read, self._file = located, read, file
        self._folder, self._models = folder, models
        self._forms = FormReader(read, file.metric)

    def systems(self) -> tuple[System, ...]:
        """The combinations in file order, then the retrievers; labels are unique."""
        systems = (*(() if self.retrievers_only() else self._combinations()), *self._retrievers())
        self._check_labels(systems)
        return systems

    def _combinations(self) -> Iterator[System]:
        embedders = self._embedders()
        chunkers = self._chunkers(embedders)
        placed = self._part_forms("stores")
        stores = [(part, search) for place, part in placed for search in self._searches(place, part)]
        ways = self.ways()
        self._check_stores(ways, placed)
        models = {"dense": embedders, **self._encoders(ways)}
        if any(MODES[way.mode.name].vectors == "dense" for way in ways):
            self._check_forms(embedders, placed)
        for chunker, way in itertools.product(chunkers, ways):
            one = System(
                chunker,
                way.mode,
                keyword=way.keyword,
                keyword_search=way.keyword_search,
                encoder=way.encoder,
                depth=way.depth,
                rerank=way.rerank,
            )
            kind = MODES[way.mode.name].vectors
            if kind is None:
                yield _label_system(one, many=False)
                continue
            for embedder, (store, search) in itertools.product(models[kind], self._able(way, stores)):
                fitted = fit_rescore(embedder, store)
                if fitted == store or fitted.label not in {other.label for other, _ in stores}:
                    yield _label_system(
                        replace(one, embedder=embedder, store=fitted, search=search), many=len(stores) > 1
                    )

    def retrievers_only(self) -> bool:
        """Whether the file names retrievers, and nothing that combinations need."""
        return bool(self._file.retrievers) and not self._file.model_fields_set & COMBINED

    def readings(self) -> tuple[Reading, ...]:
        """Every combination of the readers that the file names, by kind; a single default one if there are none."""
        named = {kind: self._readers(kind, specs) for kind, specs in self._file.readers.items()}
        found = [dict(zip(named, parts, strict=True)) for parts in itertools.product(*named.values())]
        return tuple(
            Reading(
                " + ".join(part.label for kind, part in parts.items() if len(named[kind]) > 1),
                tuple(parts.items()),
            )
            for parts in found
        )

    def _readers(self, kind: str, specs: RawSpec | list[RawSpec]) -> list[PluginSpec]:
        """The readers of one kind of files, checked to support it."""
        listed = specs if isinstance(specs, list) else [specs]
        if not listed:
            self._read.refuse(("readers", kind), f"{kind} has no reader. Give at least one, or remove it.")
        parts: list[PluginSpec] = []
        for i, one in enumerate(listed):
            at: Keys = ("readers", kind, i) if isinstance(specs, list) else ("readers", kind)
            part = self._read.part("readers", at, one)
            kinds = registry.load("readers", part.name).kinds
            if kind not in kinds:
                self._read.refuse(at, f"{part.name} does not read {kind}. It reads: {', '.join(kinds)}.")
            if part.label in {other.label for other in parts}:
                self._read.refuse(at, f"{part.label} is listed twice for {kind}. Remove one.")
            parts.append(part)
        return parts

    def _read_chunkers(self) -> list[PluginSpec]:
        """Every chunker on every reading; the reading is in the label if there are several."""
        chunkers, readings = self._parts("chunkers"), self.readings()
        if readings == (USUAL_READING,):
            return chunkers
        return [
            replace(one, label=" · ".join(filter(None, (reading.label, one.label))), reading=reading)
            for reading in readings
            for one in chunkers
        ]

    def _retrievers(self) -> Iterator[System]:
        """The existing searches, each by its name or the user's."""
        seen: set[str] = set()
        for i, spec in enumerate(self._file.retrievers):
            name, params = self._read.split((RETRIEVERS, i), spec)
            at: Keys = (RETRIEVERS, i, name) if isinstance(spec, dict) else (RETRIEVERS, i)
            part = self._read.build(RETRIEVERS, name, params, at, str(params.get("as", name)))
            if part.label in seen:
                self._read.refuse(at, f"two retrievers are called {part.label}. Name one with as: NAME.")
            seen.add(part.label)
            mode = PluginSpec("modes", RETRIEVER.name, RETRIEVER.name, RETRIEVER.params())
            yield System(part, mode, label=part.label)

    def _chunkers(self, embedders: list[PluginSpec]) -> list[PluginSpec]:
        """The chunkers, and the existing chunks; only those if no chunker is named."""
        settings = self._file.chunks
        if settings is None:
            return self._read_chunkers()
        label = str(settings.get("as", "chunks"))
        part = self._read.build("chunkers", EXISTING, settings, ("chunks",), label)
        model, labels = getattr(part.params, "model", ""), [one.full.label for one in embedders]
        if model and model not in labels:
            self._read.refuse(
                ("chunks", "model"),
                f"{model!r} made the vectors, so it must embed the questions. Add it to embedders: "
                f"{', '.join(labels)}.",
            )
        others = self._read_chunkers() if "chunkers" in self._file.model_fields_set else []
        return self._distinct("chunkers", [part, *others])

    def _embedders(self) -> list[PluginSpec]:
        """The models of `embedders`, of the models file, or of both."""
        path, only = self._models_path(), self._models.only
        if path is None:
            if only:
                raise SettingError(
                    f"--models-only {','.join(only)} needs a models.toml. Add --models FILE, or models: "
                    f"FILE to {self._located.name}."
                )
            return self._parts("embedders")
        both = self._models.path is None and "embedders" in self._file.model_fields_set
        listed = self._parts("embedders") if both else []
        try:
            chosen = models_toml.read_available(path, only)
        except UserError as exc:
            where = "--models" if self._models.path else self._located.where(("models",))
            raise type(exc)(f"{where}: {exc}") from exc
        specs = [self._read.part("embedders", ("models",), choice.as_spec()) for choice in chosen]
        twice = {one.label for one in listed} & {one.label for one in specs}
        if twice:
            self._read.refuse(("models",), f"{min(twice)} is in embedders too. Remove one.")
        return [*listed, *specs]

    def _models_path(self) -> Path | None:
        """The requested models file, else the experiment's."""
        named = self._file.models
        return self._models.path or (
            (self._folder / named.expanduser()).resolve() if named is not None else None
        )

    def models_text(self) -> str:
        """Text of the models file; '' if there is none."""
        path = self._models_path()
        return path.read_text(encoding="utf-8") if path is not None else ""

    def ways(self) -> list[RetrievalSpec]:
        """How queries are answered, in file order."""
        file = self._file
        if file.mode is not None and "modes" in file.model_fields_set:
            self._read.refuse(("mode",), "mode and modes both say how to search. Keep one of them.")
        listed = file.modes if file.mode is None else [file.mode]
        reader = ModeReader(self._read, listed, self._parts("rerankers"), file.depth)
        ways: list[RetrievalSpec] = []
        for i, spec in enumerate(listed):
            at: Keys = ("modes", i) if file.mode is None else ("mode",)
            for way in reader.ways(at, spec):
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
        """The stores a mode can use: not every store holds its vectors, or fuses by itself."""
        kind = MODES[way.mode.name].vectors or "dense"
        stores = [one for one in stores if _holds(one[0], kind)]
        if "native" not in MODES[way.mode.name].legs:
            return stores
        if any(one.form.rescore for one, _ in stores):
            self._read.refuse(
                ("stores",),
                f"{way.mode.name} fuses inside the store, where candidates cannot be rescored. Remove rescore, or use "
                "hybrid.",
            )
        own = [one for one in stores if one[0].existing is None]
        able = [one for one in own if issubclass(registry.load("stores", one[0].name), SupportsHybrid)]
        if not able:
            names = ", ".join(dict.fromkeys(store.name for store, _ in stores))
            self._read.refuse(
                ("stores",),
                f"{way.mode.name} needs a store that fuses by itself; {names} cannot. Use hybrid.",
            )
        return able

    def _parts(self, kind: str) -> list[PluginSpec]:
        return [part for _, part in self._part_forms(kind)]

    def _part_forms(self, kind: str) -> list[tuple[int, PluginSpec]]:
        """Parts of a kind in each of their vector forms, with their positions in the file."""
        specs: list[RawSpec] = getattr(self._file, kind)
        found = [(i, one) for i, item in enumerate(specs) for one in self._forms.parts(kind, (kind, i), item)]
        self._distinct(kind, [part for _, part in found], [place for place, _ in found])
        return found

    def _check_forms(self, embedders: list[PluginSpec], stores: list[tuple[int, PluginSpec]]) -> None:
        """Raise for vector forms that the rest of the file can't use."""
        for place in dict.fromkeys(place for place, _ in stores):
            entry = [part for other, part in stores if other == place]
            self._forms.check_rescored(("stores", place), entry, embedders)
        if self._file.top_k and any(part.form.small for part in (*embedders, *(one for _, one in stores))):
            self._read.refuse(("top_k",), "top_k ingests full vectors only. Remove it, or dims and storage.")

    def _distinct(
        self, kind: str, parts: list[PluginSpec], places: Sequence[int] | None = None
    ) -> list[PluginSpec]:
        seen: set[str] = set()
        for i, part in zip(places or range(len(parts)), parts, strict=True):
            if part.label in seen:
                self._read.refuse(
                    (kind, i),
                    f"{part.label} is listed twice in {kind}. Remove one, or name one with as: NAME.",
                )
            seen.add(part.label)
        return parts

    def _searches(self, place: int, store: PluginSpec) -> list[BaseModel]:
        """One set of query arguments per combination of listed values."""
        plugin = registry.load("stores", store.name)
        name, params = self._read.split(("stores", place), self._file.stores[place])
        at = ("stores", place, name, "query")
        choices = itertools.product(*self._read.options(params.get("query"), at))
        return [self._read.validate(plugin.Query, dict(choice), at) for choice in choices]

    def _check_labels(self, systems: tuple[System, ...]) -> None:
        seen: set[str] = set()
        for system in systems:
            if system.label in seen:
                self._read.refuse(
                    (),
                    f"two systems would be called {system.label!r}. Name their parts with as: NAME.",
                )
            seen.add(system.label)

    def _check_stores(self, ways: list[RetrievalSpec], placed: list[tuple[int, PluginSpec]]) -> None:
        """Raise for a store that no mode can use, and a mode whose vectors no listed store holds."""
        kinds = {kind: way.mode.name for way in ways if (kind := MODES[way.mode.name].vectors) is not None}
        places, stores = [place for place, _ in placed], [store for _, store in placed]
        held = [[kind for kind in HOLDS if _holds(store, kind)] for store in stores]
        for i, store in enumerate(stores if kinds else []):
            if not held[i]:
                why = f"{store.name} searches by words only. Remove it; the modes bm25 and hybrid use it."
                self._read.refuse(("stores", places[i]), why)
        for kind, mode in kinds.items():
            if not any(kind in one for one in held):
                names = ", ".join(store.name for store in stores)
                why = f"{mode} needs a store of {NAMES[kind]} vectors, which {names} cannot hold."
                self._read.refuse(("stores",), f"{why} Choose from: {', '.join(stores_of(kind))}.")
        for i, store in enumerate(stores if kinds else []):
            if not kinds.keys() & set(held[i]):
                why = f"{store.name} holds {NAMES[held[i][0]]} vectors, which no listed mode uses."
                self._read.refuse(("stores", places[i]), f"{why} Remove it, or add a mode.")

    def _encoders(self, ways: list[RetrievalSpec]) -> dict[VectorKind, list[PluginSpec]]:
        """The listed encoders by kind; raises unless each needed kind has one and no other is listed."""
        found: dict[VectorKind, list[PluginSpec]] = {"sparse": [], "tokens": []}
        wanted = {MODES[way.mode.name].vectors: way.mode.name for way in ways}
        for i, part in enumerate(self._parts("encoders")):
            kind = registry.load("encoders", part.name).vectors
            found[kind].append(part)
            if kind not in wanted:
                mode = next(name for name, one in MODES.items() if one.vectors == kind)
                self._read.refuse(
                    ("encoders", i),
                    f"{part.label} is for the mode {mode}, which is not listed. Add it to modes.",
                )
        for kind, parts in found.items():
            if kind in wanted and not parts:
                self._read.refuse(
                    ("modes",),
                    f"{wanted[kind]} needs an encoder of {NAMES[kind]} vectors. Add encoders: "
                    f"[{encoder_names(kind)[0]}], or another of: {', '.join(encoder_names(kind))}.",
                )
        return found


def _holds(store: PluginSpec, kind: VectorKind) -> bool:
    """Whether a store can hold a kind of vectors; existing collections and quantised stores hold dense ones."""
    plugin = registry.load("stores", store.name)
    plain = store.existing is None and not store.form.small and not store.form.rescore
    return issubclass(plugin, HOLDS[kind]) and (plain or kind == "dense")


def _label_system(system: System, *, many: bool) -> System:
    """The system with its label; the store is named if there are several, or its form is small."""
    label = _join_labels(system, many=many or system.form.storage != "float32" or bool(system.form.rescore))
    if not system.form.small or system.embedder is None or system.store is None:
        return replace(system, label=label, family=label)
    full = replace(system, embedder=system.embedder.full, store=system.store.full)
    return replace(system, label=label, family=_join_labels(full, many=many))


def _join_labels(system: System, *, many: bool) -> str:
    store = f"{system.store.label}{_settings(system.search)}" if system.store and many else ""
    embedder = system.embedder.label if system.embedder else ""
    looks = (one.label for one in system.rerank)
    words = (system.chunker.label, embedder, store, system.mode.label, *looks)
    return " · ".join(word for word in words if word)


def _way_label(way: RetrievalSpec) -> str:
    return " · ".join((way.mode.label, *(one.label for one in way.rerank)))


def _settings(search: BaseModel | None) -> str:
    chosen = search.model_dump(exclude_defaults=True) if search is not None else {}
    return f"[{short(chosen)}]" if chosen else ""
