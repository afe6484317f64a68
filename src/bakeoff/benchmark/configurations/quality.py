"""The quality of a configuration at every depth: recall of neighbours, and the measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bakeoff.benchmark.configurations.ingested_artifacts import IngestedArtifacts
from bakeoff.benchmark.configurations.jobs import SystemJob, TrialFigure
from bakeoff.benchmark.vectors.neighbours import distances
from bakeoff.benchmark.vectors.quality import quality_table
from bakeoff.config.plan import System
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.neighbours import knn_recall
from bakeoff.pipeline.embed import plain_numbers
from bakeoff.pipeline.measure_system import make_system_task, scoring_inputs
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.scoring.inputs import ScoringInputs
from bakeoff.pipeline.scoring.score import measure_values
from bakeoff.runs.checks.context import plan_truth
from bakeoff.truth.queries import QuerySet
from bakeoff.types import Hits

MEASURES = ("R", "P_unique", "RR", "nDCG")


def neighbour_figures(
    artifacts: IngestedArtifacts, job: SystemJob, answers: Mapping[int, StepResult]
) -> Iterator[TrialFigure]:
    """The share of the exact nearest chunks that a plain vector search found, at every depth."""
    system, executor = job.system, QueryExecutor(artifacts)
    reference = executor.reference(system) if _by_vectors(system) else None
    if reference is None or system.embedder is None:
        return
    base = plain_numbers(artifacts.vectors(system.embedder, system.chunker).matrix[:])
    queries = plain_numbers(artifacts.query_vectors(system.embedder, system.chunker).matrix)
    metric = job.plan.settings.metric
    for k, leg in answers.items():
        wide = min(k, len(base))
        retrieved, exact = (
            quality_table([Hits(hits.ids[:wide], hits.scores[:wide]) for hits in one.hits], wide, len(base))
            for one in (leg, reference)
        )
        near, true = (distances(base, queries, ids, metric) for ids in (retrieved, exact))
        recall = knn_recall(retrieved, exact, wide, found_distance=near, exact_distance=true)
        yield TrialFigure("kNN", float(recall.mean()), k)


def score_figures(
    artifacts: IngestedArtifacts,
    job: SystemJob,
    queries: QuerySet,
    corpus: ReadCorpus,
    answers: Mapping[int, StepResult],
) -> Iterator[TrialFigure]:
    """The quality of what every depth returned."""
    chunking = artifacts.chunking(job.system.chunker)
    truth = plan_truth(job.plan, queries, corpus, {chunking.fingerprint: chunking.chunks})
    task = make_system_task(
        artifacts,
        run="",
        system=job.system,
        queries=queries,
        truth=truth,
        measures=job.plan.measures,
        conventions=job.plan.conventions,
        seed=job.plan.settings.seed,
    )
    executor = QueryExecutor(artifacts)
    for k, leg in answers.items():
        scores = np.concatenate([hits.scores for hits in leg.hits])
        yield TrialFigure("similarity", float(scores.mean()) if len(scores) else None, k)
        scored = scoring_inputs(task, artifacts, leg, _exact(executor, job, leg))
        yield from _measure_figures(scored, k, job)


def _exact(
    executor: QueryExecutor, job: SystemJob, leg: StepResult
) -> Callable[[], tuple[StepResult, StepResult] | None]:
    """The store's results and the exact ones, for a plain vector search."""

    def pair() -> tuple[StepResult, StepResult] | None:
        exact = executor.reference(job.system) if _by_vectors(job.system) else None
        return (leg, exact) if exact is not None else None

    return pair


def _by_vectors(system: System) -> bool:
    return system.legs == ("dense",) and not system.rerank


def _measure_figures(scored: ScoringInputs, k: int, job: SystemJob) -> Iterator[TrialFigure]:
    names = [f"{name}@{k}(document)" for name in MEASURES]
    measures = [parse(name) for name in [*names, *([f"kNN@{k}(vector)"] if _by_vectors(job.system) else [])]]
    columns: dict[Measure, np.ndarray] = measure_values(scored, measures)
    for measure in measures:
        scores = columns[measure][~np.isnan(columns[measure])]
        note = "" if len(scores) else "no query could be scored"
        yield TrialFigure(measure.name, float(scores.mean()) if len(scores) else None, k, note)
