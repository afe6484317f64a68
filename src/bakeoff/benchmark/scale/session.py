"""A measurement over growing sizes, of vectors or documents: its options, rows, record and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.benchmark.results.records import make_record, write_record
from bakeoff.benchmark.results.scale_results import PowerLaw, ScaleRow, fits_of, write_scale_rows
from bakeoff.benchmark.session import Session
from bakeoff.benchmark.vectors.filtered_search import check_shares
from bakeoff.errors import SettingError
from bakeoff.pipeline.loops.closed_loop import TIMEOUT
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class ScaleOptions:
    """What to measure; an empty tuple or None skips a part, `budget` is in bytes (None: 80 % of free memory)."""

    sizes: tuple[int, ...]
    k: int = 10
    runs: int = 3
    threads: tuple[int, ...] = ()
    filters: tuple[float, ...] = ()
    insert_rate: float | None = None
    search_rate: float | None = None
    seconds: float = 5.0
    target: float | None = None
    budget: int | None = None
    timeout: float = TIMEOUT
    seed: int = 7
    command: str = ""

    def __post_init__(self) -> None:
        if not self.sizes or any(a >= b for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise SettingError("--sizes must grow: 1000,10000,100000.")
        if self.k < 1 or self.runs < 1 or not self.timeout > 0 or not self.seconds > 0:
            raise SettingError("--k, --runs, --timeout and --seconds must be positive.")
        if self.sizes[0] < max(2, self.k):
            raise SettingError(
                f"--sizes begins at {self.sizes[0]}; at least {max(2, self.k)} rows are needed for --k."
            )
        for name, rate in (("--insert-while-search", self.insert_rate), ("--rate", self.search_rate)):
            if rate is not None and not 0 < rate < float("inf"):
                raise SettingError(f"{name} is {rate:g}; a rate above 0 is needed.")
        if any(threads < 1 for threads in self.threads):
            raise SettingError("--concurrency has a number under 1.")
        if self.target is not None and not 0 < self.target <= 1:
            raise SettingError(f"--target-recall is {self.target:g}; it must be above 0 and at most 1.")
        check_shares(self.filters)


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
