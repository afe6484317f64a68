"""The sizes of an encoder from its config.json, and its family's weight layout; no heavy import."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import ModelNotFoundError

GRAPH_VERSION = "1"
"""Changes when the graph built from the same weights would return other vectors."""

GGUF = ".gguf"
"""Suffix of a file with weights, sizes and vocabulary, as llama.cpp reads it."""

ROTARY_TYPES = ("modernbert", "nomic_bert")
"""The `model_type` of families with rotary positions, whose sizes rotary_shape.py reads."""

_BUILDABLE = (("hidden_act", "gelu"), ("position_embedding_type", "absolute"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderFamily:
    """How a family of encoders differs from BERT: weight names, first position, relative positions.

    `before_positions` rows of the position table precede the first token's.
    """

    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    attended: str = "attention.output.dense"
    attended_norm: str = "attention.output.LayerNorm"
    segments: bool = True
    before_positions: int = 0
    relative_bias: str = ""


_ROBERTA = EncoderFamily(before_positions=2)
FAMILIES = {
    "bert": EncoderFamily(),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "mpnet": EncoderFamily(
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        attended="attention.attn.o",
        attended_norm="attention.LayerNorm",
        segments=False,
        before_positions=2,
        relative_bias="encoder.relative_attention_bias.weight",
    ),
}
"""Families by the `model_type` of config.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """Layers, attention heads, vector length, most tokens, the constant of layer normalisation, and the family."""

    layers: int
    heads: int
    dims: int
    positions: int
    epsilon: float
    family: EncoderFamily = FAMILIES["bert"]


def read_shape(config: Path, families: tuple[str, ...] = tuple(FAMILIES)) -> BertShape:
    """Read the encoder's sizes; raises for an architecture the graph would compute wrongly."""
    try:
        values = json.loads(config.read_text(encoding="utf-8"))
        family = FAMILIES[_family_name(config, values, families)]
        return BertShape(
            layers=int(values["num_hidden_layers"]),
            heads=int(values["num_attention_heads"]),
            dims=int(values["hidden_size"]),
            positions=int(values["max_position_embeddings"]) - family.before_positions,
            epsilon=float(values["layer_norm_eps"]),
            family=family,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as exc:
        raise ModelNotFoundError(f"{config} is not the config.json of a BERT encoder ({exc!r}).") from exc


def _family_name(config: Path, values: dict[str, object], families: tuple[str, ...]) -> str:
    name = str(values.get("model_type", "bert"))
    if name not in families:
        raise ModelNotFoundError(
            f"{config}: model_type is {name!r}; only {', '.join(families)} can be converted. Give an ONNX "
            "export "
            "or a GGUF file of this model, or use sentence_transformers."
        )
    for key, value in _BUILDABLE:
        if values.get(key, value) != value:
            raise ModelNotFoundError(
                f"{config}: {key} is {values[key]!r}, only {value!r} is supported. Give an ONNX export of "
                "this model."
            )
    return name
