"""Encoders with rotary positions against their formulas, and against vectors that transformers computed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file
from scipy.special import erf

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.bert_graph import build_graph
from bakeoff.plugins.embedders.gguf_convert import _vocabulary
from bakeoff.plugins.embedders.onnx import OnnxEmbedder
from bakeoff.plugins.embedders.rotary_shape import RotaryShape, read_encoder_shape
from bakeoff.types import Role

DIMS, HEADS, INNER, WORDS = 32, 4, 48, 46
REFERENCE = Path(__file__).with_name("rotary_reference.json")
MODERN: dict[str, Any] = {
    "model_type": "modernbert",
    "num_hidden_layers": 4,
    "num_attention_heads": HEADS,
    "hidden_size": DIMS,
    "intermediate_size": INNER,
    "max_position_embeddings": 96,
    "norm_eps": 1e-5,
    "hidden_activation": "gelu",
    "global_attn_every_n_layers": 3,
    "local_attention": 8,
    "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0,
}
NOMIC: dict[str, Any] = {
    "model_type": "nomic_bert",
    "n_layer": 3,
    "n_head": HEADS,
    "n_embd": DIMS,
    "n_inner": INNER,
    "n_positions": 96,
    "layer_norm_epsilon": 1e-12,
    "activation_function": "swiglu",
    "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "prenorm": False,
}


def _normal(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers that any program can make again: a sine of their place."""
    count = int(np.prod(shape))
    return np.sin(np.arange(count) * (1 + seed % 7) + seed).reshape(shape).astype(np.float32)


def _modern_weights() -> dict[str, np.ndarray]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.tok_embeddings.weight": (WORDS, DIMS),
        "embeddings.norm.weight": (DIMS,),
        "final_norm.weight": (DIMS,),
    }
    for number in range(MODERN["num_hidden_layers"]):
        name = f"layers.{number}"
        shapes |= {f"{name}.attn_norm.weight": (DIMS,)} if number else {}
        shapes |= {
            f"{name}.attn.Wqkv.weight": (3 * DIMS, DIMS),
            f"{name}.attn.Wo.weight": (DIMS, DIMS),
            f"{name}.mlp_norm.weight": (DIMS,),
            f"{name}.mlp.Wi.weight": (2 * INNER, DIMS),
            f"{name}.mlp.Wo.weight": (DIMS, INNER),
        }
    return {name: 0.5 * _normal(shape, seed) for seed, (name, shape) in enumerate(shapes.items())}


def _nomic_weights() -> dict[str, np.ndarray]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, DIMS),
        "embeddings.token_type_embeddings.weight": (2, DIMS),
        "emb_ln.weight": (DIMS,),
        "emb_ln.bias": (DIMS,),
    }
    for number in range(NOMIC["n_layer"]):
        name = f"encoder.layers.{number}"
        shapes |= {
            f"{name}.attn.Wqkv.weight": (3 * DIMS, DIMS),
            f"{name}.attn.out_proj.weight": (DIMS, DIMS),
            f"{name}.mlp.fc11.weight": (INNER, DIMS),
            f"{name}.mlp.fc12.weight": (INNER, DIMS),
            f"{name}.mlp.fc2.weight": (DIMS, INNER),
        }
        for norm in ("norm1", "norm2"):
            shapes |= {f"{name}.{norm}.weight": (DIMS,), f"{name}.{norm}.bias": (DIMS,)}
    return {name: 0.5 * _normal(shape, seed) for seed, (name, shape) in enumerate(shapes.items())}


