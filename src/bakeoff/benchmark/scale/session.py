"""A measurement over growing sizes, of vectors or documents: its rows, record and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.benchmark.results.power_law import PowerLaw
from bakeoff.benchmark.results.records import make_record, write_record
from bakeoff.benchmark.results.scale_results import ScaleRow, fits_of, write_scale_rows
from bakeoff.benchmark.session import Session
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(slots=True, kw_only=True)
class ScaleSession(Session):
    """The rows so far; `failed` is why a system has no rows from some size on."""

    options: DataclassInstance
    rows: list[ScaleRow] = field(default_factory=list)

    def facts(self) -> Mapping[str, object]:
        """What was measured, as entries of the record."""
        raise NotImplementedError

    def fits(self) -> dict[tuple[str, str], PowerLaw]:
        """How each fitted figure of each system grows."""
        return fits_of(self.rows)

    def record(self) -> JsonObject:
        """Everything but the rows, as plain values."""
        content = {
            **self.facts(),
            "options": asdict(self.options),
            "failed": self.failed,
            "fits": [
                {"system": system, "figure": figure, **asdict(found), "bends": found.bends}
                for (system, figure), found in self.fits().items()
            ],
        }
        return make_record("scale", self.status, self.stopped, content)

    def save(self, folder: Path) -> None:
        """Write the current rows.parquet and record.json."""
        write_scale_rows(folder / "rows.parquet", self.rows)
        write_record(folder, self.record())


def default_sizes(rows: int) -> tuple[int, ...]:
    """Powers of ten from 100 (S3-19) up to the dataset's size, and that size; at most the last four."""
    powers = [10**power for power in range(2, 10) if 10**power < rows]
    return tuple([*powers, rows][-4:])
