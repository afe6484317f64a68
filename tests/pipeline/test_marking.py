"""Queries scored in blocks elsewhere have the values of one pass, under every convention."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bakeoff.measures.conventions import DEFAULT, TREC_EVAL, Conventions
from bakeoff.measures.names import parse
from bakeoff.pipeline import measure_system
from bakeoff.pipeline.scoring import score_queries as marking
from bakeoff.pipeline.scoring.losses import stage_candidates
from bakeoff.pipeline.scoring.score_queries import QueryScores, score_queries
from bakeoff.truth.queries import read_queries
from bakeoff.truth.resolve import resolve

MEASURES = (
    "R@2(document)",
    "RR(document)",
    "P_unique@3(document)",
    "P@3(chunk)",
    "Hit@2(section)",
    "RR@5(answer)",
)


def here(
    task: Callable[[Any], QueryScores], blocks: Iterable[Any], _: str, done: Callable[[int], None]
) -> list[QueryScores]:
    """Workers that are this process."""
    found = [task(block) for block in blocks]
    for number in range(len(found)):
        done(number)
    return found


@pytest.mark.parametrize("conventions", [DEFAULT, replace(DEFAULT, k_counts="chunks"), TREC_EVAL], ids=str)
def test_blocks_have_the_values_of_one_pass(
    bench: Any, conventions: Conventions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marking, "BLOCK_QUERIES", 5)
    executor = bench.query_executor()
    queries = read_queries(bench.plan.queries)
    system = bench.system("line · bm25")
    chunking = executor.artifacts.chunking(system.chunker)
    truth = resolve(
        queries, executor.artifacts.corpus.documents, {chunking.fingerprint: chunking.chunks}, strict=True
    )
    names = [name for name in MEASURES if conventions.k_counts == "units" or "answer" not in name]
    answers = executor.answers(system, 1)
    task = measure_system.SystemTask(
        run="run",
        system=system,
        queries=queries,
        truth=truth,
        measures=tuple(names),
        conventions=conventions,
    )
    scored = measure_system.scoring_inputs(task, executor.artifacts, answers.ranking)
    measures = [parse(name) for name in names]
    steps = stage_candidates(system, answers, executor, measures[0])
    whole = score_queries(scored, measures, steps)
    parts = score_queries(scored, measures, steps, here)  # type: ignore[arg-type]
    executor.artifacts.close()
    assert list(whole.reachable) == list(parts.reachable)
    for measure in measures:
        assert np.array_equal(whole.columns[measure], parts.columns[measure], equal_nan=True), measure
    for step, values in whole.reachable.items():
        assert np.array_equal(values, parts.reachable[step], equal_nan=True), step
    assert whole.tied == parts.tied
