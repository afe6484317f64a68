"""A tiny real corpus, its experiment, and plug-ins that count what they are asked."""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

os.environ.pop("COLUMNS", None)  # xdist sets it, and the console reads it when it is imported

from bakeoff import registry
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.pipeline.canary import TEXTS as CANARY_TEXTS
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.runtime.events import Event
from bakeoff.truth.sql_process import SqlProcess
from bakeoff.types import Document, Piece, Role, SourceItem

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # threads that wait for a core make a tiny search a thousand times slower

# no example fails because the machine is busy: neither by its own time nor by the time to make it up
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# every command typed in a test would build all of bakeoff's commands again
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)

if threading.current_thread() is threading.main_thread():
    # a run started in the background of a script ignores Ctrl-C, and so would every test of it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# no test cuts the power: what was written need not be on the disk
os.fsync = lambda _: None

gc.disable()  # until everything is collected: thousands of tests and modules that all stay


def pytest_collection_finish() -> None:
    """Collect garbage again, seldom all of it."""
    gc.set_threshold(5_000, 20, 100)
    gc.enable()


KNOWN_MODULES = [0]
MANY_MODULES = 200


def pytest_runtest_setup() -> None:
    """Leave what large packages brought out of garbage collection: whoever measures memory collects each time."""
    if len(sys.modules) > KNOWN_MODULES[0] + MANY_MODULES:
        KNOWN_MODULES[0] = len(sys.modules)
        gc.collect()
        gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter free everything at its end, as it does without tests."""
    gc.unfreeze()


SLOW_FIXTURES = {"browser", "engines", "known"}
"""What starts a browser or a server, or needs one that was built: tests that use it are slow."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use one of SLOW_FIXTURES, through whatever other fixtures."""
    for item in items:
        if SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


FILES = {
    "guide/auth.md": """\
# Authentication

Access tokens expire after fifteen minutes; a client asks the refresh endpoint for a new one.

## Passwords

Passwords are hashed with argon2 and a salt of their own. A plain password is never logged.

## Single sign-on

The identity provider sends a signed assertion, and the session begins when its signature is verified.
""",
    "guide/billing.md": """\
# Billing

An invoice is issued on the first day of each month and paid by card or bank transfer.

## Refunds

A refund is granted within thirty days. The money goes back to the card that was charged.

## Taxes

Value added tax depends on the customer's country and is shown as a line of its own.
""",
    "guide/deploy.md": """\
# Deployment

The service runs in containers. A rolling update replaces one instance after another.

## Rollback

When the health check fails three times, the previous image is started again.

## Backups

The database is copied every night; copies are kept for ninety days in another region.
""",
    "notes/größe.md": """\
# Größe und Gewicht

Das Paket wiegt höchstens zwei Kilogramm und ist kürzer als ein Meter.

## Versand

Der Versand nach Österreich dauert drei Tage.
""",
    "src/cache.py": '''\
"""A cache that forgets what was used least recently."""

from collections import OrderedDict


class LeastRecentlyUsed:
    """Keeps at most `capacity` values."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.values: OrderedDict[str, object] = OrderedDict()

    def get(self, key: str) -> object:
        """The value under a key, which becomes the most recent one."""
        self.values.move_to_end(key)
        return self.values[key]

    def evict(self) -> None:
        """Remove the entry that was not used for the longest time."""
        self.values.popitem(last=False)
''',
    "src/retry.py": '''\
"""Try a call again when the network fails."""

import random
import time


def backoff(attempt: int) -> float:
    """Seconds to wait: doubled with each attempt, with jitter."""
    return random.random() * 2**attempt


def retry(call, attempts: int = 5):
    """Call until it succeeds; the last error is raised."""
    for attempt in range(attempts):
        try:
            return call()
        except ConnectionError:
            time.sleep(backoff(attempt))
    return call()
''',
    "src/slug.py": '''\
"""Titles as parts of a web address."""

import re
import unicodedata


def slugify(title: str) -> str:
    """Lower case, accents removed, words joined by hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
''',
}

