"""bakeoff.yaml → a validated plan of systems. Nothing is read, embedded or connected to here."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from bakeoff import registry
from bakeoff.config import yaml_document
from bakeoff.config.experiment_file import ExperimentFile
from bakeoff.config.modes import Hybrid
from bakeoff.config.plan import OWN_MODELS, ModelFile, Plan, PluginSpec, RetrievalSpec, System, fits_words
from bakeoff.config.plugin_spec import PluginSpecReader
from bakeoff.config.systems import SystemReader
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import DataError, ExperimentError, UserError
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.presets import Preset
from bakeoff.measures.presets import preset as find_preset
from bakeoff.types import Json, Unit


def load(path: Path, models: ModelFile = OWN_MODELS) -> Plan:
    """Load the plan of an experiment file; every mistake is an error with line, key and remedy."""
    if path.is_dir():
        path = path / "bakeoff.yaml"
    if not path.exists():
        raise ExperimentError(f"{path} does not exist. Write one with: bakeoff init FOLDER")
    located = yaml_document.read(path, ExperimentError, name=path.name)
    reader = _Reader(located, path.resolve().parent, models)
    plan = reader.plan(path.read_text(encoding="utf-8"))
    return replace(plan, file=path.name)


def executor(text: str, name: str = "--executor") -> PluginSpec:
    """Parse an executor such as `ray` or `{ray: {workers: 2}}`; `name` is used in error messages."""
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
        self._systems = SystemReader(located, self._read, self._file, folder, models)

    def plan(self, text: str) -> Plan:
        preset = self._preset(self._file.preset) if self._file.preset else None
        measures = self._measures(preset)
        self._check_tuned(self._systems.ways(), measures[0])
        self._check_margin(measures[0])
        self._check_compared_readers(measures)
        systems = self._systems.systems()
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
            models=self._systems.models_text(),
            readings=self._systems.readings(),
            model_file=self._models,
        )

    def _settings(self, preset: Preset | None) -> ExperimentFile:
        """The file's settings, with the preset's number of runs and depths as defaults."""
        written = self._file.model_fields_set
        if "top_k" in written and sorted(set(self._file.top_k)) != self._file.top_k:
            self._read.refuse(("top_k",), f"top_k is {self._file.top_k}; it must grow, as in [1, 3, 5, 10].")
        if self._file.top_k and self._file.retrievers:
            self._read.refuse(
                ("retrievers",), "top_k ingests again for each run, which a retriever can't. Remove one."
            )
        if preset is None:
            return self._file
        usual = {"runs": preset.runs, "top_k": list(preset.top_k)}
        chosen = {name: value for name, value in usual.items() if name not in written}
        return self._file.model_copy(update={"preset": preset.name, **chosen})

    def executor(self) -> PluginSpec | None:
        executor = self._file.executor
        return None if executor is None else self._read.part("executors", ("executor",), executor)

    def _check_compared_readers(self, measures: tuple[str, ...]) -> None:
        """Raise for measures of chunks or sections if readers are compared: these differ from reader to reader."""
        if len(self._systems.readings()) < 2:
            return
        for name in map(parse, measures):
            if name.needs is RequiredInput.JUDGMENTS and name.unit in (Unit.CHUNK, Unit.SECTION):
                self._read.refuse(
                    ("measures",),
                    f"{name} counts {name.unit}s, which differ from reader to reader. Measure documents or answers.",
                )

    def _check_current(self, systems: tuple[System, ...]) -> None:
        """Raise unless the system in use today is one of the experiment's."""
        name = self._file.current
        if name is None:
            return
        labels = [system.label for system in systems]
        matches = [label for label in labels if fits_words(label, name)]
        if name not in labels and len(matches) != 1:
            why = f"matches {len(matches)} systems" if matches else "matches no system"
            self._read.refuse(("current",), f"{name!r} {why}. Systems: {'; '.join(matches or labels)}.")

    def _check_tuned(self, ways: Iterable[RetrievalSpec], primary: str) -> None:
        """Raise unless the primary measure, on which a weight is tuned, is scored against judgments."""
        tuned = [way for way in ways if isinstance(way.mode.params, Hybrid) and way.mode.params.tuned]
        if tuned and parse(primary).needs is not RequiredInput.JUDGMENTS:
            self._read.refuse(
                ("measures", "primary"),
                f"{primary} is not scored against judgments, so no weight can be tuned on it. Choose "
                "another primary measure, or set the weight.",
            )

    def _check_margin(self, primary: str) -> None:
        """Raise if the margin is as large as the primary measure's range: it is in points, not percent."""
        margin, measured = self._file.decide.margin, parse(primary).definition
        if margin >= measured.high - measured.low:
            self._read.refuse(
                ("decide", "margin"),
                f"the margin is {margin:g}, but {primary} is between {measured.low:g} and {measured.high:g}. "
                "Write points: .02 gives up two of a hundred.",
            )

    def _source(self) -> PluginSpec:
        name, settings = _named_source(self._file.corpus)
        written = "corpus" in self._file.model_fields_set
        if not written and self._file.chunks is not None:
            name, settings = "chunks", {key: value for key, value in self._file.chunks.items() if key != "as"}
        elif not written:
            self._read.refuse(
                (), 'the key "corpus" is missing: name the documents, as in corpus: {folder: docs}.'
            )
        plugin = self._read.plugin("sources", name, ("corpus",))
        params = self._read.validate(
            plugin.Params, {k: _expand_variables(v) for k, v in settings.items()}, ("corpus",)
        )
        paths = {k: self._path(v) for k, v in params if isinstance(v, Path)}
        return PluginSpec("sources", name, name, params.model_copy(update=paths))

    def _conventions(self, preset: Preset | None) -> Conventions:
        """The preset's conventions, or the defaults, with the file's changes."""
        try:
            return (preset.conventions if preset else DEFAULT).with_values(self._file.conventions)
        except DataError as exc:
            raise ExperimentError(f"{self._located.where(('conventions',))}: {exc}") from exc

    def _measures(self, preset: Preset | None) -> tuple[str, ...]:
        """The file's measures; if there are none, the preset's, its primary first.

        A preset's label measures belong to its review, after the run.
        """
        chosen = [self._file.measures.primary, *self._file.measures.also]
        if preset and "measures" not in self._file.model_fields_set:
            at_once = [str(m) for m in preset.measures if m.definition.needs is not RequiredInput.LABELS]
            chosen = [preset.primary, *at_once]
        named = tuple(dict.fromkeys(self._measure(name, i) for i, name in enumerate(chosen)))
        return tuple(dict.fromkeys((*named, *self._beside(named))))

    def _beside(self, named: tuple[str, ...]) -> Iterator[str]:
        """Measures added automatically: section accuracy without universal sections (F11), the reading cost
        of chunks (F08)."""
        measures = [parse(name) for name in named]
        for measure in measures:
            if measure.name == "SecAcc":
                yield str(replace(measure, name="SecAcc_primary"))
        ways_to_cut = len(self._file.retrievers) + (
            0 if self._systems.retrievers_only() else len(self._file.chunkers)
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


def _named_source(corpus: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
    """The source of a corpus and its parameters: named by `source`, else the first key that is a source's name.

    That key's value is the parameter of the same name, or a mapping of parameters.
    """
    params = dict(corpus)
    if "source" in params:
        return str(params.pop("source")), params
    name = next((key for key in params if key in registry.names("sources")), "folder")
    inner = params.get(name)
    return (name, {**params.pop(name), **params}) if isinstance(inner, dict) else (name, params)


def _expand_variables(value: Json) -> Json:
    return value.replace("${stdlib}", sysconfig.get_paths()["stdlib"]) if isinstance(value, str) else value
