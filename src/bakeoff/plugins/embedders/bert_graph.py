"""Builds an ONNX graph of a sentence encoder (BERT, RoBERTa, MPNet) from its safetensors weights, without torch.

The graph takes token ids of texts of equal length, so it needs no padding or mask, and returns unit vectors,
or one vector per token. Residual sums are kept separate from LayerNormalization because ONNX Runtime's fused
SkipLayerNormalization was four times slower on the AVX-512 CPU where both were timed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors import SafetensorError
from safetensors.numpy import load_file

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.bert_shape import GGUF, BertShape
from bakeoff.plugins.embedders.graph_builder import FUSED, GraphBuilder
from bakeoff.plugins.embedders.rotary_graph import RotaryGraph
from bakeoff.plugins.embedders.rotary_shape import RotaryShape, read_encoder_shape

_WORDS = "embeddings.word_embeddings.weight"
_FIRST_TENSORS = (_WORDS, "embeddings.tok_embeddings.weight")
_FARTHEST = 128  # tokens; farther ones share the last bucket of MPNet's relative positions

Output = Literal["mean", "tokens"]
"""Output of a graph: the unit mean of a text's tokens, or the vector of each token."""


def save_graph(folder: Path, target: Path, quantise: bool, output: Output = "mean") -> None:
    """Write the graph of the encoder in a folder or GGUF file; quantised, its matrices are int8, a scale per column.

    Weights use 7 bits: 8 overflow the 16-bit sums of CPUs without VNNI, and products would depend on the CPU.
    """
    graph = _gguf_graph(folder, output) if folder.suffix == GGUF else build_graph(folder, output)
    if not quantise:
        onnx.save(graph, target)
        return
    helper.set_model_props(
        graph, {"onnx.quant.pre_process": "onnxruntime.quant"}
    )  # else it warns on the root logger
    quantize_dynamic(
        graph,
        target,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


def build_graph(folder: Path, output: Output = "mean") -> onnx.ModelProto:
    """The encoder in `folder` as a graph from `ids` (texts × tokens) to `vectors`, one per text or token."""
    shape = read_encoder_shape(folder / "config.json")
    try:
        return _encoder_graph(_weights(folder / "model.safetensors"), shape, output)
    except (SafetensorError, KeyError) as exc:
        raise ModelNotFoundError(f"{folder / 'model.safetensors'} is not a BERT encoder's: {exc}") from exc


def _gguf_graph(file: Path, output: Output) -> onnx.ModelProto:
    from bakeoff.plugins.embedders.gguf_encoder import GgufEncoder

    encoder = GgufEncoder(file)
    try:
        return _encoder_graph(encoder.weights(), encoder.shape(), output)
    except (KeyError, ValueError) as exc:
        raise ModelNotFoundError(f"{file} does not hold a NomicBERT encoder: {exc!r}") from exc


def _encoder_graph(
    weights: dict[str, np.ndarray], shape: BertShape | RotaryShape, output: Output
) -> onnx.ModelProto:
    graph = BertGraph(weights, shape) if isinstance(shape, BertShape) else RotaryGraph(weights, shape)
    hidden = graph.encode("ids")
    {"mean": graph.pool, "tokens": graph.tokens}[output](hidden, "vectors")
    return graph.model(pooled=output == "mean")


def _weights(file: Path) -> dict[str, np.ndarray]:
    """The tensors as float32, without the family prefix that some files add to their names."""
    tensors = load_file(file)
    first = next(((name, end) for name in tensors for end in _FIRST_TENSORS if name.endswith(end)), ("", ""))
    prefix = first[0].removesuffix(first[1])
    return {
        name.removeprefix(prefix): np.asarray(values, np.float32)
        for name, values in tensors.items()
        if name.startswith(prefix) and values.dtype.kind == "f"
    }


def relative_buckets(tokens: int, buckets: int) -> np.ndarray:
    """Bucket of each pair of positions (row: from, column: to): exact when near, logarithmic when far."""
    half = buckets // 2
    exact = half // 2
    distance = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    near = np.abs(distance)
    with np.errstate(divide="ignore"):
        steps = np.log(near / exact) / np.log(_FARTHEST / exact) * (half - exact)
    far = np.minimum(exact + np.where(near < exact, 0, steps).astype(np.int64), half - 1)
    return np.where(distance < 0, half, 0) + np.where(near < exact, near, far)


class BertGraph(GraphBuilder):
    """Nodes and weights collected so far; each method adds a part of the encoder and returns its output."""

    def __init__(self, weights: dict[str, np.ndarray], shape: BertShape) -> None:
        super().__init__(weights, shape.dims, shape.epsilon)
        self._shape = shape
        self._bias = ""

    def encode(self, ids: str) -> str:
        """The vector of each token after the last layer."""
        hidden = self._embeddings(ids)
        for layer in range(self._shape.layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        return hidden

    def _embeddings(self, ids: str) -> str:
        """Word, position and first-segment embeddings, summed and normalised."""
        family = self._shape.family
        positions = self._weights["embeddings.position_embeddings.weight"][family.before_positions :]
        if family.segments:
            positions = positions + self._weights["embeddings.token_type_embeddings.weight"][0]
        words = self._op("Gather", [self._constant(_WORDS), ids])
        length = self._op("Shape", [ids], start=1, end=2)
        bounds = self._keep("zero", np.array([0], np.int64))
        used = self._op("Slice", [self._keep("positions", positions), bounds, length, bounds])
        self._bias = self._relative_bias(length) if family.relative_bias else ""
        return self._normalise(self._op("Add", [words, used]), "embeddings.LayerNorm")

    def _layer(self, hidden: str, name: str) -> str:
        """Self-attention and a two-layer perceptron, each added to its input and normalised."""
        family = self._shape.family
        attended = self._linear(self._attention(hidden, name), f"{name}.{family.attended}")
        middle = self._normalise(self._op("Add", [attended, hidden]), f"{name}.{family.attended_norm}")
        inner = self._gelu(middle, f"{name}.intermediate.dense")
        outer = self._linear(inner, f"{name}.output.dense")
        return self._normalise(self._op("Add", [outer, middle]), f"{name}.output.LayerNorm")

    def _attention(self, hidden: str, name: str) -> str:
        family = self._shape.family
        inputs = (family.query, family.key, family.value)
        projected = [self._op("MatMul", [hidden, self._matrix(f"{name}.{part}")]) for part in inputs]
        biases = np.concatenate([self._weights[f"{name}.{part}.bias"] for part in inputs])
        bias = self._keep(f"{name}.attention.bias", biases)
        relative = ["", self._bias] if self._bias else []
        return self._op(
            "MultiHeadAttention", [*projected, bias, *relative], domain=FUSED, num_heads=self._shape.heads
        )

    def _relative_bias(self, length: str) -> str:
        """MPNet's bias for each pair of tokens, by distance: 1 × heads × tokens × tokens."""
        table = self._weights[self._shape.family.relative_bias]
        buckets = relative_buckets(self._shape.positions, len(table))
        whole = self._keep("relative bias", table[buckets].transpose(2, 0, 1)[None])
        ends = self._op("Concat", [length, length], axis=0)
        zeros = self._keep("two zeros", np.array([0, 0], np.int64))
        axes = self._keep("last two", np.array([2, 3], np.int64))
        return self._op("Slice", [whole, zeros, ends, axes])

    def _gelu(self, hidden: str, name: str) -> str:
        """A linear layer with the exact (erf) GELU."""
        product = self._op("MatMul", [hidden, self._matrix(name)])
        return self._op("BiasGelu", [product, self._constant(f"{name}.bias")], domain=FUSED)
