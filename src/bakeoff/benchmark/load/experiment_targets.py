"""The systems of an experiment under load: each opened from the cache, asked with the experiment's own queries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.benchmark.clients.read_only_cache import ReadOnlyCache
from bakeoff.benchmark.resources.usage import Sampler
from bakeoff.benchmark.targets import LoadTarget, OpenStats, Pids, QualityReference
from bakeoff.config import experiment
from bakeoff.config.modes import MODES, WEIGHT, Hybrid
from bakeoff.config.plan import Plan, System
from bakeoff.errors import DataError, SettingError, UserError
from bakeoff.examples import examples
from bakeoff.pipeline.blank_leaks import blank_leaked_sentences
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.index import OpenIndex
from bakeoff.pipeline.loops.closed_loop import WARM_UP, Search
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import SearchRequest
from bakeoff.pipeline.read import read_documents
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.cost import CHARACTERS_A_TOKEN, TokenUse
from bakeoff.storage.shared_location import SharedFolder, ensure_marker
from bakeoff.truth.queries import read_queries
from bakeoff.types import Role

WARM_UP_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class SystemRecipe:
    """A system of an experiment, opened by a client process from the same cache, known by its mark."""

    experiment: str
    home: str
    mark: str
    label: str
    k: int
    end_to_end: bool
    queries: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a client process."""
        return {"kind": "system", **{name: getattr(self, name) for name in self.__slots__}}

    def open(self, home: Path) -> LoadTarget:  # noqa: ARG002 - what it needs is in the cache
        """The target in this process."""
        cache = ReadOnlyCache(SharedFolder(Path(self.home), self.mark))
        plan = experiment.load(Path(self.experiment))
        (system,) = choose_systems(plan, self.label)
        opened = ExperimentTargets(
            plan, Path(self.experiment), StageContext(cache), k=self.k, queries=self.queries
        )
        return replace(opened.target(system, self.end_to_end), close=opened.close)


class ExperimentTargets:
    """An experiment's shared work, from which its systems are put under load."""

    def __init__(
        self,
        plan: Plan,
        path: Path,
        context: StageContext,
        *,
        k: int | None = None,
        result: Result | None = None,
        queries: int | None = None,
    ) -> None:
        self.plan, self._path, self._shop, self.result = plan, path, context, result
        self._k, self._limit = k, queries
        asked = read_queries(plan.queries)
        self._texts = [query.text for query in asked.queries][:queries]
        corpus = read_documents(
            plan.source, registry.load("sources", plan.source.name)(plan.source.params), context
        )
        self._check_corpus(corpus.fingerprint)
        self.artifacts = SharedArtifacts(
            blank_leaked_sentences(corpus, asked),
            asked.queries,
            context,
            metric=plan.settings.metric,
            depth=plan.settings.depth,
            repeats=1,
        )

    @property
    def count(self) -> int:
        """How many queries there are to ask."""
        return len(self._texts)

    @property
    def query_tokens(self) -> TokenUse:
        """Tokens of a query on average, estimated."""
        return TokenUse(sum(map(len, self._texts)) / max(self.count, 1) / CHARACTERS_A_TOKEN, estimated=True)

    def stored_row(self, label: str) -> dict[str, Any] | None:
        """A system's row in the run that was named, if it was measured there."""
        if self.result is None or label not in self.result.done:
            return None
        return next(row for row in self.result.systems.to_pylist() if row["system"] == label)

    def target(self, system: System, end_to_end: bool = False, pids: Pids = lambda *_: ()) -> LoadTarget:
        """A system with its index, model and query vectors; end to end, a query is embedded when it is asked."""
        begin = time.perf_counter()
        store, k = system.store or system.keyword, self._k or self.artifacts.ranking_depth(system)
        with Sampler(pids=pids(store.name, store.params) if store else ()) as sampler:
            indexes = self.artifacts.indexes(system)
            search, asked, others = self._way(system, k, end_to_end)
        label = self.artifacts.with_stand_in_label(system).label
        builds = [_build_seconds(index) for index in indexes]
        sizes = [index.bytes for index in indexes]
        return LoadTarget(
            label,
            store.name if store else "",
            search,
            asked,
            others,
            k,
            OpenStats(time.perf_counter() - begin, _total(builds), _total(sizes), sampler.found),
            system.search,
            "end to end" if end_to_end else "",
            store.params if store else None,
            _bare(system) and self.artifacts.chunking(system.chunker).chunks.num_rows >= k,
            self._grade(label),
            SystemRecipe(
                str(self._path.resolve()),
                str(self._shop.cache.root.resolve()),
                ensure_marker(self._shop.cache.root).marker,
                system.label,
                k,
                end_to_end,
                self._limit,
            ),
        )

    def close(self) -> None:
        """Close every store and model."""
        self.artifacts.close()

    def _check_corpus(self, name: str) -> None:
        if self.result is None or self.result.record.corpus is None:
            return
        if self.result.record.corpus.fingerprint != name:
            raise DataError(
                f"the corpus has changed since {self.result.path.name}, so its quality says nothing about this load. "
                "Run the experiment again, or give the experiment instead of the run."
            )

    def _way(self, system: System, k: int, end_to_end: bool) -> tuple[Search, list[Any], list[Any]]:
        """How one query goes through a system, the queries in the shape that way takes, and others to warm up with."""
        texts, rows = self._texts, self._other_rows(system)
        chunks = self.artifacts.chunking(system.chunker).chunks["text"]
        other_texts = [chunks[int(row)].as_py()[:WARM_UP_CHARACTERS] for row in rows]
        wheres = self.artifacts.chunk_filters(system.chunker)[: self._limit]
        if system.embedder is None or end_to_end:
            asked = [SearchRequest(text, None, where) for text, where in zip(texts, wheres, strict=True)]
            return self._whole(system, k, end_to_end), asked, [SearchRequest(text) for text in other_texts]
        vectors = list(self.artifacts.query_vectors(system.embedder).matrix[: self._limit])
        others = list(self.artifacts.vectors(system.embedder, system.chunker).matrix[rows])
        if _bare(system) and not any(wheres):
            return self.artifacts.indexes(system)[0].store.search, vectors, others
        asked = [SearchRequest(*one) for one in zip(texts, vectors, wheres, strict=True)]
        return (
            self._whole(system, k, False),
            asked,
            [SearchRequest(*one) for one in zip(other_texts, others, strict=True)],
        )

    def _whole(self, system: System, k: int, end_to_end: bool) -> Search:
        """All steps of a system as one call, embedding the query first if end to end."""
        answer = QueryExecutor(self.artifacts).pipeline(system, k).answer
        params = system.mode.params
        weight = (
            WEIGHT if isinstance(params, Hybrid) and params.tuned else None
        )  # its value does not change the speed
        if system.embedder is None or not end_to_end:
            return lambda asked, k, query: answer(asked, weight)  # noqa: ARG005 - both are in the serving
        embed = self.artifacts.embedder(system.embedder).embed
        return lambda asked, k, query: answer(  # noqa: ARG005 - both are in the serving
            SearchRequest(asked.text, embed([asked.text], Role.QUERY)[0], asked.where), weight
        )

    def _other_rows(self, system: System) -> np.ndarray:
        """Chunks to warm up with: no query is among them."""
        count = self.artifacts.chunking(system.chunker).chunks.num_rows
        seeded = np.random.default_rng(self.plan.settings.seed)
        return seeded.choice(count, min(WARM_UP, count), replace=False)

    def _grade(self, label: str) -> QualityReference | None:
        if self.result is None or label not in self.result.done:
            return None
        matrix = self.result.matrix(self.result.record.primary)
        row = matrix.values[matrix.systems.index(label)]
        known = row[~np.isnan(row)]
        return QualityReference(self.result.record.primary, float(known.mean()) if len(known) else None)


