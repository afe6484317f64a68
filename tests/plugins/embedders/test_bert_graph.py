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
from bakeoff.plugins.embedders.bert_graph import build_graph, save_graph
from bakeoff.plugins.embedders.bert_shape import read_shape


def test_graph_equals_the_formulas_in_double_precision(tiny: Path) -> None:
    ids = np.random.default_rng(1).integers(0, 46, (3, 21))
    session = onnxruntime.InferenceSession(
        build_graph(tiny).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert session.run(None, {"ids": ids})[0] == pytest.approx(_reference(tiny, ids), abs=1e-5)


def test_real_weights_equal_the_formulas_in_double_precision(minilm) -> None:
    folder = minilm._found.folder
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
    [("model_type", "roberta"), ("hidden_act", "relu"), ("position_embedding_type", "relative_key")],
)
def test_another_architecture_is_refused_by_name(tiny: Path, tmp_path: Path, key: str, value: str) -> None:
    config = json.loads((tiny / "config.json").read_text()) | {key: value}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelNotFoundError, match=rf"{key} is '{value}'"):
        read_shape(tmp_path / "config.json")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"num_hidden_layers": "six"}'])
def test_a_broken_config_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ModelNotFoundError, match=r"not the config\.json of a BERT encoder"):
        read_shape(tmp_path / "config.json")


def test_missing_or_unreadable_tensors_are_refused(tiny: Path, tmp_path: Path) -> None:
    shutil.copy(tiny / "config.json", tmp_path)
    weights = load_file(tiny / "model.safetensors")
    weights.pop("encoder.layer.1.output.dense.weight")
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(ModelNotFoundError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        build_graph(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelNotFoundError, match=r"not a BERT encoder's"):
        build_graph(tmp_path)


def _reference(folder: Path, ids: np.ndarray) -> np.ndarray:
    """BERT with mean pooling written out in numpy, float64."""
    shape = read_shape(folder / "config.json")
    weights = {
        name: values.astype(np.float64) for name, values in load_file(folder / "model.safetensors").items()
    }

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + shape.epsilon)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def heads(x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], shape.heads, -1).transpose(0, 2, 1, 3)

    hidden = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    hidden = norm(
        hidden + weights["embeddings.position_embeddings.weight"][: ids.shape[1]], "embeddings.LayerNorm"
    )
    for number in range(shape.layers):
        name = f"encoder.layer.{number}"
        query, key, value = (
            heads(linear(hidden, f"{name}.attention.self.{p}")) for p in ("query", "key", "value")
        )
        logits = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ value
        mixed = mixed.transpose(0, 2, 1, 3).reshape(hidden.shape)
        hidden = norm(
            linear(mixed, f"{name}.attention.output.dense") + hidden, f"{name}.attention.output.LayerNorm"
        )
        inner = linear(hidden, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
        hidden = norm(linear(inner, f"{name}.output.dense") + hidden, f"{name}.output.LayerNorm")
    mean = hidden.mean(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)
