"""Systems run for minutes while servers, workers, the run itself and the disk fail: nothing lost, nothing leaked.

A round is one experiment, run as a command and disturbed until it ends well; its rows must be those of an undisturbed
run. After each round this process runs the same experiment itself, with a server killed now and then, and counts its
own memory, files, threads and connections. Run with: python benchmarks/soak.py [--systems 50] [--minutes 30] [--seed 7]
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bakeoff.analysis import open_run
from bakeoff.errors import BakeoffError, SettingError
from bakeoff.runner import run
from bakeoff.servers.control import down, up
from bakeoff.servers.records import read_place, read_state
from bakeoff.servers.table import TABLE
from common import Row, show

SERVERS = ("pgvector", "redis")
DOCUMENTS, QUERIES, WORDS = 300, 40, 120
STORES = ("exact", "faiss", "{pgvector: {build: {index: none}}}", "{redis: {query: {ef: 500}}}")
START = (
    "import bakeoff.stages.cutting as cutting; cutting.WORTH_SECONDS = 0.02; "
    "from bakeoff.cli.app import main; main()"
)
"""The command, with worker processes even for a corpus as small as this one."""
DISK_MB = 400
PAUSE = (1.0, 8.0)
"""Seconds between two faults of a round, at least and at most."""
ATTEMPTS = 60
WORKER_SECONDS = 20.0
"""How long a round waits for the first worker process to kill."""
WARM_UP = 3
"""Runs of this process until its memory counts."""
EXACT_ROWS = ("scores", "losses")


@dataclass
class Place:
    """Where everything happens, what has been injected, and whether the disk is one that can be filled."""

    folder: Path
    disk: Path
    full: bool
    dice: random.Random
    faults: Counter[str] = field(default_factory=Counter)
    ports: set[int] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sample:
    """What this process holds after a run: memory in MB, before (`held`) and after the C library gave back what it
    holds free, open files, threads, connections, children."""

    held: float
    rss: float
    files: int
    threads: int
    connections: int
    children: int


def main() -> int:
    """Soak for the time that is asked for and print the rows."""
    asked = _arguments()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a script's background job ignores it, and so do its children
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and disk are given back
    with tempfile.TemporaryDirectory(prefix="bakeoff-soak-") as name, _disk(Path(name)) as (disk, full):
        place = Place(Path(name), disk, full, random.Random(asked.seed))
        with _servers(place) as started:
            experiment, systems = _experiment(place.folder, asked.systems, started)
            rows = _soak(place, experiment, systems, time.monotonic() + asked.minutes * 60)
        rows += _left_behind(place)
    for problem in place.problems:
        print(f"problem: {problem}", file=sys.stderr)
    print(f"faults: {dict(place.faults)}; disk that can be filled: {place.full}", file=sys.stderr)
    return show(rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


# --- what is disturbed ----------------------------------------------------------------------------------


@contextlib.contextmanager
def _disk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """A small file system of its own where that is allowed, else a plain folder."""
    at = folder / "disk"
    at.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "bakeoff-soak", str(at)]
    mounted = shutil.which("mount") is not None and subprocess.run(command, check=False).returncode == 0
    try:
        yield at, mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(at)], check=True)


@contextlib.contextmanager
def _servers(place: Place) -> Iterator[list[str]]:
    """The servers that can be started here; their addresses go into the environment of every run."""
    os.environ["BAKEOFF_HOME"] = str(place.folder / "servers-home")
    started = []
    try:
        for name in SERVERS:
            try:
                _up(place, name)
            except SettingError as exc:
                print(f"{name} is left out: {exc}", file=sys.stderr)
                continue
            started.append(name)
            os.environ.update(read_state(name).settings)  # type: ignore[union-attr]
        yield started
    finally:
        for name in SERVERS:
            down(TABLE[name], data=True)


def _experiment(folder: Path, systems: int, started: list[str]) -> tuple[Path, int]:
    """Documents of random words, queries of words of theirs, and as many systems as asked for, or a few more."""
    dice = random.Random(3)
    words = ["".join(dice.choices("abcdefghiklmnoprstu", k=dice.randint(3, 9))) for _ in range(4000)]
    texts = [dice.choices(words, k=WORDS) for _ in range(DOCUMENTS)]
    docs = folder / "docs"
    docs.mkdir()
    for number, text in enumerate(texts):
        lines = "\n".join(" ".join(text[i : i + 10]) for i in range(0, WORDS, 10))
        (docs / f"{number}.md").write_text(f"# {text[0]}\n\n{lines}\n")
    asked = [
        f'  - {{id: q{n}, text: "{" ".join(dice.sample(texts[n], 5))}", truth: {{documents: ["{n}.md"]}}}}\n'
        for n in range(QUERIES)
    ]
    (folder / "queries.yaml").write_text("queries:\n" + "".join(asked))
    stores = [store for store in STORES if store[0] != "{" or store.strip("{").partition(":")[0] in started]
    chunkers = max(1, -(-systems // (len(stores) + 1)))
    cut = ", ".join(f"{{line: {{doc_lines: {4 + n}}}}}" for n in range(chunkers))
    path = folder / "bakeoff.yaml"
    path.write_text(
        f"name: soak\ncorpus: {{folder: docs}}\nqueries: queries.yaml\nchunkers: [{cut}]\n"
        f"embedders: [{{wordllama: {{dims: 64}}}}]\nstores: [{', '.join(stores)}]\nmodes: [dense, bm25]\ndepth: 20\n"
    )
    return path, chunkers * (len(stores) + 1)


# --- rounds ---------------------------------------------------------------------------------------------


def _soak(place: Place, experiment: Path, systems: int, deadline: float) -> list[Row]:
    quiet = place.folder / "quiet" / "run"
    run(experiment, out=quiet, home=place.folder / "quiet" / "home")
    changed = lost = rounds = attempts = 0
    samples = [_sample()]
    while rounds == 0 or time.monotonic() < deadline:
        rounds += 1
        tried, gone = _round(place, experiment, place.disk / f"round{rounds}")
        attempts, lost = attempts + tried, lost + gone
        changed += _changed(place, quiet, place.disk / f"round{rounds}" / "run", systems)
        shutil.rmtree(place.disk / f"round{rounds}", ignore_errors=True)
        changed += _resident(place, experiment, quiet, systems)
        samples.append(_sample())
        print(f"round {rounds}: {tried} attempts, {samples[-1]}", file=sys.stderr)
    return [
        Row(f"systems changed, {rounds} rounds twice under faults", changed, 2 * rounds * systems, "<= 0"),
        Row("finished systems lost of those run", lost, rounds * systems, "<= 0"),
        Row("faults injected, attempts of the command", sum(place.faults.values()), attempts),
        *_leaks(samples),
    ]  # fmt: skip


def _round(place: Place, experiment: Path, folder: Path) -> tuple[int, int]:
    """Disturb the command until it ends well; how often it was started, and how many finished systems went away."""
    lost, kept, out = 0, set[str](), folder / "run"
    for attempt in range(1, ATTEMPTS + 1):
        code = _attempt(place, experiment, folder, disturbing=attempt <= ATTEMPTS // 2, first=attempt == 1)
        cells = {path.parent.name for path in out.glob("cells/*/manifest.json")}
        lost, kept = lost + len(kept - cells), cells
        if code == 0:
            return attempt, lost
        _understood(place, code, (folder / "log").read_text(errors="replace"))
    place.problems.append(f"{folder.name} did not end well in {ATTEMPTS} attempts")
    return ATTEMPTS, lost


def _attempt(place: Place, experiment: Path, folder: Path, *, disturbing: bool, first: bool) -> int:
    """The exit code of the command, with faults while it runs, a worker's first; it does not outlive us."""
    process = _start(place, experiment, folder)
    try:
        if first:
            _kill_worker(place, process, WORKER_SECONDS)
        while process.poll() is None and disturbing:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(place.dice.uniform(*PAUSE))
            if process.poll() is None:
                _fault(place, process)
        return process.wait(600)
    finally:
        process.kill()
        process.wait()


