"""bakeoff.yaml → a validated plan of systems. Nothing is read, embedded or connected to here."""

from __future__ import annotations

import itertools
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config import models_toml, yaml_document
from bakeoff.config.modes import MODES, RETRIEVER, Hybrid
from bakeoff.config.pipelines import ModeReader, encoder_names, stores_of
from bakeoff.config.plan import (
    OWN_MODELS,
    RETRIEVERS,
    USUAL_READING,
    ExperimentFile,
    ModelFile,
    Plan,
    PluginSpec,
    RawSpec,
    Reading,
    RetrievalSpec,
    System,
    fits_words,
)
from bakeoff.config.plugin_spec import PluginSpecReader, short
from bakeoff.config.vector_forms import FormReader, fit_rescore
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import DataError, ExperimentError, SettingError, UserError
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.presets import Preset
from bakeoff.measures.presets import preset as find_preset
from bakeoff.protocols import HOLDS, SupportsHybrid
from bakeoff.types import Json, Unit, VectorKind

COMBINED = frozenset(
    {"chunks", "chunkers", "embedders", "encoders", "models", "stores", "modes", "mode", "rerankers"}
)
"""The keys of combinations; a file with retrievers and none of these has retrievers only."""


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
    """The executor that a text names, such as `ray` or `{ray: {workers: 2}}`; `name` is used in error messages."""
    located = yaml_document.parse(text, name, ExperimentError)
    if not isinstance(located.data, str | dict):
        raise ExperimentError(
            f"{name}: {text!r} should name an executor, as in ray or {{ray: {{workers: 2}}}}."
        )
    return PluginSpecReader(located, Path.cwd()).part("executors", (), located.data)


EXISTING = "existing"
"""The chunker of chunks that were made elsewhere."""


