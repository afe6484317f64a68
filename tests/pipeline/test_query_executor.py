from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.config import experiment
from bakeoff.config.modes import Hybrid
from bakeoff.config.plan import RerankSpec
from bakeoff.errors import EmbedderError
from bakeoff.pipeline.chunk import embedded_texts
from bakeoff.truth.queries import read_queries
from bakeoff.types import Role


def test_many_threads_make_each_thing_once(bench: Any) -> None:
    executor = bench.query_executor()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(executor.artifacts.prepare, bench.plan.systems * 2))
        vectors = list(
            pool.map(lambda s: executor.artifacts.vectors(s.embedder, s.chunker), [bench.plan.systems[0]] * 8)
        )
    assert all(one is vectors[0] for one in vectors)
    executor.artifacts.close()


def test_a_failure_is_shared_and_not_tried_again(bench: Any, register: Any) -> None:
    tried: list[int] = []

    class Faulty(registry.load("embedders", "wordllama")):
        def embed(self, texts: Any, role: Role) -> np.ndarray:
            tried.append(1)
            raise EmbedderError("no memory")

    register("embedders", "faulty", Faulty)
    Path("bakeoff.yaml").write_text(
        Path("bakeoff.yaml").read_text().replace("{wordllama: {dims: 64}}", "faulty")
    )
    plan = experiment.load(Path("bakeoff.yaml"))
    executor = bench.query_executor()
    system = plan.systems[0]
    for _ in range(3):
        with pytest.raises(EmbedderError, match="no memory"):
            executor.artifacts.vectors(system.embedder, system.chunker)
    assert tried == [1, 1, 1]  # the first text, the fixed ones of the canary, then the chunks


def test_dense_words_and_hybrid_have_the_steps_they_have(bench: Any) -> None:
    executor = bench.query_executor()
    dense = executor.answers(bench.system("line · wordllama(dims=64) · exact · dense"), 1)
    words = executor.answers(bench.system("line · bm25"), 1)
    hybrid = executor.answers(bench.system("line · wordllama(dims=64) · exact · hybrid"), 1)
    assert (dense.embed is not None, len(dense.searches), dense.fuse) == (True, 1, None)
    assert (words.embed, len(words.searches), words.fuse) == (None, 1, None)
    assert (hybrid.embed is not None, len(hybrid.searches)) == (True, 2) and hybrid.ranking is hybrid.fuse
    assert hybrid.searches[0] is dense.searches[0] and hybrid.searches[1] is words.searches[0]
    executor.artifacts.close()


def test_the_depth_is_kept(bench: Any) -> None:
    executor = bench.query_executor(depth=3)
    for system in bench.plan.systems:
        assert max(len(hits.ids) for hits in executor.answers(system, 1).ranking.hits) <= 3
    executor.artifacts.close()


def test_the_reference_is_exact_search(bench: Any) -> None:
    executor = bench.query_executor()
    exact = bench.system("line · wordllama(dims=64) · exact · dense")
    faiss = bench.system("line · wordllama(dims=64) · faiss · dense")
    assert executor.reference(exact) is executor.answers(exact, 1).searches[0]
    assert executor.reference(faiss) is executor.answers(exact, 1).searches[0]
    executor.artifacts.close()


def test_the_reference_is_exact_search_whatever_a_store_is_called(bench: Any) -> None:
    path = Path("bakeoff.yaml")
    path.write_text(path.read_text().replace("stores: [exact, faiss]", "stores: [{faiss: {as: exact}}]"))
    executor = bench.query_executor()
    system = experiment.load(path).systems[0]
    assert system.store.name == "faiss" and system.store.label == "exact"
    served = executor.answers(system, 1).searches[0]
    assert executor.reference(system) is not served
    executor.artifacts.close()