def _start(place: Place, experiment: Path, folder: Path) -> subprocess.Popen[bytes]:
    """The command, which writes its words to a file beside the run; that file is on a disk that is never full."""
    folder.mkdir(parents=True, exist_ok=True)
    log = place.folder / f"{folder.name}.log"
    (folder / "log").unlink(missing_ok=True)
    (folder / "log").symlink_to(log)
    command = [sys.executable, "-c", START, "--home", str(folder / "home"), "run", str(experiment)]
    with log.open("wb") as words:
        return subprocess.Popen([*command, "--out", str(folder / "run")], stdout=words, stderr=words)


def _understood(place: Place, code: int, said: str) -> None:
    """A run that was disturbed ends with 1, 130 or our signal, in words of ours and no traceback."""
    if code not in (1, 130, -signal.SIGKILL) or "Traceback" in said or "fault in bakeoff" in said:
        place.problems.append(f"exit code {code}: {' '.join(said.split())[-300:]}")


def _fault(place: Place, process: subprocess.Popen[bytes]) -> None:
    """One fault, chosen at random among those that are possible here."""
    live = [name for name in SERVERS if read_state(name) is not None]
    kinds = [*(["server"] * 3 if live else []), *(["disk"] * 2 if place.full else []), "worker", "worker"]
    kind = place.dice.choice([*kinds, "interrupt", "kill"])
    if kind == "server":
        _kill_server(place, place.dice.choice(live), place.dice.uniform(0.2, 2.0))
    elif kind == "disk":
        _fill(place, place.dice.uniform(0.5, 3.0))
    elif kind == "worker":
        _kill_worker(place, process, 1.0)
        return
    else:
        process.send_signal(signal.SIGINT if kind == "interrupt" else signal.SIGKILL)
        process.wait(120)
    place.faults[kind] += 1


