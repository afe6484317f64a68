"""The plan of a run: the experiment's settings, and the systems that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config.experiment_file import MOST_RUNS, RERANK_DEPTH, ExperimentFile
from bakeoff.config.modes import Leg, mode_legs
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.types import FULL_FORM, ExistingCollection, Json, VectorForm

RETRIEVERS = "retrievers"
"""The plug-in kind of existing searches."""


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """One chosen plug-in with its validated parameters; `label` distinguishes it from others of its kind.

    A chunker has the `reading` whose text it splits, if the experiment names readers. The vector `form` of an
    embedder has its dimensions, that of a store the rest; `family` is then the label without it.
    """

    kind: str
    name: str
    label: str
    params: BaseModel = field(repr=False)
    existing: ExistingCollection | None = None
    reading: Reading | None = None
    form: VectorForm = FULL_FORM
    family: str = ""

    @property
    def full(self) -> PluginSpec:
        """The same part with full vectors."""
        return self if self.form == FULL_FORM else replace(self, label=self.family, form=FULL_FORM, family="")

    @property
    def indexed(self) -> PluginSpec:
        """The store without rescoring: one index serves every rescoring."""
        return replace(self, form=replace(self.form, rescore=0)) if self.form.rescore else self

    @property
    def code_module(self) -> str:
        """The module of the user's own code that it names, '' if none."""
        named = getattr(self.params, "call", "") or getattr(self.params, "object", "")
        return str(named).partition(":")[0]

    def in_language(self, language: str) -> PluginSpec:
        """The same plug-in for a language; unchanged if it has no such parameter or already has one."""
        if not language or getattr(self.params, "language", language) is not None:
            return self
        return replace(self, params=self.params.model_copy(update={"language": language}))

    def identity(self) -> list[Json]:
        """Its part of a cache key: kind, name, code version and parameters."""
        version = registry.load(self.kind, self.name).version if self.kind in registry.KINDS else "1"
        own: list[Json] = [self.kind, self.name, version, self.params.model_dump(mode="json")]
        own += [asdict(self.existing)] if self.existing else []
        return [*own, self.form.chosen()] if self.form != FULL_FORM else own


@dataclass(frozen=True, slots=True)
class Reading:
    """One choice of readers, by kind of file; `label` distinguishes it within an experiment."""

    label: str = ""
    parts: tuple[tuple[str, PluginSpec], ...] = ()

    @property
    def by_kind(self) -> dict[str, PluginSpec]:
        """The chosen reader by kind."""
        return dict(self.parts)

    def identity(self) -> list[Json]:
        """Its part of a cache key: empty if every kind has its default reader."""
        return [[kind, part.identity()] for kind, part in self.parts]


USUAL_READING = Reading()