def test_a_store_that_fuses_by_itself_holds_vectors_and_texts(bench: Any, register: Any) -> None:
    import dataclasses

    from bakeoff.config.modes import NativeHybrid
    from bakeoff.config.plan import PluginSpec
    from bakeoff.pipeline.fuse import fuse_rankings

    exact, words = registry.load("stores", "exact"), registry.load("stores", "postings")

    class Fusing(exact):
        """Exact search and postings in one store, fused by the better rank of the two."""

        def __init__(self, params: Any, home: Path) -> None:
            super().__init__(params, home)
            self._words = words(words.Params(), home / "words")

        def create(self, collection: str, dims: int, metric: Any) -> None:
            super().create(collection, dims, metric)
            self._words.create(collection, 0, metric)

        def insert(self, batch: Any) -> None:
            super().insert(batch)
            if batch.texts is not None:
                self._words.insert(batch)

        def ready(self) -> None:
            self._words.ready()

        def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: Any) -> Any:
            near = self.search(vector, k, query)
            return fuse_rankings(near, self._words.search_text(text, k, words.Query()), Hybrid(), k)

    register("stores", "fusing", Fusing)
    executor = bench.query_executor()
    hybrid = bench.system("line · wordllama(dims=64) · exact · hybrid")
    native = dataclasses.replace(
        hybrid,
        store=PluginSpec("stores", "fusing", "fusing", Fusing.Params()),
        mode=PluginSpec("modes", "native_hybrid", "native_hybrid", NativeHybrid()),
        keyword=None,
        keyword_search=None,
    )
    ours, theirs = executor.answers(hybrid, 1), executor.answers(native, 1)
    assert (len(theirs.searches), theirs.fuse) == (1, None) and theirs.embed is not None
    for one, other in zip(ours.ranking.hits, theirs.ranking.hits, strict=True):
        assert set(one.ids.tolist()) == set(other.ids.tolist()) and one.scores == pytest.approx(other.scores)
    assert executor.artifacts.indexes(native)[0] is not executor.artifacts.index(
        native.store, native.chunker, native.embedder
    )
    executor.artifacts.close()


def test_one_query_goes_the_way_all_go(bench: Any) -> None:
    from bakeoff.pipeline.query_pipeline import SearchRequest

    executor = bench.query_executor(depth=5)
    system = bench.system("line · wordllama(dims=64) · faiss · hybrid")
    vectors = executor.artifacts.query_vectors(system.embedder, system.chunker).matrix
    texts = [query.text for query in read_queries(bench.plan.queries).queries]
    way = executor.pipeline(system)
    for text, vector, hits in zip(texts, vectors, executor.answers(system, 1).ranking.hits, strict=True):
        assert way.answer(SearchRequest(text, vector)).ids.tolist() == hits.ids.tolist()
    executor.artifacts.close()


def test_a_reranker_orders_the_ranking_again(bench: Any, register: Any, part: Any) -> None:
    import dataclasses

    from pydantic import BaseModel

    class Longest:
        version = "1"
        Params = type("Params", (BaseModel,), {})
        closed = False

        def __init__(self, params: Any) -> None: ...

        def rerank(self, query: str, passages: list[str]) -> np.ndarray:
            return np.array([len(passage) for passage in passages])

        def close(self) -> None:
            Longest.closed = True

    register("rerankers", "longest", Longest)
    executor = bench.query_executor()
    plain = bench.system("line · bm25")
    rerank = (RerankSpec(part("rerankers/longest"), 20),)
    answers = executor.answers(dataclasses.replace(plain, rerank=rerank), 1)
    assert answers.reranks[-1] is answers.ranking
    texts = embedded_texts(executor.artifacts.chunking(plain.chunker).chunks)
    lengths = [[len(texts[i]) for i in hits.ids] for hits in answers.ranking.hits]
    assert all(row == sorted(row, reverse=True) for row in lengths)
    before = executor.answers(plain, 1).ranking
    assert any(
        a.ids.tolist() != b.ids.tolist() for a, b in zip(before.hits, answers.ranking.hits, strict=True)
    )
    executor.artifacts.close()
    assert Longest.closed
