from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file
from scipy.special import erf

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.bert_graph import build_graph, relative_buckets, save_graph
from bakeoff.plugins.embedders.bert_shape import read_shape


def test_graph_equals_the_formulas_in_double_precision(tiny: Path) -> None:
    ids = np.random.default_rng(1).integers(0, 46, (3, 21))
    session = onnxruntime.InferenceSession(
        build_graph(tiny).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert session.run(None, {"ids": ids})[0] == pytest.approx(_reference(tiny, ids), abs=1e-5)


@pytest.mark.slow
def test_real_weights_equal_the_formulas_in_double_precision(minilm) -> None:
    folder = minilm._weights.folder
    text = "Retrieval is measured on your own documents, not on somebody else's leaderboard."
    ids = np.array(minilm._tokens.encode([text]))
    assert minilm.embed([text], "query") == pytest.approx(_reference(folder, ids), abs=2e-6)


def test_int8_graph_is_smaller_and_near(tiny: Path, tmp_path: Path) -> None:
    save_graph(tiny, tmp_path / "int8.onnx", quantise=True)
    save_graph(tiny, tmp_path / "fp32.onnx", quantise=False)
    ids = np.random.default_rng(2).integers(0, 46, (1, 30))
    one, other = (
        onnxruntime.InferenceSession(tmp_path / name).run(None, {"ids": ids})[0][0]
        for name in ("int8.onnx", "fp32.onnx")
    )
    assert one @ other > 0.98
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("key", "value"),
    [("model_type", "modernbert"), ("hidden_act", "relu"), ("position_embedding_type", "relative_key")],
)
def test_another_architecture_is_refused_by_name(tiny: Path, tmp_path: Path, key: str, value: str) -> None:
    config = json.loads((tiny / "config.json").read_text()) | {key: value}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelNotFoundError, match=rf"{key} is '{value}'"):
        read_shape(tmp_path / "config.json")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"num_hidden_layers": "six"}'])
def test_a_broken_config_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ModelNotFoundError, match=r"config\.json.*BERT"):
        read_shape(tmp_path / "config.json")


def test_missing_or_unreadable_tensors_are_refused(tiny: Path, tmp_path: Path) -> None:
    shutil.copy(tiny / "config.json", tmp_path)
    weights = load_file(tiny / "model.safetensors")
    weights.pop("encoder.layer.1.output.dense.weight")
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(ModelNotFoundError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        build_graph(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelNotFoundError, match="a BERT encoder"):
        build_graph(tmp_path)


def as_mpnet(tiny: Path, folder: Path) -> Path:
    """The tiny encoder with MPNet's names of weights, positions and relative bias."""
    names = {
        "attention.self.query": "attention.attn.q", "attention.self.key": "attention.attn.k",
        "attention.self.value": "attention.attn.v", "attention.output.dense": "attention.attn.o",
        "attention.output.LayerNorm": "attention.LayerNorm",
    }  # fmt: skip
    weights = load_file(tiny / "model.safetensors")
    del weights["embeddings.token_type_embeddings.weight"]
    for old, new in names.items():
        weights = {name.replace(old, new): values for name, values in weights.items()}
    config = json.loads((tiny / "config.json").read_text())
    generator = np.random.default_rng(8)
    weights["encoder.relative_attention_bias.weight"] = generator.normal(
        size=(32, config["num_attention_heads"])
    ).astype(np.float32)
    save_file({f"mpnet.{name}": values for name, values in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "mpnet"}))
    return folder


def test_mpnet_equals_the_formulas_in_double_precision(tiny: Path, tmp_path: Path) -> None:
    """Relative positions by the published buckets: exact up to 8 tokens, then by logarithm up to 128."""
    folder = as_mpnet(tiny, tmp_path)
    ids = np.random.default_rng(1).integers(0, 46, (2, 21))
    graph = build_graph(folder, "tokens").SerializeToString()
    tokens = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, {"ids": ids})[
        0
    ]
    mean = tokens.mean(axis=1)
    expected = _reference(folder, ids)
    assert mean / np.linalg.norm(mean, axis=1, keepdims=True) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("distance", "bucket"), [(0, 0), (1, 1), (7, 7), (8, 8), (16, 10), (127, 15), (300, 15)]
)
def test_buckets_of_relative_positions(distance: int, bucket: int) -> None:
    buckets = relative_buckets(400, 32)
    assert buckets[distance, 0] == bucket
    assert buckets[0, distance] == (bucket + 16 if distance else 0)


def test_roberta_begins_its_positions_at_two(tiny: Path, tmp_path: Path) -> None:
    config = json.loads((tiny / "config.json").read_text())
    shutil.copy(tiny / "model.safetensors", tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "xlm-roberta"}))
    assert read_shape(tmp_path / "config.json").positions == config["max_position_embeddings"] - 2
    ids = np.random.default_rng(1).integers(0, 46, (3, 21))
    session = onnxruntime.InferenceSession(
        build_graph(tmp_path).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert session.run(None, {"ids": ids})[0] == pytest.approx(_reference(tmp_path, ids), abs=1e-5)


def _bucket(distance: int) -> int:
    """MPNet's own rule, in scalars."""
    side, far = (16 if distance < 0 else 0), abs(distance)
    return side + (far if far < 8 else min(15, 8 + int(np.log(far / 8) / np.log(128 / 8) * 8)))


def _reference(folder: Path, ids: np.ndarray) -> np.ndarray:
    """The encoder with mean pooling written out in numpy, float64."""
    shape = read_shape(folder / "config.json")
    family = shape.family
    weights = {
        name.removeprefix("mpnet."): values.astype(np.float64)
        for name, values in load_file(folder / "model.safetensors").items()
    }
    bias = np.zeros(1)
    if family.relative_bias:
        table, length = weights[family.relative_bias], ids.shape[1]
        bias = np.array([[table[_bucket(i - j)] for j in range(length)] for i in range(length)]).transpose(
            2, 0, 1
        )

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + shape.epsilon)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def heads(x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], shape.heads, -1).transpose(0, 2, 1, 3)

    hidden = weights["embeddings.word_embeddings.weight"][ids]
    if family.segments:
        hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    first = family.before_positions
    positions = weights["embeddings.position_embeddings.weight"][first : first + ids.shape[1]]
    hidden = norm(hidden + positions, "embeddings.LayerNorm")
    for number in range(shape.layers):
        name = f"encoder.layer.{number}"
        query, key, value = (
            heads(linear(hidden, f"{name}.{p}")) for p in (family.query, family.key, family.value)
        )
        logits = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1]) + bias
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ value
        mixed = mixed.transpose(0, 2, 1, 3).reshape(hidden.shape)
        hidden = norm(linear(mixed, f"{name}.{family.attended}") + hidden, f"{name}.{family.attended_norm}")
        inner = linear(hidden, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
        hidden = norm(linear(inner, f"{name}.output.dense") + hidden, f"{name}.output.LayerNorm")
    mean = hidden.mean(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)