def _write(folder: Path, config: dict[str, Any], weights: dict[str, np.ndarray], prefix: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({prefix + name: values for name, values in weights.items()}, folder / "model.safetensors")
    return folder


@pytest.fixture
def modern(tmp_path: Path) -> Path:
    """A small ModernBERT encoder, whose names begin with model. as those of a masked language model do."""
    return _write(tmp_path / "modern", MODERN, _modern_weights(), "model.")


@pytest.fixture
def nomic(tmp_path: Path) -> Path:
    """A small NomicBERT encoder."""
    return _write(tmp_path / "nomic", NOMIC, _nomic_weights())


def _tokens(folder: Path, ids: np.ndarray) -> np.ndarray:
    graph = build_graph(folder, "tokens").SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    vectors: np.ndarray = session.run(None, {"ids": ids})[0]
    return vectors


IDS = (np.arange(2 * 40).reshape(2, 40) * 7 + np.array([[0], [3]])) % WORDS


@pytest.mark.parametrize("family", ["modern", "nomic"])
def test_graph_equals_the_formulas_in_double_precision(request: pytest.FixtureRequest, family: str) -> None:
    folder = request.getfixturevalue(family)
    assert _tokens(folder, IDS) == pytest.approx(_reference(folder, IDS), abs=2e-5)


@pytest.mark.parametrize("family", ["modern", "nomic"])
def test_graph_equals_what_transformers_computed(request: pytest.FixtureRequest, family: str) -> None:
    expected = np.array(json.loads(REFERENCE.read_text())[family])
    assert _tokens(request.getfixturevalue(family), IDS)[:, ::13] == pytest.approx(expected, abs=2e-5)


GGUF_NAMES = {
    "attn.Wqkv": "attn_qkv",
    "attn.out_proj": "attn_output",
    "norm1": "attn_output_norm",
    "norm2": "layer_output_norm",
    "mlp.fc11": "ffn_up",
    "mlp.fc12": "ffn_gate",
    "mlp.fc2": "ffn_down",
    "embeddings.word_embeddings": "token_embd",
    "embeddings.token_type_embeddings": "token_types",
    "emb_ln": "token_embd_norm",
}


def _write_gguf(file: Path, tokenizer: Path, architecture: str = "nomic-bert") -> Path:
    """The small NomicBERT encoder as llama.cpp's converter would write it, with a WordPiece vocabulary."""
    writer = gguf.GGUFWriter(str(file), architecture)
    writer.add_name("small")
    writer.add_context_length(NOMIC["n_positions"])
    writer.add_embedding_length(DIMS)
    writer.add_block_count(NOMIC["n_layer"])
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(NOMIC["layer_norm_epsilon"])
    writer.add_rope_freq_base(NOMIC["rotary_emb_base"])
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    _vocabulary(writer, tokenizer)
    for name, values in _nomic_weights().items():
        stem, _, end = name.rpartition(".")
        layer = stem.removeprefix("encoder.layers.").partition(".")
        own = f"blk.{layer[0]}.{GGUF_NAMES[layer[2]]}" if stem.startswith("encoder.") else GGUF_NAMES[stem]
        writer.add_tensor(f"{own}.{end}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def test_a_gguf_file_gives_the_vectors_of_the_same_safetensors_weights(
    nomic: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    (tmp_path / "gguf").mkdir()
    _write_gguf(tmp_path / "gguf" / "small.gguf", tiny / "tokenizer.json")
    shutil.copy(tiny / "tokenizer.json", nomic)
    texts = ["w1 w2 W3", "w4 unknown w39.", ""]
    params = ({"folder": tmp_path / "gguf"}, {"folder": nomic, "pooling": "mean"})
    found, expected = (OnnxEmbedder(OnnxEmbedder.Params.model_validate(one)) for one in params)
    assert found.embed(texts, Role.QUERY) == pytest.approx(expected.embed(texts, Role.QUERY), abs=1e-6)
    assert found.count_tokens(texts) == expected.count_tokens(texts)
    info = found.info
    assert (info.name, info.dims, info.pooling) == ("small", DIMS, "mean")
    assert info.max_tokens == NOMIC["n_positions"]


def test_a_gguf_file_of_another_architecture_is_refused(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "gguf").mkdir()
    _write_gguf(tmp_path / "gguf" / "small.gguf", tiny / "tokenizer.json", "bert")
    with pytest.raises(ModelNotFoundError, match="llamacpp"):
        _ = OnnxEmbedder(OnnxEmbedder.Params(folder=tmp_path / "gguf")).info


def test_newer_configuration_of_modernbert_means_the_same(modern: Path, tmp_path: Path) -> None:
    newer = {key: value for key, value in MODERN.items() if not key.startswith(("global_", "local_rope"))}
    newer["layer_types"] = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    newer["rope_parameters"] = {
        "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    }
    other = _write(tmp_path / "newer", newer, {})
    assert read_encoder_shape(other / "config.json") == read_encoder_shape(modern / "config.json")


def test_transformers_own_names_of_nomicbert_mean_the_same(nomic: Path, tmp_path: Path) -> None:
    newer = {
        "model_type": "nomic_bert",
        "num_hidden_layers": 3,
        "num_attention_heads": HEADS,
        "hidden_size": DIMS,
        "hidden_act": "silu",
        "max_position_embeddings": 96,
        "layer_norm_eps": 1e-12,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
    }
    other = _write(tmp_path / "newer", newer, {})
    assert read_encoder_shape(other / "config.json") == read_encoder_shape(nomic / "config.json")


def test_a_stretched_rotation_is_not_used_beyond_the_trained_length(tmp_path: Path) -> None:
    stretched = NOMIC | {"n_positions": 8192, "max_trained_positions": 2048}
    for factor, most in ((None, 8192), (2, 2048)):
        folder = _write(tmp_path, stretched | {"rotary_scaling_factor": factor}, {})
        assert read_encoder_shape(folder / "config.json").positions == most


@pytest.mark.parametrize(
    ("config", "key", "value"),
    [
        (MODERN, "hidden_activation", "relu"),
        (NOMIC, "activation_function", "gelu"),
        (NOMIC, "prenorm", True),
        (NOMIC, "rotary_emb_fraction", 0.5),
        (NOMIC, "num_experts", 8),
    ],
)
def test_what_is_not_computed_is_refused_by_name(
    tmp_path: Path, config: dict[str, Any], key: str, value: object
) -> None:
    _write(tmp_path, config | {key: value}, {})
    with pytest.raises(ModelNotFoundError, match=rf"{key} is {value!r}"):
        read_encoder_shape(tmp_path / "config.json")


@pytest.mark.parametrize("key", ["num_hidden_layers", "norm_eps", "local_attention", "global_rope_theta"])
def test_a_missing_size_is_named(tmp_path: Path, key: str) -> None:
    _write(tmp_path, {name: value for name, value in MODERN.items() if name != key}, {})
    with pytest.raises(ModelNotFoundError, match=key):
        read_encoder_shape(tmp_path / "config.json")


def test_a_missing_tensor_is_named(nomic: Path, tmp_path: Path) -> None:
    weights = {name: values for name, values in _nomic_weights().items() if "1.mlp.fc12" not in name}
    with pytest.raises(ModelNotFoundError, match=r"encoder\.layers\.1\.mlp\.fc12\.weight"):
        build_graph(_write(tmp_path / "damaged", NOMIC, weights))


@pytest.mark.parametrize("family", ["modern", "nomic"])
def test_a_folder_of_safetensors_needs_no_parameter(
    request: pytest.FixtureRequest, family: str, tiny: Path, home: Path
) -> None:
    folder = request.getfixturevalue(family)
    (folder / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    embedder = OnnxEmbedder(OnnxEmbedder.Params(folder=folder))
    texts = ["w1 w2 w3", "w4", " ".join(["w5", "w6"] * 30)]
    together, alone = embedder.embed(texts, Role.DOCUMENT), embedder.embed(texts[2:], Role.DOCUMENT)
    ids = np.array([embedder._tokens.encode(texts[:1])[0]])
    embedder.close()
    expected = _reference(folder, ids)[0, 0]
    assert together[0] == pytest.approx(expected / np.linalg.norm(expected), abs=2e-5)
    assert np.array_equal(together[2], alone[0])
    assert embedder.info.pooling == "cls"
    assert embedder.info.max_tokens == 96


def _rotate(rows: np.ndarray, base: float) -> np.ndarray:
    """Pairs (d, d + half) turned by position × base^(-d / half), in complex numbers."""
    half = rows.shape[-1] // 2
    turn = np.exp(1j * np.outer(np.arange(rows.shape[-2]), base ** (-np.arange(half) / half)))
    turned = (rows[..., :half] + 1j * rows[..., half:]) * turn
    return np.concatenate([turned.real, turned.imag], axis=-1)


def _reference(folder: Path, ids: np.ndarray) -> np.ndarray:
    """The vectors of tokens written out in numpy, float64."""
    shape = read_encoder_shape(folder / "config.json")
    assert isinstance(shape, RotaryShape)
    weights = {
        name.removeprefix("model."): values.astype(np.float64)
        for name, values in load_file(folder / "model.safetensors").items()
    }
    return (_modern_reference if shape.family == "modernbert" else _nomic_reference)(weights, shape, ids)


class _Formulas:
    def __init__(self, weights: dict[str, np.ndarray], shape: RotaryShape) -> None:
        self.weights, self.shape = weights, shape

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + self.shape.epsilon)
        return scaled * self.weights[f"{name}.weight"] + self.weights.get(f"{name}.bias", 0.0)

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T

    def attend(self, x: np.ndarray, name: str, layer: int) -> np.ndarray:
        own = self.shape.attention[layer]
        texts, length, dims = x.shape
        split = self.linear(x, name).reshape(texts, length, 3, self.shape.heads, -1).transpose(2, 0, 3, 1, 4)
        query, key, value = _rotate(split[0], own.base), _rotate(split[1], own.base), split[2]
        logits = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
        apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
        logits = np.where(apart > (length if own.window is None else own.window), -np.inf, logits)
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        mixed = shares / shares.sum(-1, keepdims=True) @ value
        return mixed.transpose(0, 2, 1, 3).reshape(texts, length, dims)


def _modern_reference(weights: dict[str, np.ndarray], shape: RotaryShape, ids: np.ndarray) -> np.ndarray:
    by = _Formulas(weights, shape)
    hidden = by.norm(weights["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
    for layer in range(len(shape.attention)):
        name = f"layers.{layer}"
        before = by.norm(hidden, f"{name}.attn_norm") if layer else hidden
        hidden = hidden + by.linear(by.attend(before, f"{name}.attn.Wqkv", layer), f"{name}.attn.Wo")
        both = by.linear(by.norm(hidden, f"{name}.mlp_norm"), f"{name}.mlp.Wi")
        active, gate = np.split(both, 2, axis=-1)
        hidden = hidden + by.linear(active * 0.5 * (1 + erf(active / np.sqrt(2))) * gate, f"{name}.mlp.Wo")
    return by.norm(hidden, "final_norm")


def _nomic_reference(weights: dict[str, np.ndarray], shape: RotaryShape, ids: np.ndarray) -> np.ndarray:
    by = _Formulas(weights, shape)
    words = weights["embeddings.word_embeddings.weight"][ids]
    hidden = by.norm(words + weights["embeddings.token_type_embeddings.weight"][0], "emb_ln")
    for layer in range(len(shape.attention)):
        name = f"encoder.layers.{layer}"
        mixed = by.linear(by.attend(hidden, f"{name}.attn.Wqkv", layer), f"{name}.attn.out_proj")
        hidden = by.norm(hidden + mixed, f"{name}.norm1")
        gate = by.linear(hidden, f"{name}.mlp.fc12")
        inner = by.linear(hidden, f"{name}.mlp.fc11") * gate / (1 + np.exp(-gate))
        hidden = by.norm(hidden + by.linear(inner, f"{name}.mlp.fc2"), f"{name}.norm2")
    return hidden