def _kill_worker(place: Place, process: subprocess.Popen[bytes], seconds: float) -> None:
    """SIGKILL for one of the run's worker processes, if there is one within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(psutil.Error):
            workers = psutil.Process(process.pid).children(recursive=True)
            if workers:
                place.dice.choice(workers).kill()
                place.faults["worker"] += 1
                return
        time.sleep(0.01)


def _up(place: Place, name: str) -> None:
    """Start a server and remember its ports."""
    up(TABLE[name])
    known = read_place(name)
    place.ports |= set(known.ports if known else ())


def _kill_server(place: Place, name: str, seconds: float) -> None:
    """SIGKILL, so many seconds without it, and a new start on the same ports."""
    state = read_state(name)
    for mark in state.marks if state else ():
        with contextlib.suppress(psutil.Error):
            psutil.Process(mark.pid).kill()
    time.sleep(seconds)
    _up(place, name)


def _fill(place: Place, seconds: float) -> None:
    """Every byte of the disk taken for so many seconds."""
    filler = place.disk / "filler"
    try:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        time.sleep(seconds)
    finally:
        filler.unlink(missing_ok=True)


def _resident(place: Place, experiment: Path, quiet: Path, systems: int) -> int:
    """The experiment in this process, with a server killed in the middle; it is run again until it is whole."""
    folder = place.folder / "resident"
    killer = threading.Thread(target=_later, args=(place,), daemon=True)
    killer.start()
    for _ in range(ATTEMPTS):
        with contextlib.suppress(BakeoffError):
            if not run(experiment, out=folder / "run", home=folder / "home").failed:
                break
        time.sleep(0.2)
    killer.join()
    changed = _changed(place, quiet, folder / "run", systems)
    shutil.rmtree(folder)
    return changed


def _later(place: Place) -> None:
    live = [name for name in SERVERS if read_state(name) is not None]
    if live:
        time.sleep(place.dice.uniform(0.5, 4.0))
        _kill_server(place, place.dice.choice(live), 0.3)
        place.faults["server, resident"] += 1


def _changed(place: Place, quiet: Path, disturbed: Path, systems: int) -> int:
    """Systems whose scores or losses are not those of the undisturbed run; a graph built anew may rank otherwise."""
    try:
        one, other = open_run(quiet), open_run(disturbed)
        found = {
            str(row["system"])
            for name in EXACT_ROWS
            for row in _apart(getattr(one, name).to_pylist(), getattr(other, name).to_pylist())
        }
    except BakeoffError as exc:
        place.problems.append(str(exc))
        return systems
    for system in sorted(found):
        place.problems.append(f"{disturbed.parent.name}: the rows of {system} changed")
    return len(found)


def _apart(one: list[dict[str, object]], other: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Rows that are in one list only."""
    left, right = ({repr(sorted(row.items())): row for row in rows} for rows in (one, other))
    yield from (row for key, row in (left | right).items() if (key in left) != (key in right))


