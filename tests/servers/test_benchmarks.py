"""Benchmarks on a real PostgreSQL: connections, and the collections that runs fill on one server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark.ann.compare_stores import AnnOptions, AnnOutcome, compare_stores
from bakeoff.benchmark.stores import Collection, parse_store_specs
from bakeoff.benchmark.vectors.datasets import VectorSet, open_dataset
from bakeoff.errors import StoreError
from bakeoff.registry import load
from bakeoff.storage.cache import Cache
from bakeoff.types import Hits

psycopg = pytest.importorskip("psycopg")
Engine = Callable[[str], dict[str, str]]
BACKENDS = """SELECT count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""
TABLES = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'bakeoff_bench_%'"


class Server:
    """What the server itself counts."""

    def __init__(self, dsn: str) -> None:
        self._sql = psycopg.connect(dsn, autocommit=True)

    def count(self, statement: str) -> int:
        return int(self._sql.execute(statement).fetchone()[0])

    def close(self) -> None:
        self._sql.close()


@pytest.fixture
def server(engine: Engine, home: Path) -> Iterator[Server]:
    made = Server(next(iter(engine("pgvector").values())))
    yield made
    made.close()


def compared(
    tmp_path: Path, dataset: VectorSet, options: AnnOptions, save: Callable[..., object] = lambda *_: None
) -> AnnOutcome:
    return compare_stores(
        dataset,
        parse_store_specs(["pgvector"]),
        options,
        Cache(tmp_path / "cache"),
        save=save,
        tell=lambda _: None,
    )


@pytest.mark.parametrize("threads", [8, 16])
def test_every_client_has_one_connection_that_is_closed_with_its_pass(
    tmp_path: Path, server: Server, threads: int
) -> None:
    """Eight threads and fifteen runs left 136 backends, sixteen failed; PostgreSQL allows 100."""
    seen: list[int] = []
    outcome = compared(
        tmp_path,
        open_dataset("synthetic:300x8", queries=40),
        AnnOptions(runs=15, threads=threads, target=0.5),
        lambda *_: seen.append(server.count(BACKENDS)),
    )
    assert not outcome.failed and len(seen) > 15
    assert max(seen) <= 1 + threads, (
        "the driver's own connection, and at most the last pass still being closed"
    )
    assert outcome.points()[0].errors == 0
    assert server.count(TABLES) == 0


def test_a_connection_ends_with_its_thread(server: Server, store: Callable[..., Any]) -> None:
    one = store("pgvector")
    one.collections()
    before = server.count(BACKENDS)
    for _ in range(20):
        thread = threading.Thread(target=one.collections)
        thread.start()
        thread.join()
    assert server.count(BACKENDS) <= before + 1


