"""Words doubled by workers and by this process: the same work both ways, and what each left on the disk."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bakeoff.protocols import Executor, ResourceRequest
from bakeoff.runtime.shards import ShardedRun
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import RowCache

KEY = "ab" * 16
APART = ResourceRequest(apart=True)
WORDS = [f"word {i}" for i in range(40)]


def fill(
    executor: Executor, cache: Cache, words: list[str], told: Callable[[int], None] = lambda _: None
) -> RowCache:
    """The work done by an executor's processes."""
    pool, table = RowCache(cache, "double", KEY), pa.table({"word": words})
    spread = ShardedRun(executor, order(), table.take, label="double", needs=APART)
    pool.fill(words, lambda _: pytest.fail("done by the driver"), batch=2, progress=told, spread=spread)
    return pool


def order() -> Any:
    """What the workers are told, from the module that the fixture `trouble` writes."""
    return importlib.import_module("troublesome").Doubled()


def here(root: Path, words: list[str]) -> RowCache:
    """The same work in this process, sharing nothing."""
    pool, table, work = RowCache(Cache(root), "double", KEY), pa.table({"word": words}), order().open().work
    pool.fill(words, lambda at: work(table.take(at)), batch=2)
    return pool


def hashes(root: Path) -> dict[str, str]:
    """Every file of every segment, and of the plan; what a killed process was writing is no part of it."""
    stages = (root / "double", root / "double-plan")
    files = [path for stage in stages for path in stage.rglob("*") if path.is_file()]
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def done(trouble: Path) -> list[str]:
    """The words that were worked on, as the workers noted them."""
    return sorted((trouble / "done").read_text().split("\n")[:-1])
