"""What several processes and machines tell each other: caches, depots, clients of a load, servers that were started."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bakeoff.benchmark.clients import driver
from bakeoff.benchmark.clients.merged_loop import ClientResult, ClockCheck, RoundTrip, offset_of
from bakeoff.benchmark.clients.messages import ClientCommand, Hello, Line
from bakeoff.benchmark.loop_report import LoopReport
from bakeoff.runtime.scheduler import installed_version
from bakeoff.runtime.servers.maven import _unpack_jars
from bakeoff.runtime.servers.records import read_place, read_state
from bakeoff.storage.cache import MANIFEST, Cache
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.storage.row_keys import InputKeys
from bakeoff.storage.shared_cache import MARKER_CONTENT, RemoteArtifactStore, RemoteBackedCache
from bakeoff.storage.shared_location import MARKER, ObjectStoreClient, ensure_marker
from fuzzed.reader import Reader, lying, scratch

STATE = {
    "name": "redis", "version": "8", "address": "a", "line": "l", "since": 1.0, "settings": {"BAKEOFF_REDIS_URL": "u"},
    "marks": [{"pid": 1, "started": 1.0, "program": "p"}],
}  # fmt: skip
SITE = {"folder": "f", "data": "d", "program": "p", "ports": [1], "password": "x", "user": None}
HELLO = {"word": "word", "number": 0, "host": "h", "pid": 1, "version": installed_version()}
ORDERS = [{"do": "clock"}, {"do": "open", "recipe": {"kind": "vectors"}, "timeout": 1.0}, {"do": "go"}]
BUCKETS = {"buckets": [1, 2000], "counts": [1, 2], "missing": 0}
TOLD = {
    "began": 1, "ended": 10**9, "intended": 3, "sent": 3, "answered": 3, "errors": 0, "error": "", "timeouts": 0,
    "unsent": 0, "short": 0, "total_ns": 4001, "drift": 0.0, "latency": BUCKETS, "lag": BUCKETS, "due": 1.0,
    "sent_last": 1.0, "stopped": "", "use": {"avg_cpu_percent": 1.0, "samples": 1},
}  # fmt: skip
STAGE, KEY = "fuzzed", "ab" * 16


# --- caches -----------------------------------------------------------------------------------------


@cache
def artifact() -> Path:
    """The folder of an artifact, as a cache wrote it."""
    return Cache(scratch() / "artifacts").make(STAGE, KEY, lambda folder: _lay(folder, b"rows"))


def _lay(folder: Path, content: bytes) -> None:
    (folder / "rows.bin").write_bytes(content)


def cached(path: Path) -> object:
    """An artifact with this file in it: it counts, or as none."""
    folder = path.parent / "cache" / STAGE / KEY[:2] / KEY
    folder.mkdir(parents=True, exist_ok=True)
    for other in artifact().iterdir():
        shutil.copy(path if other.name == path.name else other, folder)
    return Cache(path.parent / "cache").get(STAGE, KEY)


def depot(root: Path) -> RemoteArtifactStore:
    (root / MARKER).write_bytes(MARKER_CONTENT)
    return RemoteArtifactStore(ObjectStoreClient(str(root)))


@cache
def segment() -> bytes:
    """What a pool's worker put into a depot: an index and rows."""
    import pyarrow as pa

    root = scratch() / "depot"
    root.mkdir()
    pool = RowCache(RemoteBackedCache(scratch() / "far", depot(root)), STAGE, KEY)
    pool.fill(["a", "b"], lambda at: BatchRows([1] * len(at), pa.table({"x": at})), batch=2)
    (found,) = (path for path in (root / STAGE).rglob("*") if path.is_file())
    return json.dumps(found.name).encode() + b"\n" + found.read_bytes()


