"""What keeps a search as quick as the bare client's: settings told once, one statement kept, answers in plain lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.types import Batch, Condition, Metric, PayloadField

ROWS = np.random.default_rng(5).normal(size=(60, 8)).astype(np.float32)
Start = Callable[[str], dict[str, str]]


def filled(name: str, home: Path, *, fields: bool = False, **params: Any) -> Any:
    plugin = registry.load("stores", name)
    store = plugin(plugin.Params(**params), home)
    if fields:
        store.declare((PayloadField("place", "integer"),))
    store.create("thin", 8, Metric.COSINE)
    payloads = [{"place": i} for i in range(60)] if fields else None
    store.insert(Batch(np.arange(60, dtype=np.int64), vectors=ROWS, payloads=payloads))
    store.ready()
    return store


def test_a_statement_is_the_same_object_for_the_same_search() -> None:
    pytest.importorskip("psycopg")
    from bakeoff.plugins.stores._postgres_table import Build, PostgresTable

    table = PostgresTable("rows", 8, Metric.L2, Build())
    assert table.nearest(10) is table.nearest(10)
    assert table.nearest(10).endswith("LIMIT 10") and table.nearest(11).endswith("LIMIT 11")


@pytest.mark.parametrize(
    ("metric", "scores"),
    [(Metric.COSINE, [0.9, 0.5]), (Metric.DOT, [-0.1, -0.5]), (Metric.L2, [-0.01, -0.25])],
)
def test_rows_out_of_order_are_sorted(metric: Metric, scores: list[float]) -> None:
    pytest.importorskip("psycopg")
    from bakeoff.plugins.stores._postgres import near

    found = near([(7, 0.5), (3, 0.1)], metric)
    assert found.ids.tolist() == [3, 7] and found.scores == pytest.approx(scores)
    assert near([], metric).ids.shape == (0,)


def test_pgvector_is_told_a_setting_only_when_it_changes(engine: Start, tmp_path: Path) -> None:
    engine("pgvector")
    store = filled("pgvector", tmp_path, fields=True)
    query = store.Query(ef=40)

    def plans() -> dict[str, int]:
        told = store._sql.execute(
            "SELECT statement, generic_plans + custom_plans FROM pg_prepared_statements"
        ).fetchall()
        return {"set_config" if "set_config" in text else "search": times for text, times in told}

    for row in ROWS[:20]:
        store.search(row, 3, query)
    assert plans() == {
        "search": 15
    }  # after five searches the client keeps the statement; the settings went once
    where = (Condition("place", least=50),)
    assert set(store.search_where(ROWS[0], 3, query, where).ids.tolist()) <= set(range(50, 60))
    assert store._sql.execute("SHOW enable_seqscan").fetchone() == ("on",)
    assert store.search(ROWS[0], 50, query).ids[0] == 0
    assert store._sql.execute("SHOW enable_seqscan").fetchone() == ("off",)
    assert store._sql.execute("SHOW hnsw.ef_search").fetchone() == ("50",)
    store.close()


@pytest.mark.parametrize("name", ["pgvector", "redis", "chroma"])
def test_what_is_on_a_server_is_listed_and_dropped(name: str, engine: Start, tmp_path: Path) -> None:
    told = engine(name)
    store = filled(name, tmp_path, **({"url": next(iter(told.values()))} if name == "chroma" else {}))
    assert "thin" in store.collections()
    store.drop("thin")
    store.drop("thin")  # what is not there is no fault
    assert "thin" not in store.collections()
    with pytest.raises(StoreError):
        store.open("thin", 8, Metric.COSINE)
    store.close()


def test_a_folder_of_chroma_has_nothing_that_stays(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    store = filled("chroma", tmp_path)
    assert store.collections() == []
    assert store.search(ROWS[4], 1, store.Query()).ids.tolist() == [4]
    store.close()