# --- leaks ----------------------------------------------------------------------------------------------


def _sample() -> Sample:
    gc.collect()
    me = psutil.Process()
    held = me.memory_info().rss / 1e6
    _trim()
    children = [child for child in me.children() if child.pid not in _servers_pids()]
    connections = [one for one in me.net_connections() if one.status != psutil.CONN_NONE]
    return Sample(
        held, me.memory_info().rss / 1e6, me.num_fds(), me.num_threads(), len(connections), len(children)
    )


def _trim() -> None:
    """Let the C library give back what it holds free: engines' threads leave it pools, which are no leak."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _servers_pids() -> set[int]:
    return {mark.pid for name in SERVERS if (state := read_state(name)) for mark in state.marks}


def _leaks(samples: list[Sample]) -> list[Row]:
    """The end against what it was after the warm-up; one run more or less of memory is noise, a slope is not."""
    if len(samples) < 2 * WARM_UP:
        print(
            f"{len(samples)} runs of this process are too few to tell a leak: more minutes", file=sys.stderr
        )
        return []
    warm = samples[WARM_UP:]
    slope = _slope([one.rss for one in warm])
    last, first = samples[-1], warm[0]
    threads = max(one.threads for one in samples[: WARM_UP + 1])
    return [
        Row(f"RSS of this process, MB, after {len(samples)} runs and after warm-up", last.rss, first.rss, "<= 1.15"),
        Row("the same with what the C library holds free, MB", last.held, first.held),
        Row("growth of RSS a run after warm-up, MB, of RSS", slope, first.rss, "<= 0.02"),
        Row("open files at the end and after warm-up", last.files, first.files, "<= 1"),
        Row("threads at the end and most until warm-up", last.threads, threads, "<= 1"),
        Row("connections at the end and after warm-up, plus one", last.connections + 1, first.connections + 1, "<= 1"),
        Row("children at the end and after warm-up, plus one", last.children + 1, first.children + 1, "<= 1"),
    ]  # fmt: skip


def _slope(values: list[float]) -> float:
    """The median of the slopes between all pairs (Theil and Sen)."""
    pairs = [(b - a) / (j - i) for i, a in enumerate(values) for j, b in enumerate(values) if j > i]
    return statistics.median(pairs) if pairs else 0.0


def _left_behind(place: Place) -> list[Row]:
    """Processes that work in our folder, and ports of the servers that somebody listens on, after the end."""
    ours = str(place.folder)
    processes = 0
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            processes += one.pid != os.getpid() and (
                one.cwd().startswith(ours) or ours in " ".join(one.cmdline())
            )
    heard = {
        one.laddr.port
        for one in psutil.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN and one.laddr
    }
    return [
        Row("processes left behind, plus one", processes + 1, 1, "<= 1"),
        Row("ports left open, plus one", len(place.ports & heard) + 1, 1, "<= 1"),
    ]


if __name__ == "__main__":
    sys.exit(main())
