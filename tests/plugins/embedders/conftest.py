"""A BERT encoder with random weights that takes milliseconds, and the real one where it is at hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.storage.weights import find

sys.path.insert(
    0, str(Path(__file__).parent)
)  # test modules share loopback.py, which importlib mode does not find

LAYERS, HEADS, DIMS, INNER, POSITIONS = 2, 4, 32, 64, 64
WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three files of a small BERT encoder."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    tokenizer = _tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(_weights(tokenizer.get_vocab_size()), folder / "model.safetensors")
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": DIMS,
        "max_position_embeddings": POSITIONS,
        "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what is kept between runs."""
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def minilm() -> Iterator[MiniLMEmbedder]:
    """The real model in fp32."""
    yield from _real("fp32")


@pytest.fixture(scope="module")
def minilm_int8() -> Iterator[MiniLMEmbedder]:
    """The real model in int8."""
    yield from _real("int8")


def _real(precision: str) -> Iterator[MiniLMEmbedder]:
    try:
        find("minilm")
    except ModelNotFoundError:
        pytest.skip("run make models")
    embedder = MiniLMEmbedder(MiniLMEmbedder.Params.model_validate({"precision": precision}))
    yield embedder
    embedder.close()


def _tokenizer() -> Tokenizer:
    vocabulary = {
        token: row for row, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, ".", "a"])
    }
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    return tokenizer


def _weights(vocabulary: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, DIMS),
        "embeddings.position_embeddings.weight": (POSITIONS, DIMS),
        "embeddings.token_type_embeddings.weight": (2, DIMS),
        "embeddings.LayerNorm.weight": (DIMS,),
        "embeddings.LayerNorm.bias": (DIMS,),
    }
    for layer in range(LAYERS):
        linear = {
            "attention.self.query": (DIMS, DIMS),
            "attention.self.key": (DIMS, DIMS),
            "attention.self.value": (DIMS, DIMS),
            "attention.output.dense": (DIMS, DIMS),
            "intermediate.dense": (INNER, DIMS),
            "output.dense": (DIMS, INNER),
            "attention.output.LayerNorm": (DIMS,),
            "output.LayerNorm": (DIMS,),
        }
        for name, shape in linear.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    return {name: generator.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