def choose_systems(plan: Plan, wanted: str | None) -> tuple[System, ...]:
    """The systems whose labels hold all words of one of the names, by comma; all without a name."""
    if wanted is None:
        return plan.systems
    found: dict[str, System] = {}
    for name in filter(None, (part.strip() for part in wanted.split(","))):
        exact = [system for system in plan.systems if system.label == name]
        words = name.replace("·", " ").split()
        fits = exact or [one for one in plan.systems if all(word in one.label for word in words)]
        if not fits:
            known = "; ".join(system.label for system in plan.systems)
            raise SettingError(f"--systems: {name!r} fits no system. Systems: {known}.")
        found |= {system.label: system for system in fits}
    if not found:
        raise SettingError("--systems names nothing. Leave it out for all systems.")
    return tuple(found.values())


def plan_of_run(run: Path, given: Path | None) -> tuple[Plan, Path, Result]:
    """The experiment a run was made with: the one given, or one near the run that plans the same."""
    result = open_run(run)
    places = (
        [given] if given else [Path(), *run.resolve().parents[:2], *(one.experiment for one in examples())]
    )
    for place in places:
        path = place / "bakeoff.yaml" if place.is_dir() else place
        plan = _readable(path, given is not None)
        if plan is not None:  # a run may have had its own number of runs, from --runs
            plan = plan.with_runs(result.record.runs)
            if plan.fingerprint() == result.record.plan:
                return plan, path, result
    what = f"{given} plans something else than" if given else "no experiment near it plans the same as"
    raise DataError(
        f"{run}: {what} this run. Name its file with --experiment FILE; where it has changed since, "
        "run it again, or put the experiment itself under load."
    )


def _readable(path: Path, named: bool) -> Plan | None:
    """The plan of a file; one that merely lies near and cannot be read is not the one."""
    try:
        return experiment.load(path)
    except UserError:
        if named:
            raise
        return None


def _bare(system: System) -> bool:
    """Whether a system is its store's own search and nothing else: no call of ours need stand between."""
    return MODES[system.mode.name].legs == ("dense",) and not system.rerank


def _build_seconds(index: OpenIndex) -> float | None:
    if index.measured or index.insert_seconds is None or index.index_seconds is None:
        return None  # an earlier run built it
    return index.insert_seconds + index.index_seconds


def _total(parts: Sequence[Any]) -> Any:
    return None if any(part is None for part in parts) else sum(parts)
