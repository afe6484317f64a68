"""A real PostgreSQL: how far its index's scan goes, and what is left when building an index fails or it is killed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from bakeoff.errors import StoreError
from bakeoff.runtime.servers.records import read_state
from bakeoff.types import Batch, Metric

psycopg = pytest.importorskip("psycopg")
Engine = Callable[[str], dict[str, str]]
ROWS = np.random.default_rng(5).normal(size=(1500, 16)).astype(np.float32)
A_MINUTE = 60.0
BUILDING = "SELECT pid FROM pg_stat_progress_create_index WHERE relid = to_regclass(%s)"


@pytest.fixture
def filled(engine: Engine, store: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """How a test makes a store with rows, ready; its table is removed afterwards."""
    engine("pgvector")
    made: list[Any] = []

    def make(rows: np.ndarray, **build: Any) -> Any:
        made.append(store("pgvector", build=build))
        made[-1].create("scanned", rows.shape[1], Metric.L2)
        made[-1].insert(Batch(np.arange(len(rows)), vectors=rows))
        made[-1].ready()
        return made[-1]

    yield make
    for one in made:
        one.drop("scanned")


def scans(store: Any, kind: str = "hnsw") -> str:
    ((found,),) = store._sql.rows(f"SHOW {kind}.iterative_scan")
    return str(found)


def nearest(rows: np.ndarray, vector: np.ndarray, k: int) -> list[int]:
    return np.argsort(((rows - vector) ** 2).sum(axis=1), kind="stable")[:k].tolist()


def test_a_search_that_finds_enough_rows_does_not_go_on(filled: Callable[..., Any]) -> None:
    store = filled(ROWS)
    query = store.Query(ef=200)
    assert store.search(ROWS[3], 10, query).ids.tolist() == nearest(ROWS, ROWS[3], 10)
    assert scans(store) == "off"


def test_deleted_rows_do_not_make_an_answer_shorter(filled: Callable[..., Any]) -> None:
    """They stay in the index until it is vacuumed, and all that `ef` looks at first are such."""
    store = filled(ROWS)
    gone = nearest(ROWS, ROWS[0], 100)
    store.delete(np.array(gone))
    found = store.search(ROWS[0], 10, store.Query(ef=40)).ids.tolist()
    assert len(found) == 10 and not set(found) & set(gone)
    assert scans(store) == "relaxed_order"
    assert found == store.search(ROWS[0], 10, store.Query(ef=40)).ids.tolist()


def test_cells_with_too_few_rows_do_not_make_an_answer_shorter(filled: Callable[..., Any]) -> None:
    store = filled(ROWS, index="ivfflat", lists=150)
    found = store.search(ROWS[0], 60, store.Query(probes=1)).ids
    assert len(set(found.tolist())) == 60
    assert scans(store, "ivfflat") == "relaxed_order"


def test_more_rows_than_the_largest_ef(filled: Callable[..., Any]) -> None:
    store = filled(ROWS)
    assert len(set(store.search(ROWS[0], 1400, store.Query()).ids.tolist())) == 1400
    assert len(store.search(ROWS[0], 10, store.Query()).ids) == 10
    assert scans(store) == "off"


def test_fewer_rows_than_asked_for(filled: Callable[..., Any]) -> None:
    store = filled(ROWS[:7])
    assert sorted(store.search(ROWS[0], 10, store.Query()).ids.tolist()) == list(range(7))
    assert scans(store) == "off"


def test_the_limit_of_time_is_back_when_building_failed(
    filled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_SERVER_TIMEOUT", "7")
    store = filled(ROWS[:50])
    monkeypatch.setattr(
        type(store._table), "create_indexes", lambda *_, **__: ["CREATE INDEX ON nowhere (nothing)"]
    )
    with pytest.raises(StoreError, match="nowhere"):
        store.ready()
    assert store._sql.rows("SHOW statement_timeout") == [("7s",)] and store._sql.limit is not None


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
@pytest.mark.parametrize("who", ["its process", "the server"])
def test_killed_while_it_builds_an_index(
    who: str, engine: Engine, engines: Path, store: Callable[..., Any]
) -> None:
    """Building has no limit of time, so the death itself must be noticed; one of the server alone, when it is done."""
    dsn = engine("pgvector")["BAKEOFF_PGVECTOR_DSN"]
    rows = np.random.default_rng(6).normal(size=(5000, 64)).astype(np.float32)
    one = store("pgvector")
    one.create("doomed", 64, Metric.COSINE)
    one.insert(Batch(np.arange(len(rows)), vectors=rows))
    said: list[str] = []
    building = threading.Thread(target=lambda: said.append(_refused(one.ready, one)), daemon=True)
    with psycopg.connect(dsn, autocommit=True) as watching:
        building.start()
        worker = _at_work(watching, "bakeoff_doomed")
        psutil.Process(worker if who == "its process" else _server(engines)).kill()
        building.join(5 * A_MINUTE)
    assert said and "pgvector, ready" in said[0], said
    if who == "the server":
        engine("pgvector")
    again = _when_recovered(lambda: store("pgvector"))
    if who == "its process":
        with pytest.raises(StoreError, match="hnsw index"):
            again.open("doomed", 64, Metric.COSINE)
    again.drop("doomed")


def _refused(work: Callable[[], None], store: Any) -> str:
    """What a store says when its work fails, in a thread that has a connection of its own."""
    try:
        work()
    except StoreError as exc:
        return str(exc)
    finally:
        store.close()
    return "nothing"


def _at_work(watching: Any, table: str) -> int:
    """The server's process that builds an index of a table, as soon as there is one."""
    end = time.monotonic() + A_MINUTE
    while time.monotonic() < end:
        found = watching.execute(BUILDING, (table,)).fetchone()
        if found:
            return int(found[0])
    raise AssertionError("no index is being built")


def _when_recovered(make: Callable[[], Any]) -> Any:
    """A store whose server answers: after a crash it reads its log first, and refuses until it has."""
    end = time.monotonic() + A_MINUTE
    while True:
        made = make()
        try:
            made.collections()
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return made


def _server(engines: Path) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAKEOFF_HOME", str(engines))
        state = read_state("pgvector")
    assert state is not None
    return state.marks[0].pid
