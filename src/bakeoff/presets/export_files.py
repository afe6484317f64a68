"""An export: files by name; the same run gives identical bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from bakeoff.errors import SettingError
from bakeoff.storage.cache import write_file

if TYPE_CHECKING:
    import pyarrow as pa

    from bakeoff.presets.export_context import ExportContext


class Shape(BaseModel):
    """One JSON file, or a part of it. Its JSON Schema is named by `title`, or by the class where there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Files:
    """Files by name, the JSON Schema of each JSON file, and notes for their reader."""

    contents: Mapping[str, bytes]
    schemas: Mapping[str, type[BaseModel]]
    notes: tuple[str, ...] = ()

    def write(self, folder: Path, *, overwrite: bool = False) -> list[Path]:
        """Write every file, and each schema once under schemas/."""
        wanted = dict(self.contents)
        for shape in set(self.schemas.values()):
            wanted[f"schemas/{schema_name(shape)}.schema.json"] = schema_bytes(shape)
        there = [folder / name for name in wanted if (folder / name).exists()]
        if there and not overwrite:
            raise SettingError(
                f"{there[0]} already exists. Choose another folder, or replace it with --force."
            )
        for name in sorted(wanted):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(folder / name, wanted[name])
        return [folder / name for name in sorted(wanted)]


Export = Callable[["ExportContext"], Files]


def schema_name(shape: type[BaseModel]) -> str:
    """The published name of a schema, which must not change when a class is renamed."""
    return shape.model_config.get("title") or shape.__name__


def schema_bytes(shape: type[BaseModel]) -> bytes:
    """The JSON Schema of a shape, its parts under their published names too."""
    schema = shape.model_json_schema()
    parts = schema.pop("$defs", {})
    if parts:
        schema["$defs"] = {part["title"]: part for part in parts.values()}
    text = json.dumps(schema, indent=2, sort_keys=True)
    for class_name, part in parts.items():
        text = text.replace(f'"#/$defs/{class_name}"', f'"#/$defs/{part["title"]}"')
    return f"{text}\n".encode()


def json_bytes(shape: BaseModel, *, leave_out_none: bool = False) -> bytes:
    """A shape as JSON; None stays as null, so that unknown is not mistaken for absent."""
    value = shape.model_dump(mode="json", exclude_none=leave_out_none, by_alias=True)
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as Parquet."""
    import pyarrow.parquet as pq

    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def file_name(name: str) -> str:
    """A name as part of a file name: nomic-embed-text stays, BAAI/bge becomes BAAI-bge."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unnamed"
