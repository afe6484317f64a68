"""Gathers the nodes and weights of an encoder's ONNX graph, which takes texts of one exact length."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FUSED = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""


class GraphBuilder:
    """Nodes and weights gathered so far; a method adds a part of the encoder and returns its output.

    A missing bias is an error, except in families that may have none.
    """

    bias_required: ClassVar[bool] = True

    def __init__(self, weights: dict[str, np.ndarray], dims: int, epsilon: float) -> None:
        self._weights = weights
        self._dims = dims
        self._epsilon = epsilon
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def pool(self, hidden: str, output: str) -> None:
        """The mean over tokens at unit length; along the last axis, sums do not depend on the batch."""
        axis = self._keep("last", np.array([2], np.int64))
        across = self._op("Transpose", [hidden], perm=[0, 2, 1])
        mean = self._op("ReduceMean", [across, axis], keepdims=0)
        self._nodes.append(helper.make_node("LpNormalization", [mean], [output], axis=1, p=2))

    def tokens(self, hidden: str, output: str) -> None:
        """The vector of each token as it is."""
        self._nodes.append(helper.make_node("Identity", [hidden], [output]))

    def model(self, pooled: bool) -> onnx.ModelProto:
        """The graph with the operator sets it needs."""
        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
        rows = ["texts"] if pooled else ["texts", "tokens"]
        vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, [*rows, self._dims])
        graph = helper.make_graph(self._nodes, "encoder", [ids], [vectors], list(self._constants.values()))
        operators = [helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=9)

    def _linear(self, hidden: str, name: str) -> str:
        """A linear layer, with its bias where it has one."""
        product = self._op("MatMul", [hidden, self._matrix(name)])
        return self._op("Add", [product, self._constant(f"{name}.bias")]) if self._has_bias(name) else product

    def _normalise(self, hidden: str, name: str) -> str:
        parts = [self._constant(f"{name}.weight")]
        if self._has_bias(name):
            parts.append(self._constant(f"{name}.bias"))
        return self._op("LayerNormalization", [hidden, *parts], axis=-1, epsilon=self._epsilon)

    def _has_bias(self, name: str) -> bool:
        return self.bias_required or f"{name}.bias" in self._weights

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
