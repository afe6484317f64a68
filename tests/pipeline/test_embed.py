from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import EmbedderError
from bakeoff.pipeline import embed, vector_file
from bakeoff.pipeline.chunk import embedded_texts
from bakeoff.pipeline.embed import embed_chunks, embed_queries
from bakeoff.types import Role


@pytest.fixture
def model() -> Any:
    plugin = registry.load("embedders", "wordllama")
    return plugin(plugin.Params(dims=64))


def test_one_row_for_each_chunk_in_order(bench: Any, part: Any, model: Any) -> None:
    chunking = bench.chunking("line", doc_lines=3)
    vectors = embed_chunks(part("embedders/wordllama", dims=64), model, chunking, bench.context)
    plain = model.embed(embedded_texts(chunking.chunks), Role.DOCUMENT)
    assert vectors.matrix.dtype == np.float32 and np.array_equal(vectors.matrix, plain)
    assert (vectors.fresh, vectors.reused) == (chunking.chunks.num_rows, 0)


def test_batches_do_not_change_the_vectors(bench: Any, part: Any, model: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(embed, "BATCH", 3)
    chunking = bench.chunking("line", doc_lines=3)
    vectors = embed_chunks(part("embedders/wordllama", dims=64), model, chunking, bench.context)
    assert np.array_equal(vectors.matrix, model.embed(embedded_texts(chunking.chunks), Role.DOCUMENT))


def test_the_second_time_costs_nothing(bench: Any, part: Any, model: Any) -> None:
    chunking, wordllama = bench.chunking("line"), part("embedders/wordllama", dims=64)
    first = embed_chunks(wordllama, model, chunking, bench.context)
    again = embed_chunks(wordllama, model, chunking, bench.context)
    assert (again.fresh, again.reused) == (0, chunking.chunks.num_rows)
    assert again.fingerprint == first.fingerprint and np.array_equal(again.matrix, first.matrix)


def test_a_kill_in_the_middle_keeps_what_was_embedded(
    bench: Any, part: Any, register: Any, monkeypatch: Any
) -> None:
    asked: list[str] = []

    class Mortal(registry.load("embedders", "wordllama")):
        lives = 2

        def embed(self, texts: Any, role: Role) -> np.ndarray:
            if not self.lives:
                raise KeyboardInterrupt
            self.lives -= 1
            asked.extend(texts)
            return super().embed(texts, role)

    register("embedders", "mortal", Mortal)
    monkeypatch.setattr(embed, "BATCH", 4)
    chunking, mortal = bench.chunking("line", doc_lines=3), part("embedders/mortal", dims=64)
    with pytest.raises(KeyboardInterrupt):
        embed_chunks(mortal, Mortal(mortal.params), chunking, bench.context)
    alive = Mortal(mortal.params)
    alive.lives = 1000
    vectors = embed_chunks(mortal, alive, chunking, bench.context)
    assert sorted(asked) == sorted(embedded_texts(chunking.chunks))
    assert vectors.reused == 8 and vectors.fresh == chunking.chunks.num_rows - 8


def test_equal_texts_are_embedded_once(bench: Any, part: Any, counts: Any) -> None:
    counted = part("embedders/counted", dims=64)
    model = registry.load("embedders", "counted")(counted.params)
    texts = ["one", "two", "one"]
    found = embed_queries(counted, model, texts, [], 1, bench.context)
    assert found.matrix.shape == (3, 64) and np.array_equal(found.matrix[0], found.matrix[2])


def test_queries_are_timed_one_at_a_time_after_a_warm_up_with_other_texts(
    bench: Any, part: Any, counts: Any
) -> None:
    counted = part("embedders/counted", dims=64)
    model = registry.load("embedders", "counted")(counted.params)
    texts, others = [f"question {n}" for n in range(6)], [f"other {n}" for n in range(9)]
    found = embed_queries(counted, model, texts, others, 3, bench.context)
    assert counts.embedded == [(Role.QUERY, text) for text in [*others[:5], *texts * 3]]
    assert found.milliseconds.shape == (3, 6) and (found.milliseconds > 0).all()


def test_times_are_measured_even_where_the_vectors_are_known(bench: Any, part: Any, counts: Any) -> None:
    counted = part("embedders/counted", dims=64)
    model = registry.load("embedders", "counted")(counted.params)
    embed_queries(counted, model, ["a question"], [], 1, bench.context)
    counts.clear()
    again = embed_queries(counted, model, ["a question"], [], 2, bench.context)
    assert len(counts.embedded) == 2 and (again.milliseconds > 0).all()


def test_only_the_first_queries_are_timed(bench: Any, part: Any, model: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(embed, "TIMED", 4)
    texts = [f"question {n}" for n in range(7)]
    found = embed_queries(part("embedders/wordllama", dims=64), model, texts, [], 2, bench.context)
    assert found.milliseconds.shape == (2, 4) and found.matrix.shape == (7, 64)
    assert np.array_equal(found.matrix, model.embed(texts, Role.QUERY))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda rows: rows[:-1], r"gave vectors of shape"),
        (lambda rows: rows[:, :8], r"gave vectors of shape"),
        (lambda rows: np.where(np.arange(len(rows))[:, None] == 1, np.inf, rows), "is not finite"),
        (np.zeros_like, r"^wordllama\S* returned only zero vectors for \d+ texts"),
        (lambda rows: rows.astype(str), r"^wordllama\S* returned vectors of type <U32"),
        (lambda rows: ["0" * 64 for _ in rows], r"^wordllama\S* returned vectors of type <U64"),
        (lambda rows: [row[: 64 - i] for i, row in enumerate(rows)], "of different lengths"),
    ],
)
def test_unusable_vectors_are_refused_and_not_kept(
    bench: Any, part: Any, register: Any, spoil: Any, said: str
) -> None:
    class Faulty(registry.load("embedders", "wordllama")):
        def embed(self, texts: Any, role: Role) -> np.ndarray:
            return spoil(super().embed(texts, role))

    register("embedders", "faulty", Faulty)
    faulty = part("embedders/faulty", dims=64)
    with pytest.raises(EmbedderError, match=said):
        embed_chunks(faulty, Faulty(faulty.params), bench.chunking("line"), bench.context)
    assert not list((bench.context.cache.root / "embed").rglob("rows.arrow"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error_not_a_signal(bench: Any, part: Any, model: Any, tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(300)]
    keys = embed.text_keys(texts)
    pool = embed.RowCache(bench.context.cache, "embed", "ab" * 16)
    pool.fill(keys, lambda at: embed._rows(model, [texts[p] for p in at], texts), batch=300)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "vectors.npy").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        vector_file.write_vectors(
            tmp_path / "full", map(embed._matrix, pool.gather(keys)), 300, 64, "float32"
        )


def test_query_vectors_of_zeros_are_refused(bench: Any, part: Any, register: Any) -> None:
    class Zero(registry.load("embedders", "wordllama")):
        def embed(self, texts: Any, role: Role) -> np.ndarray:
            return np.zeros_like(super().embed(texts, role))

    register("embedders", "zero", Zero)
    zero = part("embedders/zero", dims=64)
    with pytest.raises(EmbedderError, match="1"):
        embed_queries(zero, Zero(zero.params), ["a question"], [], 1, bench.context)


def test_a_text_without_words_may_have_a_vector_of_zeros() -> None:
    rows = np.zeros((2, 4), np.float32)
    embed.require_direction(rows, ["---", " "], "model")
    rows[1, 2] = 0.5
    embed.require_direction(rows, ["unknown", "known"], "model")
