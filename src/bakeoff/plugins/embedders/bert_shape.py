"""The sizes of a BERT encoder as its config.json says them, read without any heavy import."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import ModelNotFoundError

GRAPH_VERSION = "1"
"""Changes when the graph made from the same weights would give other vectors."""

_BUILDABLE = (("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute"))


@dataclass(frozen=True, slots=True)
class BertShape:
    """Layers, attention heads, vector length, most tokens, and the constant of layer normalisation."""

    layers: int
    heads: int
    dims: int
    positions: int
    epsilon: float


def read_shape(config: Path) -> BertShape:
    """The encoder's sizes; refuses an architecture that the graph would compute wrongly."""
    try:
        values = json.loads(config.read_text(encoding="utf-8"))
        for key, value in _BUILDABLE:
            if values.get(key, value) != value:
                raise ModelNotFoundError(
                    f"{config}: {key} is {values[key]!r}, only {value!r} can be built. Give a BERT encoder."
                )
        return BertShape(
            layers=int(values["num_hidden_layers"]),
            heads=int(values["num_attention_heads"]),
            dims=int(values["hidden_size"]),
            positions=int(values["max_position_embeddings"]),
            epsilon=float(values["layer_norm_eps"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as exc:
        raise ModelNotFoundError(f"{config} is not the config.json of a BERT encoder ({exc!r}).") from exc
