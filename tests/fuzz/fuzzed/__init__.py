"""Every parser of foreign files: an entry each, in a file by room. The tests and `benchmarks/fuzz.py` run over all."""

from __future__ import annotations

from fuzzed import (
    answers,
    documents,
    experiments,
    measurements,
    models,
    results,
    reviews,
    sharing,
    tables,
    truth,
    vectors,
)
from fuzzed.reader import Reader

ROOMS = (
    truth,
    experiments,
    reviews,
    documents,
    tables,
    vectors,
    models,
    results,
    measurements,
    sharing,
    answers,
)
READERS: dict[str, Reader] = {one.kind: one for room in ROOMS for one in room.READERS}

__all__ = ["READERS", "Reader"]
