"""llama.cpp on weights converted here, against the same weights in fp32, and as a server behind the openai embedder."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest
from pydantic import ValidationError

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders import gguf_convert
from bakeoff.plugins.embedders.llamacpp import LlamaCppEmbedder
from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.plugins.embedders.openai import OpenAIEmbedder
from bakeoff.types import Role

TEXTS = [
    "A man is eating food.",
    "The girl is carrying a baby.",
    "naïve café — 東京 🗼 e\u0301 ﬁ",
    "don't (test) foo_bar 3.14",
    "quarterly tax returns are due",
    "",
    "\x00",
    "[SEP] [CLS] [MASK]",
    "the same words again " * 300,
]
Made = Callable[[str], LlamaCppEmbedder]


@pytest.fixture(scope="module")
def made(minilm: MiniLMEmbedder) -> Iterator[Made]:
    """Embedders by quantisation, each started once."""
    kept: dict[str, LlamaCppEmbedder] = {}

    def make(kind: str) -> LlamaCppEmbedder:
        if kind not in kept:
            params = LlamaCppEmbedder.Params.model_validate({"quantization": kind, "threads": 1})
            kept[kind] = LlamaCppEmbedder(params)
        return kept[kind]

    yield make
    for embedder in kept.values():
        embedder.close()


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        pytest.param("none", 0.99999, marks=pytest.mark.slow),
        pytest.param("f16", 0.9999, marks=pytest.mark.slow),
        ("q8", 0.998),
        ("q4k", 0.95),
    ],
)
def test_vectors_are_near_those_of_fp32(made: Made, minilm: MiniLMEmbedder, kind: str, least: float) -> None:
    cosines = np.sum(made(kind).embed(TEXTS, Role.DOCUMENT) * minilm.embed(TEXTS, Role.DOCUMENT), axis=1)
    assert cosines.min() > least


def test_f50_two_quantisations_have_two_identities_and_two_sets_of_vectors(made: Made) -> None:
    eight, four = made("q8"), made("q4k")
    assert eight.info.weights != four.info.weights
    assert eight.info.name != four.info.name
    difference = np.abs(eight.embed(TEXTS[:5], Role.QUERY) - four.embed(TEXTS[:5], Role.QUERY))
    assert difference.max() > 1e-3


def test_tokens_are_those_of_the_models_own_tokenizer(made: Made, minilm: MiniLMEmbedder) -> None:
    assert made("q8").count_tokens(TEXTS) == minilm.count_tokens(TEXTS)


def test_info_says_what_was_made(made: Made) -> None:
    info = made("q8").info
    assert (info.name, info.dims, info.max_tokens) == ("all-MiniLM-L6-v2-gguf-q8", 384, 256)
    assert (info.pooling, info.licence, info.stand_in) == ("mean", "Apache-2.0", False)


@pytest.mark.slow
def test_a_file_of_your_own_gives_the_same_vectors(made: Made) -> None:
    own = LlamaCppEmbedder(LlamaCppEmbedder.Params(file=made("q8")._file, max_tokens=256, threads=1))
    rows = own.embed(TEXTS, Role.DOCUMENT)
    own.close()
    assert np.array_equal(rows, made("q8").embed(TEXTS, Role.DOCUMENT))
    assert own.info.weights == made("q8").info.weights


def test_the_openai_embedder_against_a_real_server(made: Made, minilm: MiniLMEmbedder, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    local = made("q8")
    params = OpenAIEmbedder.Params(
        base_url=f"{local.address}/v1", model="local", batch_size=4, max_characters=800
    )
    remote = OpenAIEmbedder(params)
    rows = remote.embed(TEXTS[:5], Role.DOCUMENT)
    assert remote.info.dims == 384 and remote.info.normalised
    assert np.allclose(rows, local.embed(TEXTS[:5], Role.DOCUMENT), atol=1e-5)
    assert np.sum(rows * minilm.embed(TEXTS[:5], Role.DOCUMENT), axis=1).min() > 0.998
    remote.close()


def test_a_real_server_refuses_a_text_that_is_too_long_and_the_reason_is_shown(made: Made) -> None:
    params = OpenAIEmbedder.Params(base_url=f"{made('q8').address}/v1", model="local", retries=0)
    with pytest.raises(EmbedderError):
        OpenAIEmbedder(params).embed(["word " * 5000], Role.DOCUMENT)


# --- without the real weights -------------------------------------------------------------------------


def test_a_small_encoder_gives_the_vectors_of_onnx(home: Path, tiny: Path) -> None:
    config = (tiny / "config.json").read_text()
    folder = home / "copy"
    folder.mkdir(parents=True)
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).write_bytes((tiny / name).read_bytes())
    (folder / "config.json").write_text(config.replace("}", ', "intermediate_size": 64}'))
    texts = ["w1 w2 w3", "a w7.", "w5 " * 100]
    embedder = LlamaCppEmbedder(LlamaCppEmbedder.Params(weights=folder, max_tokens=64, threads=1))
    exact = MiniLMEmbedder(MiniLMEmbedder.Params(weights=folder, max_tokens=64))
    rows = embedder.embed(texts, Role.DOCUMENT)
    assert np.sum(rows * exact.embed(texts, Role.DOCUMENT), axis=1).min() > 0.9999
    assert embedder.info.licence == ""
    embedder.close()
    exact.close()


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"junk" * 100)
    for file, message in ((junk, "not a GGUF file"), (tmp_path / "none.gguf", "does not exist")):
        with pytest.raises(ModelNotFoundError, match=message):
            _ = LlamaCppEmbedder(LlamaCppEmbedder.Params(file=file)).info


def test_wrong_combinations_are_refused() -> None:
    with pytest.raises(ValidationError, match="leave those out"):
        LlamaCppEmbedder.Params(file=Path("x.gguf"), quantization="q8")
    with pytest.raises(ValidationError):
        LlamaCppEmbedder.Params.model_validate({"quantization": "q3"})


def test_q4k_is_packed_by_ggml_and_unpacks_to_what_was_packed() -> None:
    rows = np.random.default_rng(7).normal(0, 1, (6, 768)).astype(np.float32)
    rows[0, :32] = 0
    rows[1, :256] = 2.5
    kind = gguf.GGMLQuantizationType.Q4_K
    unpacked = gguf.quants.dequantize(gguf_convert._pack_tensor(rows, kind), kind)
    assert np.abs(unpacked - rows).mean() < 0.06  # steps set by the range of each 32 numbers give 0.065
    assert np.array_equal(unpacked[0, :32], rows[0, :32]) and np.abs(unpacked[1, :256] - 2.5).max() < 0.01


def test_without_the_quantiser_the_error_names_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    with pytest.raises(EmbedderError, match="q8"):
        gguf_convert._pack_tensor(np.zeros((1, 256), np.float32), gguf.GGMLQuantizationType.Q4_K)
