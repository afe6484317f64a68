"""Reads the metadata of a GGUF model file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from bakeoff.errors import ModelNotFoundError

_POOLING = {1: "mean", 2: "cls", 3: "last"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufModel:
    """Name, vector length, token limit, pooling and licence from the file."""

    name: str
    dims: int
    positions: int
    pooling: str
    licence: str


class GgufReader(gguf.GGUFReader):
    """Stops at the end of the file: the library would read on for as long as the header claims."""

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
        if int(offset) + int(count) * np.dtype(dtype).itemsize > len(self.data):
            raise ValueError("it is cut off")
        return super()._get(offset, dtype, count, override_order)


def read_gguf(file: Path) -> GgufModel:
    """The model in a GGUF file; raises ModelNotFoundError for any other file."""
    if not file.is_file():
        raise ModelNotFoundError(f"{file} does not exist. Give the path of a .gguf file.")
    try:
        fields = GgufReader(file).fields
        kind = field_value(fields, "general.architecture")
        return GgufModel(
            name=str(field_value(fields, "general.name", file.stem)),
            dims=int(field_value(fields, f"{kind}.embedding_length")),
            positions=int(field_value(fields, f"{kind}.context_length")),
            pooling=_POOLING.get(field_value(fields, f"{kind}.pooling_type", 0), ""),
            licence=str(field_value(fields, "general.license", "")),
        )
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as exc:
        raise ModelNotFoundError(f"{file} is not a GGUF file of an embedding model: {exc!r}") from exc


def field_value(fields: Any, name: str, default: Any = None) -> Any:
    """A field's content; raises KeyError if it is missing and has no default."""
    if name in fields:
        return fields[name].contents()
    if default is None:
        raise KeyError(name)
    return default