QUERIES = """\
defaults: {difficulty: medium}
queries:
  - {id: expiry, text: how long is an access token valid, category: guide, truth: {documents: [guide/auth.md]}}
  - {id: hashing, text: which algorithm hashes passwords, category: guide, truth: {documents: [guide/auth.md]}}
  - {id: sso, text: verify the signature of the identity provider, category: guide, truth: {documents: [guide/auth.md]}}
  - {id: refund, text: get my money back after a purchase, category: guide, truth: {documents: [guide/billing.md]}}
  - {id: tax, text: value added tax for another country, category: guide, truth: {documents: [guide/billing.md]}}
  - {id: rollback, text: what happens when the health check fails, category: guide, truth: {documents: [guide/deploy.md]}}
  - {id: backup, text: how many days are database copies kept, category: guide, truth: {documents: [guide/deploy.md]}}
  - {id: parcel, text: wie schwer darf ein Paket sein, category: guide, truth: {documents: [notes/größe.md]}}
  - {id: evict, text: remove the entry that was unused for the longest time, category: code, truth: {symbol: "src/cache.py::LeastRecentlyUsed.evict"}}
  - {id: jitter, text: wait longer after each failed attempt, category: code, truth: {symbol: "src/retry.py::backoff"}}
  - {id: accents, text: turn a title with accents into a web address, category: code, truth: {documents: [src/slug.py]}}
  - {id: both, text: python modules that import re or time, category: code, truth: {any: [{documents: [src/slug.py]}, {documents: [src/retry.py], grade: 2}]}}
  - {id: nothing, text: the airspeed of an unladen swallow, category: guide, truth: negative}
  - {id: nowhere, text: recipe for sourdough bread, category: code, truth: negative}
"""

EXPERIMENT = """\
name: tiny
corpus:
  folder: corpus
queries: queries.yaml
chunkers: [line, semantic]
embedders: [{wordllama: {dims: 64}}]
stores: [exact, faiss]
modes: [dense, bm25, hybrid]
depth: 20
"""

SMALL = """\
name: small
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [{line: {doc_lines: 4, code_lines: 6}}]
embedders: [{wordllama: {dims: 64}}]
stores: [exact]
modes: [dense]
depth: 20
"""


def lay_out(folder: Path, experiment: str = EXPERIMENT) -> Path:
    """Write the tiny corpus, its queries and its experiment below a folder; returns the experiment's path."""
    for name, text in FILES.items():
        path = folder / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "queries.yaml").write_text(QUERIES, encoding="utf-8")
    path = folder / "bakeoff.yaml"
    path.write_text(experiment, encoding="utf-8")
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh BAKEOFF_HOME; the working folder is beside it, so that nothing is left in the repository."""
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path / "home"


@pytest.fixture
def tiny(home: Path) -> Path:
    """The experiment of ten systems over the tiny corpus, in the working folder."""
    return lay_out(Path.cwd())


@pytest.fixture
def small(home: Path) -> Path:
    """The experiment of one system over the tiny corpus, in the working folder."""
    return lay_out(Path.cwd(), SMALL)


@pytest.fixture
def laid_out() -> Callable[..., Path]:
    """Writes the tiny corpus and an experiment below any folder."""
    return lay_out


@pytest.fixture(scope="module")
def laid_out_module() -> Callable[..., Path]:
    """The same for what a whole module shares."""
    return lay_out


@dataclass(frozen=True)
class Ran:
    """One finished run that tests only read, and what it told while it went on."""

    result: Result
    events: tuple[Event, ...]


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The tiny experiment, run once; tests that write make their own."""
    folder = tmp_path_factory.mktemp("ran")
    events: list[Event] = []
    result = run(lay_out(folder), out=folder / "run", home=folder / "home", emit=events.append)
    return Ran(result, tuple(events))


@pytest.fixture(scope="session", autouse=True)
def kept_sql_process() -> Iterator[None]:
    """A process for SQL conditions that did its work is taken by the next test that needs one; each takes long to start."""
    idle: list[subprocess.Popen[bytes]] = []
    start, end = SqlProcess.start, SqlProcess.end

    def start_or_take(self: SqlProcess) -> subprocess.Popen[bytes]:
        while self._process is None and idle:
            process = idle.pop()
            self._process = process if process.poll() is None else None
        return start(self)

    def end_or_keep(self: SqlProcess) -> None:
        if self._process is None or idle or sys.exc_info()[0] is not None:
            end(self)
        else:
            idle.append(self._process)
            self._process = None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlProcess, "start", start_or_take)
        patch.setattr(SqlProcess, "end", end_or_keep)
        yield
    last = SqlProcess()
    last._process = idle.pop() if idle else None
    last.end()


@dataclass
class Counts:
    """What the counting plug-ins were asked to do since the last `clear`."""

    read: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    embedded: list[tuple[Role, str]] = field(default_factory=list)

    def clear(self) -> None:
        self.read.clear()
        self.cut.clear()
        self.embedded.clear()

    @property
    def documents(self) -> list[str]:
        """The texts embedded as parts of documents."""
        return [text for role, text in self.embedded if role is Role.DOCUMENT]


