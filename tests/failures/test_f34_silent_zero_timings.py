"""F34: silent zero timings for phases that were not measured."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bakeoff import registry
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline import context, embed, index, once_map, read, work_time
from bakeoff.pipeline.chunking import parallel as chunk_parallel
from bakeoff.pipeline.timing import CACHED, SUMMED, UNKNOWN
from bakeoff.pipeline.work_time import STAGE
from bakeoff.runs import run as runner
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.types import Batch

PHASES = ("read", "chunk", "embed_chunks", "insert", "index", "ready", "ingest")


def seconds(result: Any, system: str) -> dict[str, dict[str, Any]]:
    rows = [row for row in result.timings.to_pylist() if row["system"] == system]
    return {row["phase"]: row for row in rows if row["statistic"] == "seconds"}


def test_f34_phases_of_this_run_have_seconds(ran: Any) -> None:
    found = seconds(ran.result, "line · wordllama(dims=64) · faiss · dense")
    assert tuple(found) == PHASES
    assert all(row["value"] > 0 and row["count"] == 7 and row["note"] == "" for row in found.values())


def test_f34_phases_of_an_earlier_run_have_its_seconds_and_its_date(ran: Any, tiny: Path, home: Path) -> None:
    system = "line · wordllama(dims=64) · faiss · dense"
    shutil.copytree(ran.result.path.parent / "home", home)
    first, found = seconds(ran.result, system), seconds(run(tiny, out=Path("again")), system)
    assert tuple(found) == PHASES
    whole = found.pop("ingest")
    assert whole["value"] == pytest.approx(sum(row["value"] for row in found.values()))
    assert whole["note"].startswith(SUMMED)
    for phase, row in found.items():
        assert (row["value"], row["count"]) == (first[phase]["value"], first[phase]["count"])
        assert f"measured {ran.result.record.started[:10]} on " in row["note"]


def test_f34_phases_whose_time_nobody_kept_are_null_with_the_reason(ran: Any, tiny: Path, home: Path) -> None:
    shutil.copytree(ran.result.path.parent / "home", home)
    shutil.rmtree(home / "cache" / STAGE)
    found = seconds(run(tiny, out=Path("again")), "line · wordllama(dims=64) · faiss · dense")
    assert tuple(found) == PHASES
    whole = found.pop("ingest")
    assert whole["value"] is None and "embed_chunks" in whole["note"] and whole["note"].endswith(UNKNOWN)
    assert all((row["value"], row["note"]) == (None, CACHED) for row in found.values())


def test_f34_seconds_of_a_part_do_not_stand_for_the_whole(ran: Any, tiny: Path, home: Path) -> None:
    """Seven of eight documents were made before: their seconds are added; without them there is no number."""
    system = "line · wordllama(dims=64) · faiss · dense"
    shutil.copytree(ran.result.path.parent / "home", home)
    Path("corpus/new.md").write_text("# New\n\nA document that was not there before.\n")
    shutil.copytree(home, "home without times")
    shutil.rmtree(Path("home without times", "cache", STAGE))
    found = seconds(run(tiny, out=Path("again")), system)
    for phase in ("read", "chunk", "embed_chunks"):
        assert found[phase]["count"] == 8 and "summed over" in found[phase]["note"]
    assert found["insert"]["value"] > 0 and found["index"]["value"] > 0
    assert found["ingest"]["value"] == pytest.approx(
        sum(row["value"] for phase, row in found.items() if phase != "ingest")
    )
    again = seconds(run(tiny, out=Path("warm")), system)
    assert all(again[phase]["value"] == found[phase]["value"] for phase in PHASES), "kept for later runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAKEOFF_HOME", str(Path("home without times").resolve()))
        lost = seconds(run(tiny, out=Path("lost")), system)
    for phase in ("read", "chunk", "embed_chunks"):
        assert (lost[phase]["value"], lost[phase]["count"]) == (None, 1)
        assert lost[phase]["note"].startswith("7 of 8 ")


@pytest.mark.parametrize("interrupted", [False, True])
def test_f34_seconds_of_reused_inputs_are_their_share(
    tmp_path: Path, made_clock: Any, interrupted: bool
) -> None:
    """Four inputs took 8 s, two more 10 s: five of the six are 6 + 10 s, an interruption in between or not."""
    clock = made_clock(work_time)
    cache = Cache(tmp_path)
    key = fingerprint("pool")

    def fill(keys: list[str], seconds: int, stops: bool = False) -> work_time.FillTime:
        pool = RowCache(cache, "made", key)

        def work(positions: list[int]) -> BatchRows:
            if stops and 2 in positions:
                raise KeyboardInterrupt
            clock.passes(seconds * 1000 * len(positions) / len(keys))
            return BatchRows([1] * len(positions), pa.table({"value": positions}))

        return work_time.fill_timed(cache, pool, keys, lambda: pool.fill(keys, work, batch=2))

    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            fill(list("abcd"), 8, stops=True)
        fill(list("abcd"), 8)
    else:
        assert fill(list("abcd"), 8).earlier is None
    assert fill(list("abef"), 20).seconds == pytest.approx(10)
    found = fill(list("abcef"), 1)
    assert (found.fresh, found.reused) == (0, 5) and found.earlier is not None
    assert found.earlier.count == 5 and found.earlier.seconds == pytest.approx(6 + 10)


def test_f34_times_of_queries_are_measured_even_where_their_vectors_are_known(
    ran: Any, tiny: Path, home: Path
) -> None:
    shutil.copytree(ran.result.path.parent / "home", home)
    for row in run(tiny, out=Path("again")).latencies.to_pylist():
        assert row["search_ms"] > 0 and row["total_ms"] > 0
        assert (row["embed_ms"] is None) == row["system"].endswith("bm25")


def test_f34_a_step_that_did_not_happen_has_no_number(ran: Any) -> None:
    words = [row for row in ran.result.timings.to_pylist() if row["system"] == "line · bm25"]
    assert {row["phase"] for row in words} == {
        "read",
        "chunk",
        "insert",
        "index",
        "ready",
        "ingest",
        "search",
        "total",
        "latency_check",
    }
    assert not [row for row in words if row["value"] == 0]


@pytest.mark.parametrize("system", ["line · wordllama(dims=64) · exact · hybrid", "semantic · bm25"])
def test_f34_the_steps_add_up_to_the_total(ran: Any, system: str) -> None:
    for row in ran.result.latencies.to_pylist():
        if row["system"] == system:
            parts = [row[f"{step}_ms"] or 0.0 for step in ("embed", "search", "fuse", "rerank")]
            assert sum(parts) == pytest.approx(row["total_ms"])


@pytest.fixture
def timed(small: Path, register: Any, made_clock: Any) -> Callable[[str], tuple[Result, dict[str, float]]]:
    """Runs, by a made clock, a store that inserts for 2 s and indexes for 3; `hidden` also connects for 0.4."""
    clock = made_clock(chunk_parallel, embed, index, once_map, read, runner, context)

    class Open(registry.load("stores", "exact")):
        def insert(self, batch: Batch) -> None:
            clock.passes(2000)
            super().insert(batch)

        def ready(self) -> None:
            clock.passes(3000)
            super().ready()

    class Hidden(Open):
        def __init__(self, params: Any, home: Path) -> None:
            clock.passes(400)  # it connects, and no phase is about that
            super().__init__(params, home)

    register("stores", "open", Open)
    register("stores", "hidden", Hidden)

    def one(store: str) -> tuple[Result, dict[str, float]]:
        small.write_text(small.read_text().replace("[exact]", f"[{store}]"))
        result = run(small, out=Path("run"))
        (system,) = result.done
        return result, {phase: row["value"] for phase, row in seconds(result, system).items()}

    return one


def test_f34_the_phases_add_up_to_a_total_by_another_clock(timed: Any) -> None:
    result, found = timed("open")
    assert (found["insert"], found["index"]) == pytest.approx((2, 3))
    assert found.pop("ingest") == pytest.approx(sum(found.values()))
    assert not [note for note in result.record.notes if "not explained" in note]


def test_f34_time_that_no_phase_explains_is_said(timed: Any) -> None:
    result, found = timed("hidden")
    assert found.pop("ingest") - sum(found.values()) == pytest.approx(0.4)
    (note,) = [note for note in result.record.notes if "not explained" in note]
    assert note.startswith(f"{result.done[0]}: ")
    assert all(value in note for value in ("5.40 s", "5.00 s", "7% of it"))
