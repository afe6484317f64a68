"""The parts of an encoder with rotary positions (ModernBERT, NomicBERT) as nodes of an ONNX graph."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bakeoff.plugins.embedders.graph_builder import FUSED, GraphBuilder
from bakeoff.plugins.embedders.rotary_shape import RotaryAttention, RotaryShape

_OUTSIDE = np.float32(-1e9)
"""Added to the score of a token outside the window: its share of attention becomes 0."""


class RotaryGraph(GraphBuilder):
    """An encoder whose queries and keys are turned by their positions, and whose perceptron is gated."""

    bias_required: ClassVar[bool] = False

    def __init__(self, weights: dict[str, np.ndarray], shape: RotaryShape) -> None:
        super().__init__(weights, shape.dims, shape.epsilon)
        self._shape = shape
        self._windows: dict[int, str] = {}

    def encode(self, ids: str) -> str:
        """The vector of each token after the last layer."""
        if self._shape.family == "modernbert":
            return self._modern(ids)
        return self._nomic(ids)

    def _modern(self, ids: str) -> str:
        """ModernBERT: each part normalises its input, except the first attention, whose input is normalised."""
        words = self._op("Gather", [self._constant("embeddings.tok_embeddings.weight"), ids])
        hidden = self._normalise(words, "embeddings.norm")
        for number, attention in enumerate(self._shape.attention):
            name = f"layers.{number}"
            before = self._normalise(hidden, f"{name}.attn_norm") if number else hidden
            mixed = self._attention(before, f"{name}.attn", attention, ids)
            hidden = self._op("Add", [hidden, self._linear(mixed, f"{name}.attn.Wo")])
            before = self._normalise(hidden, f"{name}.mlp_norm")
            active, gate = (self._part(before, f"{name}.mlp.Wi", half, 2) for half in range(2))
            gated = self._op("Mul", [self._op("Gelu", [active], domain=FUSED), gate])
            hidden = self._op("Add", [hidden, self._linear(gated, f"{name}.mlp.Wo")])
        return self._normalise(hidden, "final_norm")

    def _nomic(self, ids: str) -> str:
        """NomicBERT: each part is added to its input, and the sum is normalised."""
        words = self._op("Gather", [self._constant("embeddings.word_embeddings.weight"), ids])
        segment = self._keep("segment", self._weights["embeddings.token_type_embeddings.weight"][0])
        hidden = self._normalise(self._op("Add", [words, segment]), "emb_ln")
        for number, attention in enumerate(self._shape.attention):
            name = f"encoder.layers.{number}"
            mixed = self._attention(hidden, f"{name}.attn", attention, ids)
            attended = self._linear(mixed, f"{name}.attn.out_proj")
            hidden = self._normalise(self._op("Add", [attended, hidden]), f"{name}.norm1")
            gate = self._op(
                "QuickGelu", [self._linear(hidden, f"{name}.mlp.fc12")], domain=FUSED, alpha=1.0
            )  # with alpha 1 it is SiLU
            gated = self._op("Mul", [self._linear(hidden, f"{name}.mlp.fc11"), gate])
            outer = self._linear(gated, f"{name}.mlp.fc2")
            hidden = self._normalise(self._op("Add", [outer, hidden]), f"{name}.norm2")
        return hidden

    def _attention(self, hidden: str, name: str, attention: RotaryAttention, ids: str) -> str:
        query, key, value = (self._part(hidden, f"{name}.Wqkv", number, 3) for number in range(3))
        turned = [self._turn(one, attention.base) for one in (query, key)]
        window = [] if attention.window is None else ["", "", self._window(ids, attention.window)]
        return self._op(
            "MultiHeadAttention", [*turned, value, *window], domain=FUSED, num_heads=self._shape.heads
        )

    def _part(self, hidden: str, name: str, number: int, parts: int) -> str:
        """One of the equal parts that a linear layer's outputs consist of."""
        weights = np.split(self._weights[f"{name}.weight"], parts)[number]
        product = self._op("MatMul", [hidden, self._keep(f"{name}.matrix.{number}", weights.T)])
        if not self._has_bias(name):
            return product
        bias = np.split(self._weights[f"{name}.bias"], parts)[number]
        return self._op("Add", [product, self._keep(f"{name}.bias.{number}", bias)])

    def _turn(self, rows: str, base: float) -> str:
        half = self._shape.dims // self._shape.heads // 2
        angles = np.outer(np.arange(self._shape.positions), base ** (-np.arange(half) / half))
        first = self._keep("first position", np.array([0], np.int64))
        cosines = self._keep(f"cosines {base}", np.cos(angles).astype(np.float32))
        sines = self._keep(f"sines {base}", np.sin(angles).astype(np.float32))
        return self._op("RotaryEmbedding", [rows, first, cosines, sines], domain=FUSED)

    def _window(self, ids: str, width: int) -> str:
        """What is added to the score of each pair of tokens: 0 within the window (1 × 1 × tokens × tokens)."""
        if width not in self._windows:
            length = self._op("Squeeze", [self._op("Shape", [ids], start=1, end=2)])
            zero, one = (self._keep(f"scalar {n}", np.array(n, np.int64)) for n in range(2))
            positions = self._op("Range", [zero, length, one])
            columns = self._op("Unsqueeze", [positions, self._keep("column", np.array([1], np.int64))])
            distance = self._op("Abs", [self._op("Sub", [columns, positions])])
            outside = self._op("Greater", [distance, self._keep(f"width {width}", np.array(width, np.int64))])
            scores = [
                self._keep("outside", _OUTSIDE.reshape(1)),
                self._keep("inside", np.zeros(1, np.float32)),
            ]
            square = self._op("Where", [outside, *scores])
            self._windows[width] = self._op(
                "Unsqueeze", [square, self._keep("first two", np.array([0, 1], np.int64))]
            )
        return self._windows[width]
