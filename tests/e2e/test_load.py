"""`bakeoff load` as a user's shell starts it: Ctrl-C, clients that are killed, a real server, a Ray cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.benchmark.results.load_results import open_load

pytestmark = pytest.mark.slow

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
LONG = 120
"""Seconds after which something hangs."""
PLUGIN = '''
import os, time
from pathlib import Path

from bakeoff.plugins.stores.exact import ExactStore

NOTES = Path(os.environ["NOTES"])


class Noting(ExactStore):
    """Exact search; in its 70th search, past every warm-up, a process notes who it is, and one may wait there."""

    count = 0

    def search(self, vector, k, query):
        Noting.count += 1
        if Noting.count == 70:
            (NOTES / f"measuring-{os.getpid()}").touch()
            if os.environ.get("ONE_WAITS"):
                try:
                    with open(NOTES / "victim", "x") as file:
                        file.write(str(os.getpid()))
                    time.sleep(600)
                except FileExistsError:
                    pass
        return super().search(vector, k, query)
'''


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store of this module, installed as a package of its own, leaves its notes."""
    plug = tmp_path / "plug"
    (plug / "noting-1.dist-info").mkdir(parents=True)
    (plug / "noting_store.py").write_text(PLUGIN)
    (plug / "noting-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: noting\nVersion: 1\n")
    (plug / "noting-1.dist-info/entry_points.txt").write_text(
        "[bakeoff.stores]\nnoting = noting_store:Noting\n"
    )
    for name, value in (("NOTES", tmp_path), ("PYTHONPATH", plug), ("BAKEOFF_HOME", tmp_path / "home")):
        monkeypatch.setenv(name, str(value))
    return tmp_path


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [BAKEOFF, "load", "synthetic:400x8", "--queries", "50", "--out", folder / "out", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def wait_for(folder: Path, pattern: str, count: int, process: subprocess.Popen[str]) -> list[Path]:
    until = time.monotonic() + LONG
    while len(found := sorted(folder.glob(pattern))) < count:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.02)
    return found


@pytest.mark.parametrize(("clients", "measuring"), [("threads", 1), ("2", 2)])
def test_ctrl_c_keeps_what_was_measured(notes: Path, clients: str, measuring: int) -> None:
    words = (
        "--stores",
        "noting",
        "--rate",
        "100",
        "--seconds",
        "3600",
        "--workers",
        "2",
        "--clients",
        clients,
    )
    process = started(notes, *words)
    wait_for(notes, "measuring-*", measuring, process)
    process.send_signal(signal.SIGINT)
    told, err = process.communicate(timeout=LONG)
    assert process.returncode == 130 and "Traceback" not in err
    assert "Ctrl-C" in told
    read = open_load(notes / "out")
    (row,) = read.passes.to_pylist()
    assert read.record["status"] == "partial" and row["stopped"] == "stopped by Ctrl-C"
    # 50 warm-ups and 20 searches began, of which each of the two workers may not have finished one
    assert row["answered"] >= 18 and row["unsent"] > 0
    assert read.histogram("noting", row["load"]).count == row["answered"]
    assert read.clients.num_rows == (2 if clients == "2" else 0)
    assert not alive(notes), "no client is left behind"


