"""Checks whether two run folders hold the same results, byte for byte.

    python benchmarks/same_results.py BEFORE AFTER

Times, dates and the run's own name differ from run to run and are left out; everything else must be equal.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TABLES = (
    "queries",
    "scores",
    "rankings",
    "passages",
    "losses",
    "ties",
    "choices",
    "empty_searches",
    "systems",
)
LEFT_OUT = {"run", "measured"}


def main() -> int:
    """Print one line per table; exit with 1 where one differs."""
    before, after = map(Path, sys.argv[1:3])
    equal = [_report(name, before, after) for name in TABLES]
    return 0 if all(equal) else 1


def _report(name: str, before: Path, after: Path) -> bool:
    tables = [_read(folder / f"{name}.parquet") for folder in (before, after)]
    equal = tables[0].equals(tables[1])
    print(f"{name:<16} {tables[0].num_rows:>8,} rows  {'equal' if equal else 'DIFFERENT'}")
    return equal


def _read(path: Path) -> pa.Table:
    table = pq.read_table(path)
    return table.select([column for column in table.column_names if column not in LEFT_OUT])


if __name__ == "__main__":
    sys.exit(main())