@dataclass(frozen=True, slots=True)
class RerankSpec:
    """A reranker applied to the first `depth` passages of a ranking."""

    part: PluginSpec
    depth: int = RERANK_DEPTH
    label: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalSpec:
    """How queries are answered: the searches of a mode, their depth, and the rerankers."""

    mode: PluginSpec
    keyword: PluginSpec | None = None
    keyword_search: BaseModel | None = None
    encoder: PluginSpec | None = None
    depth: int | None = None
    rerank: tuple[RerankSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """One measured combination; `depth` is None to use the experiment's.

    A retriever is a system too: the passages it returns are its chunks, so it takes the chunker's place.
    `keyword` is the engine of a fusion's second search, by words or by an `encoder`'s sparse vectors.
    """

    chunker: PluginSpec
    mode: PluginSpec
    embedder: PluginSpec | None = None
    store: PluginSpec | None = None
    search: BaseModel | None = None
    keyword: PluginSpec | None = None
    keyword_search: BaseModel | None = None
    encoder: PluginSpec | None = None
    depth: int | None = None
    rerank: tuple[RerankSpec, ...] = ()
    label: str = ""
    family: str = ""
    """The system's label with full vectors."""

    @property
    def form(self) -> VectorForm:
        """How its vectors are stored and searched."""
        form = self.store.form if self.store else FULL_FORM
        return replace(form, dims=self.embedder.form.dims) if self.embedder else form

    @property
    def legs(self) -> tuple[Leg, ...]:
        """Its searches per query."""
        return mode_legs(self.mode.name, self.mode.params)

    @property
    def has_reference(self) -> bool:
        """Whether its first search is by vectors, so that exact search is a reference."""
        return self.legs[0] in ("dense", "sparse", "tokens")

    @property
    def models(self) -> tuple[PluginSpec, ...]:
        """What embeds its chunks and queries: an embedder, an encoder, or one of each."""
        return tuple(part for part in (self.embedder, self.encoder) if part is not None)

    @property
    def retriever(self) -> PluginSpec | None:
        """The retriever, if the system is one."""
        return self.chunker if self.chunker.kind == RETRIEVERS else None

    @property
    def builds_index(self) -> bool:
        """Whether one of its searches uses an index we built: not a retriever's or an existing collection."""
        stores = (self.store, self.keyword)
        return any(one is not None and one.existing is None for one in stores)

    @property
    def parts(self) -> tuple[PluginSpec | None, ...]:
        """All parts, in pipeline order."""
        first = self.rerank[0].part if self.rerank else None
        more = tuple(one.part for one in self.rerank[1:])
        return (self.chunker, self.embedder, self.store, self.keyword, self.mode, first, *more, self.encoder)

    def identity(self) -> list[Json]:
        """Everything that distinguishes this system; defaults are left out."""
        search = self.search.model_dump(mode="json") if self.search is not None else None
        named = [part.identity() if part else None for part in self.parts[:6]]
        chosen = self._chosen()
        return [*named, search, chosen] if chosen else [*named, search]

    def _chosen(self) -> dict[str, object]:
        words = self.keyword_search.model_dump(mode="json") if self.keyword_search is not None else {}
        looks = [[one.part.identity(), one.depth] for one in self.rerank]
        usual = len(looks) < 2 and all(one.depth == RERANK_DEPTH for one in self.rerank)
        reading = self.chunker.reading or USUAL_READING
        readers = {"label": reading.label, "readers": reading.identity()} if reading.parts else {}
        chosen = {
            "keyword_search": words,
            "encoder": self.encoder.identity() if self.encoder else None,
            "depth": self.depth,
            "rerank": [] if usual else looks,
            "reading": readers,
        }
        return {key: value for key, value in chosen.items() if value}


def fits_words(label: str, name: str) -> bool:
    """Whether all words of a name occur in a system's label."""
    return all(word in label for word in name.replace("·", " ").split())


def match_labels(name: str, labels: Sequence[str], letters: Mapping[str, str]) -> list[str]:
    """Labels matching a name: a whole label, a letter of the systems table, or words."""
    if name in labels:
        return [name]
    if name in letters:
        return [letters[name]]
    return [label for label in labels if fits_words(label, name)]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A models.toml that replaces an experiment's models (None: the experiment's own), and the models to run."""

    path: Path | None = None
    only: tuple[str, ...] = ()


OWN_MODELS = ModelFile()
"""All models that the experiment names itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a run needs, validated; `file` is the name of the experiment file in its folder.

    `models` is the text of the models.toml that named the embedders, '' if none did; `model_file` is the one
    given instead of the experiment's.
    """

    name: str
    text: str
    folder: Path
    source: PluginSpec
    queries: Path
    systems: tuple[System, ...]
    primary: str
    measures: tuple[str, ...]
    settings: ExperimentFile = field(repr=False)
    executor: PluginSpec | None = None
    file: str = ""
    conventions: Conventions = DEFAULT
    models: str = ""
    model_file: ModelFile = OWN_MODELS
    readings: tuple[Reading, ...] = (USUAL_READING,)

    def with_runs(self, runs: int) -> Plan:
        """The same plan with another number of runs."""
        if not 1 <= runs <= MOST_RUNS:
            raise SettingError(f"runs is {runs}; it must be from 1 to {MOST_RUNS}.")
        return replace(self, settings=self.settings.model_copy(update={"runs": runs}))

    def fingerprint(self) -> str:
        """Fingerprint of this plan: equal plans measure the same thing."""
        return fingerprint(
            "plan",
            [s.identity() for s in self.systems],
            list(self.measures),
            self.settings.model_dump(
                mode="json", exclude={"prices", "executor", "current", "decide"}
            ),  # measure nothing anew
        )