def parcel(path: Path) -> object:
    """A pool that finds this among the objects of a depot, under the name the valid one had."""
    name = json.loads(segment().split(b"\n", 1)[0])
    root, home = path.parent / "depot", path.parent / "home"
    shutil.rmtree(home, ignore_errors=True)
    place = root / STAGE / name[:2] / name
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, place)
    there = depot(root)
    pool = RowCache(RemoteBackedCache(home, there), STAGE, KEY)
    return pool._missing(InputKeys.collect(["a", "b"])).tolist(), there.fetch(STAGE, name)


# --- clients of a load ------------------------------------------------------------------------------


def heard(path: Path, hear: Callable[[Line], object]) -> object:
    """What is heard on a connection on which these bytes were sent before it was closed."""
    ours, theirs = _linked()
    with ours, theirs:
        theirs.sendall(path.read_bytes())
        theirs.shutdown(socket.SHUT_WR)
        return hear(Line(ours))


def _linked() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        theirs = socket.create_connection(door.getsockname())
        return door.accept()[0], theirs


def orders(path: Path) -> object:
    return heard(path, lambda line: [ClientCommand.read(line.hear(5)) for _ in ORDERS])


class Running:
    """A client that runs."""

    def end_reason(self, _seconds: float = 0.0) -> str:
        return ""

    def stop(self) -> None:
        """Nothing to end."""


def first_line(path: Path) -> object:
    """A stranger at the door; who knows the word is let in after it."""
    found: dict[int, driver._Client] = {}
    with socket.create_server(("127.0.0.1", 0)) as door:
        calls = [socket.create_connection(door.getsockname()) for _ in range(2)]
        for call, said in zip(calls, (path.read_bytes(), json.dumps(HELLO).encode()), strict=True):
            call.sendall(said + b"\n")
        try:
            driver._let_in(door, "word", [Running()], found)
        finally:
            for one in (*found.values(), *(Line(call) for call in calls)):
                getattr(one, "_line", one).close()
    return found


def figures(path: Path) -> object:
    """What a client tells of its load, merged."""

    def merged(line: Line) -> object:
        client = driver._Client(Hello.read(HELLO), line, Running())
        clock = ClockCheck(offset_of([RoundTrip(0, 1, 2, 3, 4, 5)]))
        member = client.result(ClientResult(0, "c", "h", clock), 5)
        loop = driver._merge_clients([client], [member], 0, "").report
        latencies = [one and one.histogram().percentile(95) for one in (loop.latency, loop.lag)]
        return LoopReport if member.lost else (loop.sent, loop.mean_ms, latencies)

    return heard(path, merged)


# --- servers ----------------------------------------------------------------------------------------


def of_server(read: Callable[[str], object]) -> Callable[[Path], object]:
    """Reads a server's record as the commands do: below the home folder."""

    def reading(path: Path) -> object:
        before = os.environ.get("BAKEOFF_HOME")
        os.environ["BAKEOFF_HOME"] = str(path.parents[2])
        try:
            return read("redis")
        finally:
            os.environ.pop("BAKEOFF_HOME") if before is None else os.environ.update(BAKEOFF_HOME=before)

    return reading


def jars() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("lib/a.jar", b"x" * 50)
    return out.getvalue()


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


READERS = [
    Reader("manifest", MANIFEST, cached, lying(artifact, MANIFEST)),
    Reader("file of an artifact", "rows.bin", cached, b"rows"),
    Reader("parcel", "object", parcel, lambda: segment().split(b"\n", 1)[1]),
    Reader(
        "mark of a shared folder", MARKER, lambda path: ensure_marker(path.parent).is_available(), b"c0ffee"
    ),
    Reader("orders to a client", "orders.jsonl", orders, lines(*ORDERS)),
    Reader("first line of a client", "hello.jsonl", first_line, lines(HELLO)),
    Reader("figures of a client", "told.jsonl", figures, lines(TOLD)),
    Reader(
        "state of a server", "servers/redis/state.json", of_server(read_state), json.dumps(STATE).encode()
    ),
    Reader("place of a server", "servers/redis/place.json", of_server(read_place), json.dumps(SITE).encode()),
    Reader("jars of a plug-in", "plugin.zip", lambda path: _unpack_jars(path, path.parent), jars),
]
