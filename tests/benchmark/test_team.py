"""Client processes: real ones, with stores and clocks made for it. Nothing here depends on how fast they are."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark.clients import driver as team_module
from bakeoff.benchmark.clients.client import Call, serve
from bakeoff.benchmark.clients.driver import gather_clients
from bakeoff.benchmark.clients.launch import (
    LOOPBACK,
    Processes,
    StartedClient,
    address_towards,
    choose_launcher,
)
from bakeoff.benchmark.clients.merged_loop import MergedLoop
from bakeoff.benchmark.clients.messages import LoadShare
from bakeoff.benchmark.load.load_systems import LoadDeps, LoadOutcome, LoadRequest, run_load
from bakeoff.benchmark.load.session import LoadOrigin, LoadSession, run_systems_under_load
from bakeoff.benchmark.load_spec import LoadSpec, Slo
from bakeoff.benchmark.results.histogram import merge_histograms
from bakeoff.benchmark.results.load_results import open_load
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.targets import VectorRecipe, vector_target
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.errors import SettingError, StoreError
from bakeoff.pipeline.context import StageContext
from bakeoff.runs.run import run
from bakeoff.storage.cache import Cache
from bakeoff.types import Status

PLUGIN = '''
import os, time
from pathlib import Path

from bakeoff.plugins.stores.exact import ExactStore


class Fated(ExactStore):
    """Exact search; the first process that makes `victim` waits in its 70th search until it is killed."""

    count = 0

    def search(self, vector, k, query):
        Fated.count += 1
        if Fated.count == 70 and os.environ.get("NOTES"):
            try:
                with open(Path(os.environ["NOTES"]) / "victim", "x") as file:
                    file.write(str(os.getpid()))
                time.sleep(600)
            except FileExistsError:
                pass
        return super().search(vector, k, query)
'''
CLOCK = """
import os, time

