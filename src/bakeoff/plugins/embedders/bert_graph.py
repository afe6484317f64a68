"""Builds an ONNX graph of a BERT sentence encoder from its safetensors weights, without torch.

The graph takes token ids of texts of one exact length, so it needs no padding and no mask, and gives unit
vectors. Residual sums stay apart from LayerNormalization because ONNX Runtime's fused
SkipLayerNormalization was four times slower on the AVX-512 CPU where both were timed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors import SafetensorError
from safetensors.numpy import load_file

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.bert_shape import BertShape, read_shape

_FUSED = "com.microsoft"
_ATTENTION_INPUTS = ("attention.self.query", "attention.self.key", "attention.self.value")


def save_graph(folder: Path, target: Path, quantise: bool, pooled: bool = True) -> None:
    """Write the graph of the encoder in `folder`; quantised, its matrices are int8 with a scale a column.

    Weights use 7 bits: 8 overflow the 16-bit sums of CPUs without VNNI, and products would depend on the CPU.
    """
    graph = build_graph(folder, pooled)
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


def build_graph(folder: Path, pooled: bool = True) -> onnx.ModelProto:
    """The encoder in `folder` as a graph from `ids` (texts × tokens) to `vectors`, one a text or one a token."""
    shape = read_shape(folder / "config.json")
    try:
        graph = _Graph(load_file(folder / "model.safetensors"), shape)
        hidden = graph.embeddings("ids")
        for layer in range(shape.layers):
            hidden = graph.layer(hidden, f"encoder.layer.{layer}")
    except (SafetensorError, KeyError) as exc:
        raise ModelNotFoundError(f"{folder / 'model.safetensors'} is not a BERT encoder's: {exc}") from exc
    if pooled:
        graph.pool(hidden, "vectors")
    else:
        graph.unit_tokens(hidden, "vectors")
    return graph.model(pooled)


class _Graph:
    """Nodes and weights gathered so far; a method adds a part of the encoder and returns its output."""

    def __init__(self, weights: dict[str, np.ndarray], shape: BertShape) -> None:
        self._weights = weights
        self._shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def embeddings(self, ids: str) -> str:
        """Word, position and first-segment embeddings, summed and normalised."""
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        positions = self._weights["embeddings.position_embeddings.weight"] + segment
        words = self._op("Gather", [self._constant("embeddings.word_embeddings.weight"), ids])
        length = self._op("Shape", [ids], start=1, end=2)
        bounds = self._keep("zero", np.array([0], np.int64))
        used = self._op("Slice", [self._keep("positions", positions), bounds, length, bounds])
        return self._normalise(self._op("Add", [words, used]), "embeddings.LayerNorm")

    def layer(self, hidden: str, name: str) -> str:
        """Self-attention and a two-layer perceptron, each added to its input and normalised."""
        attended = self._linear(self._attention(hidden, name), f"{name}.attention.output.dense")
        middle = self._normalise(self._op("Add", [attended, hidden]), f"{name}.attention.output.LayerNorm")
        inner = self._gelu(middle, f"{name}.intermediate.dense")
        outer = self._linear(inner, f"{name}.output.dense")
        return self._normalise(self._op("Add", [outer, middle]), f"{name}.output.LayerNorm")

    def pool(self, hidden: str, output: str) -> None:
        """The mean over tokens at unit length; along the last axis, sums do not depend on the batch."""
        axis = self._keep("last", np.array([2], np.int64))
        across = self._op("Transpose", [hidden], perm=[0, 2, 1])
        mean = self._op("ReduceMean", [across, axis], keepdims=0)
        self._nodes.append(helper.make_node("LpNormalization", [mean], [output], axis=1, p=2))

    def unit_tokens(self, hidden: str, output: str) -> None:
        """A unit vector for each token."""
        self._nodes.append(helper.make_node("LpNormalization", [hidden], [output], axis=2, p=2))

    def model(self, pooled: bool) -> onnx.ModelProto:
        """The graph with the operator sets it needs."""
        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
        rows = ["texts"] if pooled else ["texts", "tokens"]
        vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, [*rows, self._shape.dims])
        graph = helper.make_graph(self._nodes, "bert", [ids], [vectors], list(self._constants.values()))
        operators = [helper.make_opsetid("", 18), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=9)

    def _attention(self, hidden: str, name: str) -> str:
        projected = [
            self._op("MatMul", [hidden, self._matrix(f"{name}.{part}")]) for part in _ATTENTION_INPUTS
        ]
        biases = np.concatenate([self._weights[f"{name}.{part}.bias"] for part in _ATTENTION_INPUTS])
        bias = self._keep(f"{name}.attention.bias", biases)
        return self._op("MultiHeadAttention", [*projected, bias], domain=_FUSED, num_heads=self._shape.heads)

    def _gelu(self, hidden: str, name: str) -> str:
        """A linear layer with the exact (erf) GELU."""
        product = self._op("MatMul", [hidden, self._matrix(name)])
        return self._op("BiasGelu", [product, self._constant(f"{name}.bias")], domain=_FUSED)

    def _linear(self, hidden: str, name: str) -> str:
        product = self._op("MatMul", [hidden, self._matrix(name)])
        return self._op("Add", [product, self._constant(f"{name}.bias")])

    def _normalise(self, hidden: str, name: str) -> str:
        scale, bias = self._constant(f"{name}.weight"), self._constant(f"{name}.bias")
        return self._op("LayerNormalization", [hidden, scale, bias], axis=-1, epsilon=self._shape.epsilon)

    def _matrix(self, name: str) -> str:
        """A linear layer's weights as inputs × outputs."""
        return self._keep(f"{name}.matrix", self._weights[f"{name}.weight"].T)

    def _constant(self, name: str) -> str:
        return self._keep(name, self._weights[name])

    def _keep(self, name: str, values: np.ndarray) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def _op(self, kind: str, inputs: list[str], domain: str = "", **attributes: float | list[int]) -> str:
        output = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output
