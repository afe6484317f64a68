"""What a GGUF file says about its model, and how one made here is kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf

from bakeoff.errors import ModelNotFoundError
from bakeoff.weights import sha256

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


def keep_gguf(folder: Path, stem: str, make: Callable[[Path], None]) -> Path:
    """A file made once and named by its own hash, so that a damaged one is made again instead of used."""
    for kept in sorted(folder.glob(f"{stem}.*.gguf")):
        if kept.name == f"{stem}.{sha256(kept)[:16]}.gguf":
            return kept
        kept.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".make-", dir=folder) as scratch:
        made = Path(scratch) / "model.gguf"
        make(made)
        target = folder / f"{stem}.{sha256(made)[:16]}.gguf"
        with made.open("rb") as file:
            os.fsync(file.fileno())
        made.replace(target)
    return target


def _value(fields: Any, name: str, default: Any = None) -> Any:
    if name in fields:
        return fields[name].contents()
    if default is None:
        raise KeyError(name)
    return default
