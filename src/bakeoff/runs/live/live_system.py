"""Reopens a measured system to answer new questions, with the chunks, model, index and fusion of the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from bakeoff.config import experiment
from bakeoff.config.modes import WEIGHT, Hybrid
from bakeoff.config.plan import Plan, System
from bakeoff.errors import SettingError
from bakeoff.pipeline.blank_leaks import blank_leaked_sentences
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import SearchRequest
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.runs.live.plan_of_run import choose_systems
from bakeoff.runtime.events import Emit, no_listener
from bakeoff.storage.shared_cache import open_cache
from bakeoff.storage.weights import home_folder as default_home
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.types import Hits, ModelInfo, Where

if TYPE_CHECKING:
    from bakeoff.runs.analysis import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """One result: characters `start` to `end` of a document, with text and score."""

    rank: int
    document: str
    start: int
    end: int
    text: str
    score: float


class LiveSystem:
    """Answers questions with one system of a plan; close it when done, or use it in a `with` block.

    `weight` is the dense share of a tuned fusion; `corpus` is the fingerprint of the documents as read.
    """

    def __init__(
        self, artifacts: SharedArtifacts, system: System, weight: float | None = None, *, corpus: str = ""
    ) -> None:
        if system.retriever is not None:
            raise SettingError(
                f"{system.label} is your own search: call it directly, or name another system."
            )
        self._artifacts, self._system, self._weight = artifacts, system, weight
        self.corpus = corpus or artifacts.corpus.fingerprint
        self._answer = QueryExecutor(artifacts).pipeline(system).answer
        self._chunks = artifacts.chunking(system.chunker).chunks
        self._documents = artifacts.corpus.documents["id"]

    @property
    def label(self) -> str:
        """The system's label in the run."""
        return self._system.label

    @property
    def model(self) -> ModelInfo | None:
        """Identity of the model's vectors; None for keyword-only systems."""
        part = self._system.embedder
        return self._artifacts.models.model(part, self._system.chunker).info if part else None

    def search(
        self, text: str, k: int = 10, *, where: Where = (), weight: float | None = None
    ) -> list[FoundPassage]:
        """Return the k best passages for a question, best first; `weight` overrides that of a tuned fusion."""
        if k < 1:
            raise SettingError(f"k is {k}; it must be 1 or more.")
        ours = self._artifacts.chunk_filter(self._system, where)
        request = self._artifacts.embed_request(
            self._system, SearchRequest(text, where=ours, filter_as_written=where)
        )
        hits = self._answer(request, self._weight if weight is None else weight)
        assert isinstance(hits, Hits)  # only retrievers return rows of text
        chunks = self._chunks.select(["doc", "start", "end", "text"])
        rows = chunks.take(hits.ids[:k].astype("int64")).to_pylist()
        return [
            FoundPassage(
                rank=rank,
                document=self._documents[row["doc"]].as_py(),
                start=row["start"],
                end=row["end"],
                text=row["text"],
                score=float(score),
            )
            for rank, (row, score) in enumerate(zip(rows, hits.scores[:k].tolist(), strict=True), 1)
        ]

    def close(self) -> None:
        """Close the stores and models."""
        self._artifacts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_system(
    experiment_file: str | Path,
    *,
    home: str | Path | None = None,
    documents: str | Path | None = None,
    as_measured: bool = False,
    weight: float | None = None,
    emit: Emit = no_listener,
) -> LiveSystem:
    """Open the only system of an experiment file, building what is not cached.

    `documents` replaces the folder of the file. Sentences that drafted questions were copied from stay
    searchable unless `as_measured` is set.
    """
    plan = experiment.load(Path(experiment_file))
    if documents is not None:
        plan = _with_folder(plan, Path(documents))
    if len(plan.systems) != 1:
        raise SettingError(
            f"{experiment_file} has {len(plan.systems)} systems; one is expected. bakeoff take writes such a file."
        )
    queries = read_queries(plan.queries)
    artifacts, corpus = open_artifacts(plan, queries, home=home, emit=emit, mask=as_measured)
    return LiveSystem(artifacts, plan.systems[0], weight, corpus=corpus)


def _with_folder(plan: Plan, folder: Path) -> Plan:
    """The same plan over another folder of documents."""
    source = plan.source
    if "folder" not in type(source.params).model_fields:
        raise SettingError(
            f"the documents come from {source.name}, so the folder {folder} can't replace them."
        )
    params = source.params.model_copy(update={"folder": folder.resolve()})
    return replace(plan, source=replace(source, params=params))


def open_artifacts(
    plan: Plan,
    queries: QuerySet,
    *,
    home: str | Path | None = None,
    emit: Emit = no_listener,
    mask: bool = True,
) -> tuple[SharedArtifacts, str]:
    """Shared artifacts of a plan's systems, made on first use, and the fingerprint of the documents."""
    context = StageContext(open_cache(Path(home or default_home()) / "cache"), emit)
    corpus = read_corpus(plan, context)
    artifacts = SharedArtifacts(
        blank_leaked_sentences(corpus, queries) if mask else corpus,
        queries.queries,
        context,
        metric=plan.settings.metric,
        depth=plan.settings.depth,
        repeats=1,
        filters=queries.filters,
    )
    return artifacts, corpus.fingerprint


def chosen_system(plan: Plan, result: Result, name: str | None) -> System:
    """The system matching a label, letter or words; the recommended one if no name is given."""
    wanted = name if name is not None else recommended_label(result)
    systems = choose_systems(plan, wanted, result.letters)
    if len(systems) != 1:
        labels = "; ".join(system.label for system in systems)
        raise SettingError(
            f"{wanted!r} matches {len(systems)} systems: {labels}. Add a word that only one of them has."
        )
    label = systems[0].label
    if label in result.failed:
        raise SettingError(
            f"{label} failed in this run; name another system. Its error: {result.failed[label]}"
        )
    return systems[0]


def recommended_label(result: Result) -> str:
    """Label of the system that a run recommends."""
    if result.recommendation is None:
        raise SettingError(f"no system of {result.path.name} finished, so there is none to use.")
    return result.recommendation.system


def tuned_weight(result: Result, system: System) -> float | None:
    """Weight that most of the run's questions were fused with; None if the system's weight is fixed."""
    params = system.mode.params
    if not isinstance(params, Hybrid) or not params.tuned:
        return None
    weights = list(question_weights(result, system.label).values())
    return max(set(weights), key=weights.count) if weights else WEIGHT


def question_weights(result: Result, label: str) -> dict[str, float]:
    """Weight of each question of a tuned system."""
    from bakeoff.pipeline.system_tables import CHOICES
    from bakeoff.storage.parquet_io import read_parquet

    path = result.table_file(CHOICES)
    if not path.is_file():
        return {}
    rows = read_parquet(path, columns=["system", "query_id", "weight"]).to_pylist()
    return {row["query_id"]: row["weight"] for row in rows if row["system"] == label}
