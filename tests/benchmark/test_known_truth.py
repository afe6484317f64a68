"""Every figure of `bakeoff ann` on a store whose recall and latencies are constructed, by a clock that is too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bakeoff.benchmark.ann.compare_stores import AnnOptions, compare_stores
from bakeoff.benchmark.ann.record import save_record
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.registry import load
from bakeoff.report.pages.ann import write_ann_page
from bakeoff.storage.cache import Cache
from bakeoff.types import Batch, Hits

Register = Callable[[str, str, type], None]
QUERIES, WARM_MS, INSERT_S, INDEX_S = 600, 5, 2, 3
FAR = 1999


def latency_ms(number: int) -> float:
    """1 to 100 ms, each of them six times."""
    return 1.0 + number % 100


@pytest.fixture
def record(tmp_path: Path, register: Register, clock: Any) -> dict[str, Any]:
    data = open_dataset("synthetic:2000x8", queries=QUERIES)
    data.base[FAR] = 1e3  # nobody's neighbour
    numbers = {vector.tobytes(): number for number, vector in enumerate(data.queries)}
    base: Any = load("stores", "exact")

    class Known(base):
        """Nine of the ten nearest: a far row stands in the place of the first."""

        def insert(self, batch: Batch) -> None:
            super().insert(batch)
            clock.passes(INSERT_S * 1000)

        def ready(self) -> None:
            super().ready()
            clock.passes(INDEX_S * 1000)

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            number = numbers.get(vector.tobytes())
            clock.passes(WARM_MS if number is None else latency_ms(number))
            found = super().search(vector, k, query)
            return Hits(np.concatenate([[FAR], found.ids[1:]]), found.scores)

    register("stores", "known", Known)
    compare_stores(
        data,
        parse_store_specs(["known"]),
        AnnOptions(runs=2),
        Cache(tmp_path / "cache"),
        save=lambda outcome, one: save_record(tmp_path / "out", outcome, one),
        tell=lambda text: None,
    )
    stored: dict[str, Any] = json.loads((tmp_path / "out" / "record.json").read_text())
    return stored


def _recall(record: dict[str, Any]) -> None:
    (point,) = record["points"]
    assert point["kNN@10"]["across_runs"]["values"] == pytest.approx([0.9, 0.9])
    assert point["R100@10"] == pytest.approx(0.09) and point["R100@10_ceiling"] == pytest.approx(0.1)
    assert point["P@10"] == pytest.approx(0.9) and point["MRR@10"] == pytest.approx(0.5)
    assert point["short_answers"] == 0 and point["queries"] == QUERIES


def _latency(record: dict[str, Any]) -> None:
    told = {name: row["value"] for name, row in record["points"][0]["latency_across_queries"].items()}
    every = np.array([latency_ms(number) for number in range(QUERIES)] * 2)
    assert told["mean_ms"] == pytest.approx(50.5)
    for percent in (50, 90, 95, 99):
        assert told[f"p{percent}_ms"] == pytest.approx(np.percentile(every, percent))
    assert record["points"][0]["first_search_ms"] == pytest.approx(WARM_MS)


def _speed(record: dict[str, Any]) -> None:
    (point,) = record["points"]
    assert point["qps_serial_derived"]["across_runs"]["median"] == pytest.approx(1000 / 50.5)
    measured = point["qps_measured"]["1"]["across_runs"]
    assert measured["values"] == pytest.approx([1000 / 50.5] * 2) and measured["std"] == pytest.approx(0)
    assert record["harness_us"]["1"] == 0 and point["harness_share"] == 0 and not point["harness_over_limit"]


def _building(record: dict[str, Any]) -> None:
    (store,) = record["stores"]
    assert (store["insert_s"], store["index_s"]) == pytest.approx((INSERT_S, INDEX_S))
    assert store["build_time_s"] == pytest.approx(5) and store["index_mb"] == pytest.approx(
        2000 * 8 * 4 / 1e6
    )


def _samples_and_page(record: dict[str, Any], tmp_path: Path) -> None:
    samples = pq.read_table(tmp_path / "out" / "latencies").column("ns").to_numpy()
    assert sorted(samples / 1e6) == pytest.approx(sorted([latency_ms(n) for n in range(QUERIES)] * 2))
    page = write_ann_page(tmp_path / "out").read_text()
    assert ">.9000</td>" in page and "50.5" in page and record["verdict"] in page


def test_every_figure(record: dict[str, Any], tmp_path: Path) -> None:
    for check in (_recall, _latency, _speed, _building):
        check(record)
    _samples_and_page(record, tmp_path)
