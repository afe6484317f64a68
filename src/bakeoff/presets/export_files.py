"""What an export is: files by name, the same bytes each time for the same run."""

from __future__ import annotations

import json
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
    """One JSON file, or a part of it; its JSON Schema is made from the class."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Files:
    """Files by name, the JSON Schema of each JSON file, and what a reader of them should know."""

    contents: Mapping[str, bytes]
    schemas: Mapping[str, type[BaseModel]]
    notes: tuple[str, ...] = ()

    def write(self, folder: Path, *, overwrite: bool = False) -> list[Path]:
        """Write every file, and each schema once under schemas/."""
        wanted = dict(self.contents)
        for shape in set(self.schemas.values()):
            text = json.dumps(shape.model_json_schema(), indent=2, sort_keys=True)
            wanted[f"schemas/{shape.__name__}.schema.json"] = f"{text}\n".encode()
        there = [folder / name for name in wanted if (folder / name).exists()]
        if there and not overwrite:
            raise SettingError(
                f"{there[0]} exists already. Choose another folder, or replace it with --force."
            )
        for name in sorted(wanted):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(folder / name, wanted[name])
        return [folder / name for name in sorted(wanted)]


Export = Callable[["ExportContext"], Files]


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
