"""What a GGUF file says about its model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf

from bakeoff.errors import ModelNotFoundError

_POOLING = {1: "mean", 2: "cls", 3: "last"}


@dataclass(frozen=True, slots=True)
class GgufModel:
    """Name, vector length, most tokens, pooling and licence, as the file says them."""

    name: str
    dims: int
    positions: int
    pooling: str
    licence: str


def read_gguf(file: Path) -> GgufModel:
    """The model in a GGUF file; raises ModelNotFoundError where it is no such file."""
    if not file.is_file():
        raise ModelNotFoundError(f"{file} is not there. Give the path of a .gguf file.")
    try:
        fields = gguf.GGUFReader(file).fields
        kind = _value(fields, "general.architecture")
        return GgufModel(
            name=str(_value(fields, "general.name", file.stem)),
            dims=int(_value(fields, f"{kind}.embedding_length")),
            positions=int(_value(fields, f"{kind}.context_length")),
            pooling=_POOLING.get(_value(fields, f"{kind}.pooling_type", 0), ""),
            licence=str(_value(fields, "general.license", "")),
        )
    except (ValueError, KeyError, IndexError) as exc:
        raise ModelNotFoundError(f"{file} is not a GGUF file of an embedding model: {exc!r}") from exc


def _value(fields: Any, name: str, default: Any = None) -> Any:
    if name in fields:
        return fields[name].contents()
    if default is None:
        raise KeyError(name)
    return default
