"""The sizes of an encoder with rotary positions (ModernBERT, NomicBERT) as its config.json gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.bert_shape import ROTARY_TYPES, BertShape, read_shape
from bakeoff.types import JsonObject

_MODERN, _NOMIC = ROTARY_TYPES
_ON_WHOLE, _ON_WINDOW = "full_attention", "sliding_attention"
_MODERN_ONLY = {"hidden_activation": "gelu"}
_NOMIC_ONLY = {
    "activation_function": "swiglu",
    "hidden_act": "silu",
    "prenorm": False,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "use_rms_norm": False,
    "num_experts": 0,
}
"""What the graph computes; any other value would need other nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaryAttention:
    """How one layer attends: the base of its rotation, and how many tokens it sees on each side (None: all)."""

    base: float
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaryShape:
    """Family, attention of each layer, heads, vector length, most tokens, the constant of layer normalisation."""

    family: Literal["modernbert", "nomic_bert"]
    attention: tuple[RotaryAttention, ...]
    heads: int
    dims: int
    positions: int
    epsilon: float


def read_encoder_shape(config: Path) -> BertShape | RotaryShape:
    """The sizes of an encoder of any family; refuses an architecture that the graph would compute wrongly."""
    try:
        values = json.loads(config.read_text(encoding="utf-8"))
        family = values.get("model_type")
        if family == _MODERN:
            return _modern(config, values)
        if family == _NOMIC:
            return _nomic(config, values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as exc:
        raise ModelNotFoundError(f"{config} is not the config.json of a BERT encoder ({exc!r}).") from exc
    return read_shape(config)


def _modern(config: Path, values: JsonObject) -> RotaryShape:
    _require(config, values, _MODERN_ONLY)
    layers = int(values["num_hidden_layers"])
    return RotaryShape(
        family="modernbert",
        attention=tuple(_modern_attention(values, kind) for kind in _layer_kinds(values, layers)),
        heads=int(values["num_attention_heads"]),
        dims=int(values["hidden_size"]),
        positions=int(values["max_position_embeddings"]),
        epsilon=float(values["norm_eps"]),
    )


def _layer_kinds(values: JsonObject, layers: int) -> list[str]:
    """Which layers see the whole text: listed in newer files, every n-th in older ones."""
    listed = values.get("layer_types")
    if isinstance(listed, list):
        if len(listed) != layers or set(listed) - {_ON_WHOLE, _ON_WINDOW}:
            raise ValueError(f"layer_types is {listed!r} for {layers} layers")
        return listed
    every = int(values["global_attn_every_n_layers"])
    return [_ON_WINDOW if number % every else _ON_WHOLE for number in range(layers)]


def _modern_attention(values: JsonObject, kind: str) -> RotaryAttention:
    whole = kind == _ON_WHOLE
    rotation = values.get("rope_parameters")
    if isinstance(rotation, dict):
        base = _theta(rotation[kind])
    else:
        base = float(values["global_rope_theta" if whole else "local_rope_theta"])
    return RotaryAttention(base=base, window=None if whole else int(values["local_attention"]) // 2)


def _nomic(config: Path, values: JsonObject) -> RotaryShape:
    """The maker's names of sizes, or those of transformers."""
    _require(config, values, _NOMIC_ONLY)
    rotation = values.get("rope_parameters") or {"rope_theta": values.get("rotary_emb_base")}
    layer = RotaryAttention(base=_theta(rotation))
    return RotaryShape(
        family="nomic_bert",
        attention=(layer,) * int(_either(values, "n_layer", "num_hidden_layers")),
        heads=int(_either(values, "n_head", "num_attention_heads")),
        dims=int(_either(values, "n_embd", "hidden_size")),
        positions=_nomic_positions(values),
        epsilon=float(_either(values, "layer_norm_epsilon", "layer_norm_eps")),
    )


def _nomic_positions(values: JsonObject) -> int:
    """Where a factor stretches the rotation of longer texts, only the length that it was trained on is computed."""
    most = int(_either(values, "n_positions", "max_position_embeddings"))
    return min(most, int(values["max_trained_positions"])) if values.get("rotary_scaling_factor") else most


def _either(values: JsonObject, name: str, other: str) -> Any:
    return values[name] if name in values else values[other]


def _theta(rotation: Any) -> float:
    if rotation.get("rope_type", "default") != "default":
        raise ValueError(f"rope_type is {rotation['rope_type']!r}; only 'default' is computed")
    return float(rotation["rope_theta"])


def _require(config: Path, values: JsonObject, only: Mapping[str, object]) -> None:
    for key, value in only.items():
        if values.get(key, value) != value:
            raise ModelNotFoundError(
                f"{config}: {key} is {values[key]!r}, only {value!r} can be built. Give an ONNX export or a GGUF file "
                "of this model."
            )