class _Reader:
    """Turns the parts of one experiment file into a plan."""

    def __init__(self, located: YamlDocument, folder: Path, models: ModelFile = OWN_MODELS) -> None:
        self._located, self._read = located, PluginSpecReader(located, folder)
        self._folder, self._models = folder, models
        self._file = yaml_document.validate_model(ExperimentFile, located, ExperimentError)
        self._forms = FormReader(self._read, self._file.metric)

    def plan(self, text: str) -> Plan:
        preset = self._preset(self._file.preset) if self._file.preset else None
        measures = self._measures(preset)
        self._check_tuned(self._ways(), measures[0])
        self._check_margin(measures[0])
        self._check_compared_readers(measures)
        systems = (*(() if self._retrievers_only() else self._systems()), *self._retrievers())
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
            readings=self._readings(),
            model_file=self._models,
        )

    def _settings(self, preset: Preset | None) -> ExperimentFile:
        """The file's settings; where it is silent, the preset's number of runs and depths, under the preset's name."""
        written = self._file.model_fields_set
        if "top_k" in written and sorted(set(self._file.top_k)) != self._file.top_k:
            self._read.refuse(("top_k",), f"top_k is {self._file.top_k}; it must grow, as in [1, 3, 5, 10].")
        if self._file.top_k and self._file.retrievers:
            self._read.refuse(
                ("retrievers",), "top_k ingests anew for each run, which a retriever can't. Remove one."
            )
        if preset is None:
            return self._file
        usual = {"runs": preset.runs, "top_k": list(preset.top_k)}
        chosen = {name: value for name, value in usual.items() if name not in written}
        return self._file.model_copy(update={"preset": preset.name, **chosen})

    def executor(self) -> PluginSpec | None:
        given = self._file.executor
        return None if given is None else self._read.part("executors", ("executor",), given)

    def _readings(self) -> tuple[Reading, ...]:
        """Every combination of the readers that the file names, by kind; one without names where it names none."""
        named = {kind: self._readers(kind, given) for kind, given in self._file.readers.items()}
        found = [dict(zip(named, parts, strict=True)) for parts in itertools.product(*named.values())]
        return tuple(
            Reading(
                " + ".join(part.label for kind, part in parts.items() if len(named[kind]) > 1),
                tuple(parts.items()),
            )
            for parts in found
        )

    def _readers(self, kind: str, given: RawSpec | list[RawSpec]) -> list[PluginSpec]:
        """The readers of one kind of files, which all read it."""
        listed = given if isinstance(given, list) else [given]
        if not listed:
            self._read.refuse(("readers", kind), f"{kind} has no reader. Give at least one, or remove it.")
        parts: list[PluginSpec] = []
        for i, one in enumerate(listed):
            at: Keys = ("readers", kind, i) if isinstance(given, list) else ("readers", kind)
            part = self._read.part("readers", at, one)
            kinds = registry.load("readers", part.name).kinds
            if kind not in kinds:
                self._read.refuse(at, f"{part.name} does not read {kind}. It reads: {', '.join(kinds)}.")
            if part.label in {other.label for other in parts}:
                self._read.refuse(at, f"{part.label} is listed twice for {kind}. Remove one.")
            parts.append(part)
        return parts

    def _read_chunkers(self) -> list[PluginSpec]:
        """Every chunker on every reading; the reading is in the label where there are several."""
        chunkers, readings = self._parts("chunkers"), self._readings()
        if readings == (USUAL_READING,):
            return chunkers
        return [
            replace(one, label=" · ".join(filter(None, (reading.label, one.label))), reading=reading)
            for reading in readings
            for one in chunkers
        ]

    def _check_compared_readers(self, measures: tuple[str, ...]) -> None:
        """Chunks and sections of one reader's text are not those of another's, so their measures compare nothing."""
        if len(self._readings()) < 2:
            return
        for name in map(parse, measures):
            if name.needs is RequiredInput.JUDGMENTS and name.unit in (Unit.CHUNK, Unit.SECTION):
                self._read.refuse(
                    ("measures",),
                    f"{name} counts {name.unit}s, which differ from reader to reader. Measure documents or answers.",
                )

    def _systems(self) -> Iterator[System]:
        embedders = self._embedders()
        chunkers = self._chunkers(embedders)
        placed = self._placed("stores")
        stores = [(part, search) for place, part in placed for search in self._searches(place, part)]
        ways = self._ways()
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

    def _retrievers_only(self) -> bool:
        """Whether the file names retrievers, and nothing that a combination is made of."""
        return bool(self._file.retrievers) and not self._file.model_fields_set & COMBINED

    def _retrievers(self) -> Iterator[System]:
        """The searches that exist already, each by its name or what the user calls it."""
        seen: set[str] = set()
        for i, given in enumerate(self._file.retrievers):
            name, params = self._read.split((RETRIEVERS, i), given)
            at: Keys = (RETRIEVERS, i, name) if isinstance(given, dict) else (RETRIEVERS, i)
            part = self._read.build(RETRIEVERS, name, params, at, str(params.get("as", name)))
            if part.label in seen:
                self._read.refuse(at, f"two retrievers are called {part.label}. Name one with as: NAME.")
            seen.add(part.label)
            mode = PluginSpec("modes", RETRIEVER.name, RETRIEVER.name, RETRIEVER.params())
            yield System(part, mode, label=part.label)

    def _chunkers(self, embedders: list[PluginSpec]) -> list[PluginSpec]:
        """The chunkers, and the chunks that exist already; those alone where no chunker is written."""
        given = self._file.chunks
        if given is None:
            return self._read_chunkers()
        shown = str(given.get("as", "chunks"))
        part = self._read.build("chunkers", EXISTING, given, ("chunks",), shown)
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
        return [part for _, part in self._placed(kind)]

    def _placed(self, kind: str) -> list[tuple[int, PluginSpec]]:
        """The parts of a kind in each of their vector forms, with their places in the file."""
        given: list[RawSpec] = getattr(self._file, kind)
        found = [(i, one) for i, item in enumerate(given) for one in self._forms.parts(kind, (kind, i), item)]
        self._distinct(kind, [part for _, part in found], [place for place, _ in found])
        return found

    def _check_forms(self, embedders: list[PluginSpec], stores: list[tuple[int, PluginSpec]]) -> None:
        """Vector forms that the rest of the file has no use for."""
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
        """One set of query arguments for each combination of the listed values."""
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

    def _check_margin(self, primary: str) -> None:
        """A margin as large as the range of the primary measure would give up everything: points, not percent."""
        margin, measured = self._file.decide.margin, parse(primary).definition
        if margin >= measured.high - measured.low:
            self._read.refuse(
                ("decide", "margin"),
                f"the margin is {margin:g}, and {primary} is between {measured.low:g} and {measured.high:g}. "
                "Write points: .02 gives up two of a hundred.",
            )

    def _check_stores(self, ways: list[RetrievalSpec], placed: list[tuple[int, PluginSpec]]) -> None:
        """Refuse a store that no mode can use, and a mode whose vectors no listed store holds."""
        kinds = {kind: way.mode.name for way in ways if (kind := MODES[way.mode.name].vectors) is not None}
        places, stores = [place for place, _ in placed], [store for _, store in placed]
        held = [[kind for kind in HOLDS if _holds(store, kind)] for store in stores]
        for i, store in enumerate(stores if kinds else []):
            if not held[i]:
                why = f"{store.name} searches by words only. Leave it out; the modes bm25 and hybrid use it."
                self._read.refuse(("stores", places[i]), why)
        for kind, mode in kinds.items():
            if not any(kind in one for one in held):
                names = ", ".join(store.name for store in stores)
                why = f"{mode} needs a store of {NAMES[kind]} vectors, which {names} cannot hold."
                self._read.refuse(("stores",), f"{why} Choose from: {', '.join(stores_of(kind))}.")
        for i, store in enumerate(stores if kinds else []):
            if not kinds.keys() & set(held[i]):
                why = f"{store.name} holds {NAMES[held[i][0]]} vectors, and no listed mode uses those."
                self._read.refuse(("stores", places[i]), f"{why} Leave it out, or add a mode.")

    def _encoders(self, ways: list[RetrievalSpec]) -> dict[VectorKind, list[PluginSpec]]:
        """The listed encoders by kind of vectors; each kind that a mode needs has one, and no other is listed."""
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

    def _source(self) -> PluginSpec:
        name, given = _named_source(self._file.corpus)
        written = "corpus" in self._file.model_fields_set
        if not written and self._file.chunks is not None:
            name, given = "chunks", {key: value for key, value in self._file.chunks.items() if key != "as"}
        elif not written:
            self._read.refuse(
                (), 'the key "corpus" is missing: name the documents, as in corpus: {folder: docs}.'
            )
        plugin = self._read.plugin("sources", name, ("corpus",))
        params = self._read.validate(
            plugin.Params, {k: _expand_variables(v) for k, v in given.items()}, ("corpus",)
        )
        paths = {k: self._path(v) for k, v in params if isinstance(v, Path)}
        return PluginSpec("sources", name, name, params.model_copy(update=paths))

    def _conventions(self, preset: Preset | None) -> Conventions:
        """The preset's conventions, or the usual ones, with what the file changes of them."""
        try:
            return (preset.conventions if preset else DEFAULT).with_values(self._file.conventions)
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
        ways_to_cut = len(self._file.retrievers) + (
            0 if self._retrievers_only() else len(self._file.chunkers)
        )
        if ways_to_cut > 1 and not any(measure.name == "tokens" for measure in measures):
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


