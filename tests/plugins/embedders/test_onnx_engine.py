from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.plugins.embedders.onnx_engine import OnnxEngine, TokenBatch
from bakeoff.types import Role

WORDS = [f"w{number}" for number in range(40)]


def embedder(tiny: Path, **params: object) -> MiniLMEmbedder:
    return MiniLMEmbedder(MiniLMEmbedder.Params.model_validate({"weights": tiny, "max_tokens": 64, **params}))


def mixed(count: int) -> list[str]:
    generator = np.random.default_rng(3)
    return [" ".join(generator.choice(WORDS, generator.integers(0, 70))) for _ in range(count)]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_vector_depends_on_its_text_alone(tiny: Path, home: Path, precision: str) -> None:
    texts = mixed(150)
    reference = embedder(tiny, precision=precision, threads=1, batch_size=1)
    alone = np.concatenate([reference.embed([text], Role.DOCUMENT) for text in texts])
    for threads, batch in ((1, 32), (3, 5), (2, 32)):
        together = embedder(tiny, precision=precision, threads=threads, batch_size=batch).embed(
            texts, Role.DOCUMENT
        )
        assert np.array_equal(alone, together)
    backwards = embedder(tiny, precision=precision).embed(texts[::-1], Role.DOCUMENT)
    assert np.array_equal(alone, backwards[::-1])


def test_order_is_kept_over_more_texts_than_are_tokenised_at_once(tiny: Path, home: Path) -> None:
    texts = mixed(2500)
    model = embedder(tiny)
    vectors = model.embed(texts, Role.DOCUMENT)
    for row in (0, 1, 1023, 1024, 1025, 2047, 2048, 2499):
        assert np.array_equal(vectors[row], model.embed([texts[row]], Role.DOCUMENT)[0])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(2500), abs=1e-6)


def test_threads_share_one_embedder(tiny: Path, home: Path) -> None:
    texts = mixed(200)
    model = embedder(tiny)
    expected = model.embed(texts, Role.DOCUMENT)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: model.embed(texts, Role.DOCUMENT), range(8)):
            assert np.array_equal(vectors, expected)


def test_no_texts_give_no_rows(tiny: Path, home: Path) -> None:
    vectors = embedder(tiny).embed([], Role.QUERY)
    assert vectors.shape == (0, 32)
    assert vectors.dtype == np.float32


def test_an_embedder_works_again_after_close(tiny: Path, home: Path) -> None:
    model = embedder(tiny)
    before = model.embed(["w1 w2"], Role.QUERY)
    model.close()
    model.close()
    assert np.array_equal(before, model.embed(["w1 w2"], Role.QUERY))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from([*WORDS, "é", "\u0301", "w1.w2", "[SEP]", "z" * 300, "\n", "\t", "\x00"]),
        max_size=400,
    )
)
def test_tokenising_the_start_of_a_long_text_changes_nothing(tiny: Path, parts: list[str]) -> None:
    text = " ".join(parts)
    tokens = TokenBatch(tiny / "tokenizer.json", 8)
    uncut = tokens._whole.encode(text).ids
    expected = uncut if len(uncut) <= 8 else [*uncut[:7], uncut[-1]]
    assert tokens.encode([text]) == [expected]
    assert tokens.count([text]) == [len(uncut)]


def test_long_text_without_spaces_is_one_unknown_token(tiny: Path) -> None:
    tokens = TokenBatch(tiny / "tokenizer.json", 8)
    assert tokens.encode(["z" * 5000 + " w1 w2"]) == [[2, 1, 5, 6, 3]]


def test_text_that_is_not_unicode_is_an_error_that_says_so(tiny: Path, home: Path) -> None:
    with pytest.raises(EmbedderError):
        embedder(tiny).embed(["fine", "broken \ud800"], Role.DOCUMENT)


def test_a_graph_that_the_runtime_refuses_is_named(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"not a graph")
    with pytest.raises(EmbedderError, match=r"could not load .*broken\.onnx"):
        OnnxEngine(tmp_path / "broken.onnx", TokenBatch(tiny / "tokenizer.json", 8), 1, 1, optimise=False)
