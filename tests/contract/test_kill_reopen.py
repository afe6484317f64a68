"""What a store says is ready survives kill -9 of the process, and of the engine, that wrote it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from bakeoff import registry
from bakeoff.errors import MissingExtraError
from bakeoff.protocols import SupportsReopen, SupportsVectors
from bakeoff.runtime.servers.control import needing_a_server
from bakeoff.types import Batch, Metric

pytestmark = pytest.mark.slow

ROWS, DIMS = 2000, 32
WRITER = "from test_kill_reopen import write; import sys; write(*sys.argv[1:])"


def vectors() -> np.ndarray:
    return np.random.default_rng(11).normal(size=(ROWS, DIMS)).astype(np.float32)


def write(name: str, home: str) -> None:
    """Build a collection, say that it is ready, and wait to be killed."""
    plugin = registry.load("stores", name)
    store = plugin(plugin.Params(), Path(home))
    store.create("killed", DIMS, Metric.COSINE)
    rows = vectors()
    for part in np.array_split(np.arange(ROWS, dtype=np.int64), 3):
        store.insert(Batch(part, vectors=rows[part]))
    store.ready()
    print("ready", flush=True)
    sys.stdin.read()


def killed_when_ready(name: str, home: Path) -> None:
    """Run the writer until it is ready, then kill it and every process it started."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, name, str(home)],
        cwd=Path(__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as writer:
        assert writer.stdout is not None
        said = writer.stdout.readline()
        family = psutil.Process(writer.pid).children(recursive=True)
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait()
    psutil.wait_procs(family, timeout=60)
    assert said == b"ready\n"
    assert writer.returncode == -signal.SIGKILL


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
@pytest.mark.parametrize(
    "name", sorted({*registry.names("stores")} - needing_a_server() - {"pinecone", "vespa"})
)
def test_reopens_after_kill(name: str, tmp_path: Path) -> None:
    try:
        plugin = registry.load("stores", name)
    except MissingExtraError as exc:
        pytest.skip(str(exc))
    if not (issubclass(plugin, SupportsReopen) and issubclass(plugin, SupportsVectors)):
        pytest.skip(f"{name} keeps no vectors on disk")
    killed_when_ready(name, tmp_path)
    store, rows = plugin(plugin.Params(), tmp_path), vectors()
    try:
        assert store.open("killed", DIMS, Metric.COSINE) == ROWS
        found = [store.search(rows[i], 1, plugin.Query()).ids.tolist() for i in range(0, ROWS, 100)]
    finally:
        store.close()
    assert sum(ids == [i] for ids, i in zip(found, range(0, ROWS, 100), strict=True)) >= 19