NAMES: dict[VectorKind, str] = {"dense": "dense", "sparse": "sparse", "tokens": "token"}
"""The kinds of vectors on screen."""


def _holds(store: PluginSpec, kind: VectorKind) -> bool:
    """Whether a store can hold a kind of vectors; a collection of others, or one of a small form, has dense ones."""
    plugin = registry.load("stores", store.name)
    plain = store.existing is None and not store.form.small and not store.form.rescore
    return issubclass(plugin, HOLDS[kind]) and (plain or kind == "dense")


def _named_source(corpus: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
    """The source of a corpus and its parameters: `source` names it, else the first key that is a source's name.

    The value of such a key is a parameter of that name, or a mapping of parameters.
    """
    given = dict(corpus)
    if "source" in given:
        return str(given.pop("source")), given
    name = next((key for key in given if key in registry.names("sources")), "folder")
    inner = given.get(name)
    return (name, {**given.pop(name), **given}) if isinstance(inner, dict) else (name, given)


def _label_system(system: System, *, many: bool) -> System:
    """The system with its label; the store is named where there is a choice of stores, or its form is small."""
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


def _expand_variables(value: Json) -> Json:
    return value.replace("${stdlib}", sysconfig.get_paths()["stdlib"]) if isinstance(value, str) else value