def test_two_runs_at_once_do_not_share_a_collection(tmp_path: Path, server: Server) -> None:
    """The other run has other vectors; each finds its own neighbours."""
    outcomes: list[AnnOutcome] = []
    sets = [open_dataset("synthetic:400x8", queries=40, seed=seed) for seed in (1, 2)]
    both = threading.Barrier(2)

    def measured(number: int) -> None:
        def together(outcome: AnnOutcome, one: Any) -> None:
            if one is None and not outcome.passes and outcome.built:
                both.wait(60)  # both collections are filled before either is measured

        options = AnnOptions(runs=2, target=0.9)
        outcomes.append(compared(tmp_path / str(number), sets[number], options, together))

    threads = [threading.Thread(target=measured, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [outcome.failed for outcome in outcomes] == [{}, {}]
    assert len({outcome.built[0].collection.name for outcome in outcomes}) == 2
    assert all((point.knn.median or 0) > 0.9 for outcome in outcomes for point in outcome.points())
    assert server.count(TABLES) == 0


def test_the_same_run_twice_at_once_is_refused_by_name(tmp_path: Path, server: Server) -> None:
    dataset = open_dataset("synthetic:300x8", queries=40)
    (candidate,) = parse_store_specs(["pgvector"])
    held = Collection(candidate, dataset)
    held.acquire()
    refused = compared(tmp_path, dataset, AnnOptions(runs=1))
    assert f"process {os.getpid()} " in refused.failed["pgvector"]
    assert not refused.built and server.count(TABLES) == 0
    held.release()
    assert not compared(tmp_path, dataset, AnnOptions(runs=1)).failed


def test_what_shapes_an_index_is_in_its_name(home: Path) -> None:
    one, other = open_dataset("synthetic:300x8"), open_dataset("synthetic:300x8", seed=9)
    (plain,), (deeper,) = parse_store_specs(["pgvector"]), parse_store_specs(["pgvector:build.m=8"])
    names = {
        Collection(plain, one).name, Collection(plain, other).name, Collection(deeper, one).name,
        Collection(plain, one, "filtered").name,
    }  # fmt: skip
    assert len(names) == 4 and Collection(plain, one).name in names


def test_a_collection_stays_only_where_it_is_asked_to(tmp_path: Path, server: Server) -> None:
    dataset = open_dataset("synthetic:300x8", queries=40)
    kept = compared(tmp_path, dataset, AnnOptions(runs=1, keep=True))
    assert server.count(TABLES) == 1
    store = load("stores", "pgvector")
    again = store(store.Params(), tmp_path)
    again.drop(kept.built[0].collection.name)
    again.close()
    assert server.count(TABLES) == 0


@pytest.mark.parametrize("method", ["insert", "ready", "search"])
def test_a_store_that_fails_leaves_nothing_behind(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def broken(*_: Any) -> Hits:
        raise StoreError("out of memory.")

    monkeypatch.setattr(load("stores", "pgvector"), method, broken)
    outcome = compared(tmp_path, open_dataset("synthetic:300x8", queries=40), AnnOptions(runs=1))
    assert "out of memory" in outcome.failed["pgvector"] and not outcome.left
    assert server.count(TABLES) == 0


@pytest.mark.parametrize("more", [(), ("--clients", "2", "--concurrency", "4")], ids=["threads", "processes"])
def test_load_and_scale_leave_nothing_behind(home: Path, server: Server, more: tuple[str, ...]) -> None:
    called = [sys.executable, "-m", "bakeoff", "load", "synthetic:300x8", "--stores", "pgvector", "--runs", "1",
              "--seconds", "0.5", "--queries", "40", "--json", *more]  # fmt: skip
    done = subprocess.run(called, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (point,) = json.loads(done.stdout)["points"]
    assert point["answered"] > 0 and server.count(TABLES) == 0
    if not more:
        return
    scaled = [sys.executable, "-m", "bakeoff", "scale", "synthetic:300x8", "--stores", "pgvector", "--runs", "1",
              "--sizes", "100,300", "--filters", "0.5", "--insert-while-search", "100", "--seconds", "0.5",
              "--queries", "40"]  # fmt: skip
    done = subprocess.run(scaled, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert server.count(TABLES) == 0


def test_the_connection_is_not_part_of_a_measured_search(tmp_path: Path, server: Server) -> None:
    """Every thread of a pass has searched once before the first measured search of any of them."""
    store = load("stores", "pgvector")
    searched: dict[int, int] = {}
    first: list[set[int]] = []

    class Watched(store):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            me = threading.get_ident()
            searched[me] = searched.get(me, 0) + 1
            if searched[me] == 2:
                first.append({one for one, times in searched.items() if times >= 1})
            return super().search(vector, k, query)

    from bakeoff.benchmark.stores import StoreSpec
    from bakeoff.benchmark.targets import vector_target
    from bakeoff.pipeline.loops.closed_loop import closed_loop

    dataset = open_dataset("synthetic:300x8", queries=40)
    target = vector_target(
        StoreSpec("pgvector", "pgvector", Watched, Watched.Params()), dataset, tmp_path, name="synthetic:300x8",
        k=10, setting=None, seed=7, truth=None,
    )  # fmt: skip
    loop = closed_loop(
        target.search, target.queries, 10, target.query, threads=4, seconds=0.3, before=target.connect
    )
    target.close()
    assert not loop.stopped and len(first[0]) == 4


@pytest.fixture
def far(engine: Engine, line: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch, home: Path) -> Any:
    """A line to the server that a test can cut."""
    ((variable, dsn),) = engine("pgvector").items()
    port = int(psycopg.conninfo.conninfo_to_dict(dsn)["port"])
    made = line(port)
    monkeypatch.setenv(variable, dsn.replace(str(port), str(made.port)))
    return made


def test_a_run_that_lost_its_server_is_in_no_figure(tmp_path: Path, far: Any) -> None:
    """Run 1 is whole, run 2 loses its server: percentiles, speed and recall are those of run 1."""
    from bakeoff.benchmark.load.load_systems import LoadDeps, LoadRequest, run_load
    from bakeoff.benchmark.load.sentences import closing_sentences
    from bakeoff.benchmark.load_spec import LoadSpec
    from bakeoff.pipeline.context import StageContext

    def cut(text: str) -> None:
        if text.startswith("run 2"):
            threading.Timer(0.3, far.close).start()

    done = run_load(
        LoadRequest(
            "synthetic:300x8",
            LoadSpec((2,), runs=3, seconds=1.0),
            stores="pgvector",
            queries=40,
            out=tmp_path / "out",
        ),
        LoadDeps(StageContext(Cache(tmp_path / "cache")), cut, lambda _: None, lambda *_: ()),
    )
    whole, broken = done.found.passes
    (point,) = done.found.points()
    assert not whole.loop.stopped and broken.loop.stopped and "pgvector" in done.found.failed
    assert (point.runs, point.cut_short, point.qps.values) == (1, 1, (whole.qps,))
    assert point.answered == whole.loop.answered + broken.loop.answered and point.errors >= 25
    assert point.percentile(50) == whole.latency.percentile(50) / 1e6
    kinds = {claim.kind: claim.figures for one in closing_sentences(done.found) for claim in one.claims}
    assert kinds["Speed"]["rate"] == whole.qps and kinds["CutShort"]["runs"] == 1 and "Failed" in kinds


def test_an_open_loop_that_lost_its_server_in_its_last_run_has_failed(tmp_path: Path, far: Any) -> None:
    from bakeoff.benchmark.load.load_systems import LoadDeps, LoadRequest, run_load
    from bakeoff.benchmark.load_spec import LoadSpec
    from bakeoff.pipeline.context import StageContext

    def cut(text: str) -> None:
        if text.startswith("run 2"):
            threading.Timer(0.3, far.close).start()

    done = run_load(
        LoadRequest("synthetic:300x8", LoadSpec((1,), rates=(100.0,), runs=2, seconds=1.0, workers=2), stores="pgvector",
            queries=40, out=tmp_path / "out"),
        LoadDeps(StageContext(Cache(tmp_path / "cache")), cut, lambda _: None, lambda *_: ()),
    )  # fmt: skip
    (point,) = done.found.points()
    assert "pgvector" in done.found.failed and point.cut_short == 1 and point.reached is None


def test_memory_that_backends_share_counts_once(server: Server, store: Callable[..., Any]) -> None:
    """Sixteen backends: the sum of their resident memory counts the shared buffers sixteen times."""
    import psutil

    from bakeoff.benchmark.resources.usage import Sampler

    one, first = store("pgvector"), threading.Barrier(17)
    last = threading.Barrier(17)

    def connected() -> None:
        one.collections()
        first.wait(60)
        last.wait(60)

    threads = [threading.Thread(target=connected) for _ in range(16)]
    for thread in threads:
        thread.start()
    first.wait(60)
    backend = server.count("SELECT pg_backend_pid()")
    postmaster = psutil.Process(backend).parent()
    with Sampler(server=postmaster.pid, children=False) as sampler:
        tree = [postmaster, *postmaster.children(recursive=True)]
        resident = sum(process.memory_info().rss for process in tree) / 1e6
        proportional = sum(process.memory_full_info().pss for process in tree) / 1e6
    last.wait(60)
    for thread in threads:
        thread.join()
    found = sampler.result.server.peak_memory_mb
    assert len(tree) >= 17 and found is not None and resident > 3 * proportional
    assert 0.5 * proportional < found < 1.5 * proportional
