"""F32: the first measured query pays the cold start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff import registry
from bakeoff.pipeline import query_pipeline
from bakeoff.runs.run import run
from bakeoff.types import Hits, Role


def test_f32_model_and_store_are_warmed_up_with_other_texts(
    small: Path, counts: Any, register: Callable[..., None]
) -> None:
    asked: list[bytes] = []

    class Watched(registry.load("stores", "exact")):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            asked.append(vector.tobytes())
            return super().search(vector, k, query)

    register("stores", "watched", Watched)
    small.write_text(small.read_text().replace("{wordllama:", "{counted:").replace("[exact]", "[watched]"))
    result = run(small, out=Path("run"))
    queries = result.queries["text"].to_pylist()
    texts = [text for role, text in counts.embedded if role is Role.QUERY]
    assert texts[5:] == queries and not set(texts[:5]) & set(queries)
    model = registry.load("embedders", "counted")(registry.load("embedders", "counted").Params(dims=64))
    vectors = [row.tobytes() for row in model.embed(queries, Role.QUERY)]
    assert asked[10:24] == vectors and not set(asked[:10]) & set(vectors)
    assert result.latencies.num_rows == len(queries)


def test_f32_a_slow_first_call_is_in_no_measured_time(
    small: Path, register: Callable[..., None], made_clock: Callable[..., Any]
) -> None:
    clock = made_clock(query_pipeline)

    class Cold(registry.load("stores", "exact")):
        warm = False

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            clock.passes(2 if self.warm else 500)
            self.warm = True
            return super().search(vector, k, query)

    register("stores", "cold", Cold)
    small.write_text(small.read_text().replace("[exact]", "[cold]"))
    result = run(small, out=Path("run"))
    assert set(result.latencies["search_ms"].to_pylist()) == {2.0}


def test_f32_a_reranker_is_warmed_up_with_other_texts_too(
    small: Path, register: Callable[..., None], made_clock: Callable[..., Any]
) -> None:
    clock = made_clock(query_pipeline)
    asked: list[str] = []

    class Cold(registry.load("rerankers", "mmr")):
        """Puts off its loading to the first call."""

        def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
            clock.passes(2 if asked else 500)
            asked.append(query)
            return super().rerank(query, passages)

    register("rerankers", "cold", Cold)
    small.write_text(small.read_text() + "rerankers: [cold]\n")
    result = run(small, out=Path("run"))
    assert set(result.latencies["rerank_ms"].drop_null().to_pylist()) == {2.0}
    queries, before = result.queries["text"].to_pylist(), result.record.warm_up["rerank"]
    assert before > 0 and asked[before:] == queries and not set(asked[:before]) & set(queries)