@pytest.fixture
def register() -> Iterator[Callable[[str, str, type], None]]:
    """Registers plug-ins of a test and takes them back afterwards."""
    added: list[tuple[str, str]] = []

    def add(kind: str, name: str, plugin: type) -> None:
        registry.add(kind, name, plugin)
        added.append((kind, name))

    yield add
    for kind, name in added:
        registry.remove(kind, name)


@pytest.fixture
def counts(register: Callable[[str, str, type], None]) -> Counts:
    """Counting kinds of folder, line and wordllama, registered as `counted`: they delegate to the real ones."""
    found = Counts()

    class CountedSource(registry.load("sources", "folder")):
        def read(self, item: SourceItem) -> Any:
            found.read.append(item.id)
            return super().read(item)

    class CountedChunker(registry.load("chunkers", "line")):
        def chunk(self, document: Document) -> Iterator[Piece]:
            found.cut.append(document.id)
            return super().chunk(document)

    class CountedEmbedder(registry.load("embedders", "wordllama")):
        def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
            found.embedded.extend((role, text) for text in texts if text not in CANARY_TEXTS)
            return super().embed(texts, role)

    register("sources", "counted", CountedSource)
    register("chunkers", "counted", CountedChunker)
    register("embedders", "counted", CountedEmbedder)
    return found


class Clock:
    """Time that passes only when it is told to; it stands in for the module `time` where a loop reads it.

    `tick` nanoseconds pass with every reading. Who sleeps wakes at the moment that follows from his last reading, so that
    threads sleep side by side.
    """

    def __init__(self) -> None:
        self.now, self.tick = 10**12, 0
        self._lock, self._mine = threading.Lock(), threading.local()

    def perf_counter_ns(self) -> int:
        with self._lock:
            self.now += self.tick
            self._mine.read = self.now
            return self.now

    def perf_counter(self) -> float:
        return self.perf_counter_ns() / 1e9

    def monotonic(self) -> float:
        return self.perf_counter()

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.now = max(self.now, getattr(self._mine, "read", self.now) + int(seconds * 1e9))

    def passes(self, milliseconds: float) -> None:
        with self._lock:
            self.now += int(milliseconds * 1e6)


@pytest.fixture
def made_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Clock]:
    """Gives modules a clock of the test's own, so that what they measure does not depend on the machine."""

    def stand_in(*modules: ModuleType) -> Clock:
        clock = Clock()
        for module in modules:
            monkeypatch.setattr(module, "time", clock)
        return clock

    return stand_in


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The BAKEOFF_HOME of the session's servers: each starts with the first test that asks for it."""
    from bakeoff.runtime.servers.control import TABLE, down

    folder = tmp_path_factory.mktemp("engines")
    yield folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAKEOFF_HOME", str(folder))
        for server in TABLE.values():
            down(server, data=True)


@pytest.fixture
def engine(engines: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, str]]:
    """Starts the session's server of a name, tells its store where it is, and returns that; skips where it cannot."""
    from bakeoff.errors import SettingError
    from bakeoff.runtime.servers.control import TABLE, up
    from bakeoff.runtime.servers.records import read_state

    def start(name: str) -> dict[str, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAKEOFF_HOME", str(engines))
            try:
                up(TABLE[name])
            except SettingError as exc:
                pytest.skip(str(exc))
            state = read_state(name)
        assert state is not None
        for variable, value in state.settings.items():
            monkeypatch.setenv(variable, value)
        return state.settings

    return start


@pytest.fixture
def kill_engine(engines: Path) -> Callable[[str], None]:
    """Kills the session's server of a name with SIGKILL and waits until it is gone."""
    import psutil

    from bakeoff.runtime.servers.records import read_state

    def kill(name: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BAKEOFF_HOME", str(engines))
            state = read_state(name)
        assert state is not None
        server = psutil.Process(state.marks[0].pid)
        server.kill()
        server.wait(120)

    return kill


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code, what it wrote to each stream, and the class of the error that ended it."""

    code: int
    out: str
    err: str
    kind: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Types a command."""
    report = console._report_failure

    def typed(*words: object) -> Outcome:
        kinds = [""]

        def noted(lines: tuple[str, ...], code: int, kind: str) -> int:
            kinds.append(kind)
            return report(lines, code, kind)

        capsys.readouterr()
        monkeypatch.setattr(console, "_report_failure", noted)
        code = console.run_guarded(lambda: app([str(word) for word in words], standalone_mode=False))
        return Outcome(code, *capsys.readouterr(), kinds[-1])

    return typed
