from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.measures.conventions import DEFAULT
from bakeoff.measures.names import parse
from bakeoff.pipeline.scoring.losses import best_reachable, losses_table, stage_candidates
from bakeoff.pipeline.scoring.score import ScoringInputs
from bakeoff.truth.queries import read_queries
from bakeoff.truth.resolve import resolve
from bakeoff.types import Hits


@pytest.fixture
def reachable(bench: Any) -> Any:
    """Mean reachable score after each step of a system of the tiny experiment."""
    executor = bench.query_executor()
    queries = read_queries(bench.plan.queries)

    def of(
        label: str, primary: str = "nDCG@10(document)", system: Any = None, depth: int | None = None
    ) -> dict[str, float]:
        system = system or bench.system(label)
        chunking = executor.artifacts.chunking(system.chunker)
        truth = resolve(
            queries, executor.artifacts.corpus.documents, {chunking.fingerprint: chunking.chunks}, strict=True
        )
        answers = executor.answers(system, 1)
        scored = ScoringInputs(
            answers.ranking, chunking, queries, truth, DEFAULT, lambda: np.empty(0), lambda: None, depth
        )
        steps = stage_candidates(system, answers, executor, parse(primary))
        ids = [query.id for query in queries.queries]
        rows = losses_table(
            "run", system.label, ids, best_reachable(scored, steps, parse(primary))
        ).to_pylist()
        found: dict[str, list[float]] = {}
        for row in rows:
            if row["reachable"] is not None:
                found.setdefault(row["step"], []).append(row["reachable"])
        return {step: float(np.mean(values)) for step, values in found.items()}

    yield of
    executor.artifacts.close()


@pytest.mark.parametrize(
    ("label", "steps"),
    [
        ("line · bm25", ["best possible", "in no chunk", "search misses", "ranked too low"]),
        (
            "line · wordllama(dims=64) · exact · dense",
            ["best possible", "in no chunk", "search misses", "ranked too low"],
        ),
        (
            "line · wordllama(dims=64) · faiss · dense",
            ["best possible", "in no chunk", "search misses", "index misses", "ranked too low"],
        ),
        (
            "line · wordllama(dims=64) · faiss · hybrid",
            [
                "best possible",
                "in no chunk",
                "search misses",
                "index misses",
                "fused or reranked away",
                "ranked too low",
            ],
        ),
    ],
)
def test_each_step_can_only_lose(reachable: Any, label: str, steps: list[str]) -> None:
    found = reachable(label)
    values = list(found.values())
    assert list(found) == steps
    assert values[0] == pytest.approx(1.0)
    assert all(before >= after - 1e-12 for before, after in itertools.pairwise(values))
    assert values[-1] < 1


def test_what_an_index_misses_is_laid_at_its_door(reachable: Any, bench: Any, register: Any) -> None:
    class Blind(registry.load("stores", "faiss")):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            hits = super().search(vector, k, query)
            return Hits(hits.ids[3:], hits.scores[3:])

    register("stores", "blind", Blind)
    import dataclasses

    from bakeoff.config.plan import PluginSpec

    faiss = bench.system("line · wordllama(dims=64) · faiss · dense")
    blind = dataclasses.replace(faiss, store=PluginSpec("stores", "blind", "blind", faiss.store.params))
    found = reachable("", system=blind)
    assert found["search misses"] == pytest.approx(1.0)
    assert found["index misses"] < 0.5


def test_a_pipeline_has_a_step_for_each_look(reachable: Any, bench: Any, register: Any) -> None:
    """A reranker that turns its passages round can lose nothing it does not look at."""
    import dataclasses

    from pydantic import BaseModel

    from bakeoff.config.plan import PluginSpec, RerankSpec

    class Backwards:
        version = "1"
        Params = type("Params", (BaseModel,), {})

        def __init__(self, params: Any) -> None: ...

        def rerank(self, query: str, passages: list[str]) -> np.ndarray:
            return np.arange(len(passages))

        def close(self) -> None: ...

    register("rerankers", "backwards", Backwards)
    part = PluginSpec("rerankers", "backwards", "backwards", Backwards.Params())
    hybrid = bench.system("line · wordllama(dims=64) · faiss · hybrid")
    looks = (RerankSpec(part, 4, "backwards@4"), RerankSpec(part, 1, "backwards@1"))
    found = reachable("", "RR@10(document)", system=dataclasses.replace(hybrid, rerank=looks, depth=10))
    assert list(found) == [
        "best possible",
        "in no chunk",
        "search misses",
        "index misses",
        "fused or reranked away",
        "not among the 4 of backwards@4",
        "not among the 1 of backwards@1",
        "ranked too low",
    ]
    values = list(found.values())
    assert all(before >= after - 1e-12 for before, after in itertools.pairwise(values))
    assert values[4] > values[6]  # looking at one passage only, after they were turned round


def test_measures_without_judgments_have_no_steps(reachable: Any) -> None:
    assert reachable("line · bm25", "tokens@10") == {}


def test_the_ceiling_of_the_measure_is_not_the_chunkers_loss(reachable: Any) -> None:
    """Most queries have one relevant document: P@5 is at most .2 for them, and no chunk can help."""
    found = reachable("line · bm25", "P@5(document)")
    assert found["best possible"] == pytest.approx((11 * 0.2 + 0.4) / 12)
    assert found["in no chunk"] == pytest.approx(found["best possible"])


def test_what_the_depth_makes_unreachable_comes_first(reachable: Any) -> None:
    """One of the twelve queries has two right documents, of grades 1 and 2: one result finds one of them."""
    found = reachable("line · bm25", "R@10(document)", depth=1)
    assert list(found)[:3] == ["best possible", "beyond the depth", "in no chunk"]
    assert found["best possible"] == pytest.approx(1.0)
    assert (
        found["beyond the depth"] == pytest.approx((11 + 1 / 2) / 12) == pytest.approx(found["in no chunk"])
    )
    assert reachable("line · bm25", "AP(document)", depth=1)["beyond the depth"] == pytest.approx(
        (11 + 1 / 2) / 12
    )
    assert "beyond the depth" not in reachable("line · bm25", "R@10(document)", depth=10)


def test_answers_are_not_limited_by_the_number_of_chunks(reachable: Any) -> None:
    """One chunk can hold every answer of a query."""
    found = reachable("line · bm25", "R@10(answer)", depth=1)
    assert found["beyond the depth"] == found["best possible"]