skew, tell, wall = int(os.environ.get("SKEW_NS", 0)), time.perf_counter_ns, time.time_ns
time.perf_counter_ns = lambda: tell() + skew
time.time_ns = lambda: wall() + skew
"""
VECTORS = VectorRecipe("synthetic:400x8", "cosine", 50, 7, "exact", None, 10, "", server=False)
CLOSED = LoadShare(number=0, clients=2, threads=4, timeout=60.0, deadline=120.0, requests=400)
OPEN = LoadShare(
    number=0, clients=2, threads=2, timeout=60.0, deadline=120.0, rate=200.0, seconds=1.0, arrivals="fixed"
)


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, register: Any) -> Path:
    """A store in a package of its own, which client processes find as they find anybody's."""
    folder = tmp_path / "plug"
    (folder / "fated-1.dist-info").mkdir(parents=True)
    (folder / "fated_store.py").write_text(PLUGIN)
    (folder / "fated-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: fated\nVersion: 1\n")
    (folder / "fated-1.dist-info/entry_points.txt").write_text(
        "[bakeoff.stores]\nfated = fated_store:Fated\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("fated_store", None)
    import fated_store  # type: ignore[import-not-found]

    register("stores", "fated", fated_store.Fated)
    return folder


class Threads:
    """Clients as threads of this process: quick, where no process is needed."""

    host = LOOPBACK
    started = 0

    def start(self, call: Call) -> StartedClient:
        self.started += 1
        thread = threading.Thread(target=serve, args=(call,), daemon=True)
        thread.start()
        return Joined(thread)


class Joined:
    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread

    def end_reason(self, seconds: float = 5.0) -> str:
        self._thread.join(seconds)
        return "" if self._thread.is_alive() else "its thread ended"

    def stop(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def tools(tmp_path: Path) -> LoadDeps:
    return LoadDeps(
        StageContext(Cache(tmp_path / "cache")), lambda _: None, lambda _: None, lambda store, params: ()
    )


def loaded(tmp_path: Path, demand: LoadSpec, stores: str = "exact", **more: Any) -> LoadOutcome:
    job = LoadRequest("synthetic:400x8", demand, stores=stores, queries=50, out=tmp_path / "out", **more)
    return run_load(job, tools(tmp_path))


@pytest.mark.slow
def test_an_open_loop_from_two_processes(tmp_path: Path) -> None:
    demand = LoadSpec(rates=(200.0,), clients="processes", processes=2, runs=1, seconds=1.0, workers=2)
    tries = ((loaded(at, demand), at) for at in (tmp_path / str(number) for number in range(20)))
    done, at = next((done, at) for done, at in tries if done.found.passes[0].window is not None)
    (made,) = done.found.passes
    assert done.found.failed == {} and made.load.name == "200/s from 2 processes"
    loop = made.loop
    assert loop.sent == loop.answered == 200 and loop.errors == loop.unsent == 0
    assert made.window is not None and 0 < made.window.answered <= 200 and made.window.seconds <= loop.seconds
    assert made.qps == made.window.answered / made.window.seconds
    read = open_load(at / "out")
    (row,) = read.passes.to_pylist()
    assert row["processes"] == 2 and row["window_answered"] == made.window.answered and row["qps"] == made.qps
    clients = read.clients.to_pylist()
    assert (
        len({one["client"] for one in clients}) == 2 == len({one["client"].split(":")[1] for one in clients})
    )
    assert sum(one["answered"] for one in clients) == 200 == read.histogram("exact", row["load"]).count
    assert sum(one["window_answered"] for one in clients) == made.window.answered
    for one in clients:
        assert abs(one["offset_ms"]) <= one["offset_unsure_ms"], "one machine has one clock"
        assert one["drift_ppm"] is not None and one["lost"] == "" and one["p50_ms"] > 0
    assert read.record["clients"][0]["client"] == clients[0]["client"]
    kept = read.client_histograms.to_pylist()
    assert sum(one["count"] for one in kept if one["what"] == "lag") == 200
    assert "embedded store" in " ".join(read.record["notes"]), "two copies of an embedded store"


@pytest.mark.slow
def test_merged_percentiles_are_those_of_the_clients_together(tmp_path: Path) -> None:
    demand = LoadSpec((4,), clients="processes", processes=2, runs=2, seconds=0.2)
    done = loaded(tmp_path, demand)
    (point,) = done.found.points()
    team = [member for one in done.found.passes for member in one.team]
    assert point.load.name == "4 threads in 2 processes" and point.answered == point.sent > 0
    whole = merge_histograms(member.latency() for member in team)
    assert len(team) == 4 and whole.count == point.answered
    assert point.percentile(90) == whole.percentile(90) / 1e6 and point.short == 0
    assert done.found.harness[point.load] > 0


class Skewed(Processes):
    """Clients whose clocks are off by so many nanoseconds."""

    def __init__(self, skews: list[int]) -> None:
        self._skews = skews

    def start(self, call: Call) -> StartedClient:
        os.environ["SKEW_NS"] = str(self._skews[call.number])
        return super().start(call)


def overlapping(load: Callable[[], MergedLoop]) -> MergedLoop:
    """A pass in which both clients were at work at once: on a busy machine one may end before the other begins."""
    return next(loop for loop in (load() for _ in range(30)) if loop.window is not None)


@pytest.mark.slow
def test_clocks_of_other_machines_are_brought_to_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SKEW_NS", "0")
    skews = [3_600_000_000_000, -40_000_000_000]
    with gather_clients(Skewed(skews), 2, VECTORS, 60.0) as team:
        for share in (CLOSED, OPEN):
            loop = overlapping(partial(team.run, share))
            intended = 400 if share.rate is None else 200
            assert loop.report.answered == intended and loop.window is not None and not loop.report.stopped
            assert loop.window.answered <= intended
            for one, skew in zip(loop.members, skews, strict=True):
                unsure = one.clock.unsure_ms * 1e6
                assert abs(one.clock.before.nanoseconds - skew) <= unsure + 1000
                assert abs(one.clock.after.nanoseconds - skew) <= unsure + 1000
                assert -2 * unsure <= one.began * 1e9 <= 60e9, "not an hour late"
                assert "wall clock" in " ".join(one.notes) and "corrected" in " ".join(one.notes)
            assert loop.report.seconds < 600


@pytest.mark.slow
def test_a_client_killed_in_mid_run(tmp_path: Path, plugged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path))
    victim = tmp_path / "victim"

    def kill() -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if victim.is_file() and victim.read_text():
                os.kill(int(victim.read_text()), signal.SIGKILL)
                return
            time.sleep(0.02)

    monkeypatch.setattr("bakeoff.benchmark.run_pass._team_harness", lambda *_: 1e-6)
    killer = threading.Thread(target=kill)
    killer.start()
    demand = LoadSpec((2,), clients="processes", processes=2, runs=2, seconds=1.0, timeout=300.0)
    # the driver's own searches stay below those of a client: 50 to warm up
    done = loaded(tmp_path, demand, stores="fated", k=10)
    killer.join()
    (made,) = done.found.passes
    assert done.found.status is Status.FAILED and len(made.team) == 2
    gone = [one for one in made.team if one.lost]
    assert len(gone) == 1 and gone[0].lost == "killed by SIGKILL" and victim.read_text() in gone[0].name
    why = done.found.failed["fated"]
    assert gone[0].name in why and why.endswith(" 1") and made.loop.stopped == why
    assert made.loop.answered == made.loop.sent > 0 and made.qps is not None, (
        "what the other measured is kept"
    )
    (row, other) = sorted(open_load(tmp_path / "out").clients.to_pylist(), key=lambda one: not one["lost"])
    assert row["lost"] == "killed by SIGKILL" and row["answered"] is None
    assert other["answered"] == made.loop.answered


@pytest.mark.slow
def test_systems_of_an_experiment_by_client_processes(home: Path, tiny: Path) -> None:
    run(tiny, out=Path("runs/one"))
    job = LoadRequest(
        "runs/one",
        LoadSpec((2,), clients="processes", processes=2, runs=1, seconds=0.5),
        systems="line hybrid faiss,line · bm25,line dense exact",
    )
    before = {path.name for path in (home / "cache/index").glob("??/*")}
    done = run_load(
        job, LoadDeps(StageContext(Cache(home / "cache")), lambda _: None, lambda _: None, lambda *_: ())
    )
    assert done.found.failed == {} and [one.answered > 0 for one in done.found.points()] == [True] * 3
    assert {path.name for path in (home / "cache/index").glob("??/*")} == before, "no client built an index"


def test_a_stop_in_mid_load_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the first client is listened to: all are told, and tell what they have."""
    long = OPEN.model_copy(update={"rate": 10.0, "seconds": 3600.0, "deadline": 8000.0})
    real, heard = team_module._Client.result, []

    def interrupted(client: Any, member: Any, seconds: float) -> Any:
        if not heard:
            heard.append(client.name)
            time.sleep(0.5)
            raise KeyboardInterrupt
        return real(client, member, 120.0)

    monkeypatch.setattr(team_module._Client, "result", interrupted)
    with gather_clients(Threads(), 2, VECTORS, 60.0) as team:
        loop = team.run(long)
    assert loop.report.stopped == "stopped by Ctrl-C" and all(one.report for one in loop.members)
    assert loop.report.intended - loop.report.sent > 30_000 and not loop.report.reached


def test_the_highest_rate_by_clients_that_stay_for_the_search(tmp_path: Path) -> None:
    (candidate,) = parse_store_specs(["exact"])
    dataset = open_dataset("synthetic:400x8", queries=50)
    opened = partial(
        vector_target,
        candidate,
        dataset,
        tmp_path,
        name="synthetic:400x8",
        k=10,
        setting=None,
        seed=7,
        truth=None,
    )
    demand = LoadSpec(
        slo=Slo(50, 1e-9), clients="processes", processes=2, runs=2, seconds=0.5, workers=2, timeout=60.0
    )
    found = LoadSession(LoadOrigin("dataset", "made", "", 50), demand)
    launcher = Threads()
    run_systems_under_load(
        found,
        [("exact", opened)],
        save=lambda _: None,
        tell=lambda _: None,
        pids=lambda *_: (),
        launcher=launcher,
    )
    assert found.failed == {} and launcher.started == 4, "two clients for each search, not for each rate"
    assert [one.rate for one in found.highest["exact"]] == [None, None], "no rate keeps such a promise"
    assert all(one.probe and len(one.team) == 2 and one.loop.answered == 10 for one in found.passes)
    assert all(one.load.rate == 20.0 and one.reached is not None for one in found.passes)


def test_a_client_that_never_comes_or_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        pytest.raises(StoreError, match=r"1.*2.*1"),
        gather_clients(Processes(), 2, VECTORS, 1.0),
    ):
        pass


def test_who_does_not_know_the_word_is_sent_away() -> None:
    class Strangers(Threads):
        """Before each client somebody else calls, with nonsense, a wrong word, and the right number."""

        def start(self, call: Call) -> StartedClient:
            for line in (
                b"GET / HTTP/1.0\r\n\r\n",
                b"x" * 10_000,
                json.dumps(
                    {"word": "wrong", "number": call.number, "host": "h", "pid": 1, "version": "1"}
                ).encode()
                + b"\n",
            ):
                with socket.create_connection((call.host, call.port)) as link:
                    link.sendall(line)
            return super().start(call)

    with gather_clients(Strangers(), 2, VECTORS, 60.0) as team:
        assert team.run(CLOSED).report.answered == 400


def test_a_client_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_module, "installed_version", lambda: "0.0.1")
    with (
        pytest.raises(StoreError, match=r"0\.0\.1"),
        gather_clients(Threads(), 1, VECTORS, 1.0),
    ):
        pass


@pytest.mark.slow
def test_a_store_that_only_one_process_may_open(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_edge", reason="needs bakeoff[qdrant]")
    demand = LoadSpec((2,), clients="processes", runs=1, seconds=0.001)
    done = loaded(tmp_path, demand, stores="qdrant,exact")
    assert list(done.found.failed) == ["qdrant"] and "second process" in done.found.failed["qdrant"]
    assert [one.system for one in done.found.points()] == ["exact"]


def test_a_client_without_the_drivers_cache_is_refused(home: Path, tiny: Path) -> None:
    from bakeoff.benchmark.load.experiment_targets import ExperimentTargets, ReadOnlyCache, SystemRecipe
    from bakeoff.config import experiment
    from bakeoff.runs.live.plan_of_run import choose_systems
    from bakeoff.storage.shared_location import SharedFolder, ensure_marker

    plan = experiment.load(tiny)
    opened = ExperimentTargets(plan, tiny, StageContext(Cache(home / "cache")))
    (system,) = choose_systems(plan, "line dense faiss")
    recipe = opened.target(system).recipe
    opened.close()
    assert isinstance(recipe, SystemRecipe)
    elsewhere = {**recipe.to_dict(), "home": str(home / "other")}
    elsewhere.pop("kind")
    with pytest.raises(StoreError):
        SystemRecipe(**elsewhere).open(home)
    folder = ensure_marker(home / "other")
    with pytest.raises(StoreError):
        SystemRecipe(**{**elsewhere, "mark": folder.marker}).open(home)
    lent = ReadOnlyCache(SharedFolder(home / "cache", ensure_marker(home / "cache").marker))
    with pytest.raises(StoreError, match="--clients"):
        lent.drop("index", "ab" * 16)


@pytest.mark.parametrize(
    ("executor", "clients", "message"),
    [
        ("{local: {processes: 3}}", 2, "has 3 processes and --clients is 2"),
        ("nowhere", 2, "nowhere"),
        ("{local: {proceses: 2}}", 2, "proceses"),
    ],
)
def test_executors_that_cannot_be(executor: str, clients: int, message: str) -> None:
    from bakeoff.errors import UserError

    with pytest.raises(UserError, match=message), choose_launcher(executor, clients):
        pass


@pytest.mark.parametrize("executor", [None, "local", "{local: {processes: 2}}"])
def test_processes_of_this_machine(executor: str | None) -> None:
    with choose_launcher(executor, 2) as launcher:
        assert isinstance(launcher, Processes) and launcher.host == LOOPBACK


def test_an_executor_without_clients_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError):
        loaded(tmp_path, LoadSpec(), executor="local")


def test_our_address_as_a_cluster_sees_it() -> None:
    assert address_towards(None) == LOOPBACK == address_towards("127.0.0.1:6379")
    socket.inet_aton(address_towards("auto"))
    assert address_towards("no-such-host.invalid:1") == LOOPBACK


def test_answers_outside_the_window_do_not_count() -> None:
    from bakeoff.benchmark.clients.client import ClientShare, open_recipe

    target = open_recipe(VECTORS.to_dict(), Path())
    asking = ClientShare(target, CLOSED.model_copy(update={"clients": 1, "requests": 50}))
    told = asking.run(time.perf_counter_ns(), threading.Event())
    assert asking.answered_in(told.began, told.ended) == told.answered == 50
    assert asking.answered_in(told.ended + 1, told.ended + 10**12) == 0
    assert asking.answered_in(0, told.began - 1) == 0
    null = ClientShare(target, CLOSED.model_copy(update={"clients": 1, "requests": 50, "null": True}))
    assert null.run(time.perf_counter_ns(), threading.Event()).answered == 50


def test_a_share_may_be_empty() -> None:
    from bakeoff.benchmark.clients.client import ClientShare, open_recipe

    target = open_recipe(VECTORS.to_dict(), Path())
    few = OPEN.model_copy(update={"rate": 1.0, "seconds": 1.0, "number": 1})
    told = ClientShare(target, few).run(time.perf_counter_ns(), threading.Event())
    assert told.intended == told.sent == 0 and told.latency.buckets == []
    assert np.isfinite(told.due)
