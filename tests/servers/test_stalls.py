"""Servers that say nothing any more: the system that uses one fails in time and in clear words, the other goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from bakeoff.errors import StoreError
from bakeoff.pipeline import index as index_stage
from bakeoff.types import Batch, Metric, Status

VARIABLES = {"pgvector": "BAKEOFF_PGVECTOR_DSN", "redis": "BAKEOFF_REDIS_URL", "chroma": ""}
each = pytest.mark.parametrize("name", VARIABLES)
ROWS = np.random.default_rng(5).normal(size=(40, 16)).astype(np.float32)
WORDS = "set a longer BAKEOFF_SERVER_TIMEOUT"
Behind = Callable[[str], Any]


@pytest.fixture
def behind(
    engine: Callable[[str], dict[str, str]],
    line: Callable[[int], Any],
    stalling: type,
    monkeypatch: pytest.MonkeyPatch,
) -> Behind:
    """A server of a name behind a line, with three seconds for each request."""

    def make(name: str) -> Any:
        (address,) = engine(name).values()
        port = urlsplit(address).port or 0
        between = line(port)
        through = address.replace(f":{port}", f":{between.port}")
        monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "3")
        if VARIABLES[name]:
            monkeypatch.setenv(VARIABLES[name], through)
        return stalling(name, between, {} if VARIABLES[name] else {"url": through})

    return make


@pytest.mark.slow  # every batch of two rows is a request, and the index is built twice
@each
def test_in_mid_insert(
    name: str, behind: Behind, stalled: Callable[..., tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_stage, "BATCH", 2)
    one = behind(name)
    status, reason = stalled(one, "insert", 2)
    assert status == Status.FAILED and one.calls == 2 and WORDS in reason


@each
def test_in_mid_query(name: str, behind: Behind, stalled: Callable[..., tuple[str, str]]) -> None:
    status, reason = stalled(behind(name), "search", 20)
    assert status == Status.PARTIAL and "queries were answered" in reason


@each
def test_before_anything_was_said(name: str, behind: Behind, tmp_path: Path) -> None:
    one = behind(name)
    store = one.plugin(one.plugin.Params(**one.params), tmp_path)
    one.line.stall()
    with pytest.raises(StoreError, match=WORDS):
        store.create("silent", 16, Metric.COSINE)
    store.close()


def test_a_statement_that_takes_too_long_is_ended_by_the_server(behind: Behind, tmp_path: Path) -> None:
    """The connection stays, and building an index has no limit."""
    one = behind("pgvector")
    store = one.plugin(one.plugin.Params(), tmp_path)
    store.create("slow", 16, Metric.COSINE)
    store.insert(Batch(np.arange(len(ROWS)), vectors=ROWS))
    store._table = _Sleeping(store._table, 4)
    with pytest.raises(StoreError, match=f"statement timeout.*{WORDS}"):
        store.search(ROWS[0], 1, one.plugin.Query())
    store.ready()
    store._table = store._table.table
    assert store.search(ROWS[7], 1, one.plugin.Query()).ids.tolist() == [7]
    store.drop("slow")
    store.close()


class _Sleeping:
    """A table whose searches, and whose building, take seconds on the server."""

    def __init__(self, table: Any, seconds: int) -> None:
        self.table, self._seconds = table, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self.table, name)

    def nearest(self, k: int) -> str:
        return f"SELECT 1, pg_sleep({self._seconds}), %s"

    def create_indexes(self, *args: Any, **more: Any) -> list[str]:
        return [f"SELECT pg_sleep({self._seconds})", *self.table.create_indexes(*args, **more)]