def test_a_client_killed_in_mid_run_is_named(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_WAITS", "1")
    words = (
        "--stores",
        "noting,exact",
        "--clients",
        "2",
        "--runs",
        "1",
        "--seconds",
        "0.05",
        "--timeout",
        "300",
    )
    process = started(notes, *words)
    (victim,) = wait_for(notes, "victim", 1, process)
    while not (pid := victim.read_text()):
        time.sleep(0.01)
    os.kill(int(pid), signal.SIGKILL)
    told, err = process.communicate(timeout=LONG)
    assert process.returncode == 1 and "Traceback" not in err
    assert re.search(rf":{pid}\) [^:]*SIGKILL[^:]*: .* 1\b", err.replace("\n", " "))
    assert "exact: " in told, "the other store goes on"
    lost, kept, *rest = sorted(open_load(notes / "out").clients.to_pylist(), key=lambda row: not row["lost"])
    assert pid in lost["client"] and kept["answered"] >= 25 and len(rest) == 2
    assert json.loads((notes / "out/record.json").read_text())["status"] == "failed"


def test_clients_end_when_their_driver_is_killed(notes: Path) -> None:
    words = ("--stores", "noting", "--rate", "100", "--seconds", "3600", "--workers", "2", "--clients", "2")
    process = started(notes, *words)
    wait_for(notes, "measuring-*", 2, process)
    process.kill()
    process.communicate(timeout=LONG)
    assert not alive(notes)


def alive(notes: Path) -> list[int]:
    """The processes that took part and do not end."""
    pids = [int(path.name.split("-")[1]) for path in notes.glob("measuring-*")]
    until = time.monotonic() + LONG
    while (left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < until:
        time.sleep(0.05)
    return left


@pytest.fixture
def redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Redis of this test's own."""
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    up = subprocess.run([BAKEOFF, "servers", "up", "redis"], capture_output=True, text=True, check=False)
    if up.returncode:
        pytest.skip(f"no Redis here: {(up.stderr.strip().splitlines() or ['?'])[-1]}")
    yield
    subprocess.run([BAKEOFF, "servers", "down", "redis", "--data"], capture_output=True, check=True)


def test_two_processes_against_a_real_server(redis: None, tmp_path: Path) -> None:
    process = started(
        tmp_path,
        "--stores",
        "redis",
        "--metric",
        "cosine",
        "--rate",
        "100",
        "--seconds",
        "2",
        "--runs",
        "1",
        "--clients",
        "2",
    )
    told, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    read = open_load(tmp_path / "out")
    (row,) = read.passes.to_pylist()
    assert row["sent"] == row["answered"] == 200 and row["errors"] == 0 and row["processes"] == 2
    clients = read.clients.to_pylist()
    assert sum(one["answered"] for one in clients) == 200 and all(one["answered"] > 50 for one in clients)
    assert row["server_avg_cpu_percent"] is not None and row["client_avg_cpu_percent"] is not None
    assert "for itself" not in " ".join(read.record["notes"]), "one server, not two copies"
    assert "100/s from 2 processes" in told and "clock off ms" in told


@pytest.fixture
def cluster(notes: Path) -> Iterator[str]:
    """A Ray cluster of two nodes with one core each."""
    pytest.importorskip("ray", reason="needs bakeoff[ray]")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args=node)
    try:
        nodes.add_node(**node)
        nodes.wait_for_nodes()
        yield nodes.address
    finally:
        nodes.shutdown()


def test_clients_on_two_nodes_of_a_ray_cluster(cluster: str, notes: Path) -> None:
    words = ("--stores", "noting,exact", "--rate", "100", "--executor", f"{{ray: {{address: '{cluster}'}}}}")
    process = started(notes, *words, "--seconds", "1", "--runs", "2", "--clients", "2")
    _, err = process.communicate(timeout=3 * LONG)
    assert process.returncode == 0, err
    read = open_load(notes / "out")
    assert read.passes["answered"].to_pylist() == [100] * 4
    assert set(read.passes["processes"].to_pylist()) == {2}
    for one in read.clients.to_pylist():
        assert abs(one["offset_ms"]) <= one["offset_unsure_ms"] and one["lost"] == ""
    assert len(set(read.clients["client"].to_pylist())) >= 2
    refused = started(notes, *words, "--clients", "3")
    assert "all clients" in refused.communicate(timeout=LONG)[1] and refused.returncode == 2
    for path in notes.glob("measuring-*"):
        path.unlink()
    _killed_in_mid_run(notes, *words, "--seconds", "3600", "--clients", "2")


def _killed_in_mid_run(notes: Path, *words: str) -> None:
    """A worker of the cluster is killed; Ctrl-C, for the other would send for an hour."""
    process = started(notes, *words)
    one, _ = wait_for(notes, "measuring-*", 2, process)
    pid = one.name.split("-")[1]
    os.kill(int(pid), signal.SIGKILL)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == 130 and "Traceback" not in err
    lost, kept = sorted(open_load(notes / "out").clients.to_pylist(), key=lambda row: not row["lost"])
    assert pid in lost["client"] and kept["answered"] >= 19
