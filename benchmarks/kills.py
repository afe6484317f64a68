"""SIGKILL at random moments of run, take, ann, load and review serve: same results, no answer lost.

A command is started again and again in one folder and killed at a moment drawn evenly over the time a quiet one takes,
until it ends by itself; then its results are compared and a new folder begins. Commands start in a fork after their
modules are imported, so that the moments fall on work and not on imports; one in ten starts as a program of its own.
Run with: python benchmarks/kills.py [KILLS] [SEED] [MINUTES]
Not part of run_all.py: 1,000 kills take half an hour on an idle machine. With MINUTES, each command gets its share
of them and is killed as often as that allows.
"""

from __future__ import annotations

import contextlib
import datetime
import html
import http.client
import importlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from common import Row, show

KILLS, SEED, MOST_IN_A_FOLDER = 1000, 7, 12
TESTS = Path(__file__).parents[1] / "tests"
BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
TABLES = ("scores", "rankings", "queries", "passages", "losses", "ties", "choices")
EXPERIMENT = """\
name: tiny
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [line, whole]
embedders: [{wordllama: {dims: 64}}]
stores: [exact]
modes: [dense, bm25]
depth: 20
"""
IMPORTED = re.compile(
    r"(bakeoff|pyarrow|numpy|pydantic|typer|rich|faiss|wordllama|tokenizers|duckdb|scipy)\b"
)
ONLY = os.environ.get("BAKEOFF_BENCH_KILLS", "")
"""One command instead of all."""
TOKEN = "token-of-the-benchmark"
SHARES = {"run": 0.3, "take": 0.2, "review serve": 0.2, "ann": 0.15, "load": 0.15}


@dataclass
class Count:
    """What was done and what was wrong."""

    kills: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    acknowledged: int = 0
    deadline: float = float("inf")

    def wants(self, what: str, kills: int) -> bool:
        """Whether a command is to be killed again."""
        return self.kills[what] < kills and time.monotonic() < self.deadline


class Command:
    """A command as a process, forked from this one or, now and then, started as a program."""

    def __init__(self, folder: Path, words: list[str], *, program: bool) -> None:
        self.log = folder / "log.txt"
        if program:
            env = {**os.environ, "BAKEOFF_HOME": str(folder / "home")}
            with self.log.open("ab") as log:
                self.pid = subprocess.Popen(
                    [BAKEOFF, *words], cwd=folder, env=env, stdout=log, stderr=log
                ).pid
            return
        self.pid = os.fork()
        if not self.pid:
            _become(folder, self.log, words)

    def ended(self, seconds: float) -> int | None:
        """The exit code where it ends in so many seconds."""
        end = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() >= end:
                return None
            time.sleep(0.002)

    def kill(self) -> None:
        """SIGKILL, to this process alone."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _become(folder: Path, log: Path, words: list[str]) -> None:
    """Never returns: the forked process is the command."""
    code = 70
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.chdir(folder)
        os.environ["BAKEOFF_HOME"] = str(folder / "home")
        from bakeoff.cli import console
        from bakeoff.cli.app import app

        code = console.run_guarded(lambda: app(words, standalone_mode=False))
    finally:
        os._exit(code)


def main() -> int:
    """Kill, compare and print the rows."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else SEED)
    minutes = float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
    count = Count()
    with tempfile.TemporaryDirectory(prefix="bakeoff-kills-") as name:
        root = Path(name)
        quiet = _lay_out(root / "quiet")
        _import_what_they_import(quiet)
        for what, work in WORK.items():
            if ONLY not in ("", what):
                continue
            count.deadline = time.monotonic() + 60 * minutes * SHARES[what]
            work(root / what.replace(" ", "-"), quiet, round(kills * SHARES[what]), chance, count)
            print(
                f"{what}: {count.kills[what]} kills, {count.compared[what]} compared",
                file=sys.stderr,
                flush=True,
            )
    for wrong in count.wrong[:20]:
        print(f"wrong: {wrong}", file=sys.stderr)
    each = ", ".join(f"{what} {number}" for what, number in count.kills.items())
    return show(
        [
            Row(
                f"SIGKILLs at random moments ({each}); results that differed",
                len(count.wrong),
                count.kills.total(),
                "<= 0",
            ),
            Row(
                "results compared with those of a quiet command; kills",
                count.compared.total(),
                count.kills.total(),
            ),
            Row(
                "answers to the review page acknowledged before a kill; all on disk",
                count.acknowledged,
                count.acknowledged or 1,
            ),
        ]
    )


def _lay_out(folder: Path) -> Path:
    sys.path.insert(0, str(TESTS))
    from conftest import lay_out

    lay_out(folder, EXPERIMENT)
    return folder


def _import_what_they_import(folder: Path) -> None:
    """Run each command once as a program that lists its modules, and import these here."""
    listing = (
        "import sys\nfrom bakeoff.cli import console\nfrom bakeoff.cli.app import app\n"
        "code = console.run_guarded(lambda: app(sys.argv[1:], standalone_mode=False))\n"
        "print('MODULES', *sys.modules)\nsys.exit(code)"
    )
    env = {**os.environ, "BAKEOFF_HOME": str(folder / "home")}
    for words in (RUN, TAKE, ANN, LOAD):
        done = subprocess.run(
            [sys.executable, "-c", listing, *words],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{words}: {done.stdout}{done.stderr}")
        for module in done.stdout.split("MODULES")[1].split():
            if IMPORTED.match(module) and module not in sys.modules:
                with contextlib.suppress(ImportError, AttributeError):
                    importlib.import_module(module)


RUN = ["run", ".", "--out", "run"]
TAKE = ["take", "run", "--out", "project"]
ANN = ["ann", "synthetic:400x8", "--stores", "exact,faiss", "--runs", "1", "--queries", "40", "--out", "ann"]
LOAD = [
    "load",
    "synthetic:400x8",
    "--stores",
    "exact",
    "--runs",
    "1",
    "--seconds",
    "0.2",
    "--queries",
    "40",
    "--out",
    "load",
]


def _rounds(
    root: Path,
    words: list[str],
    kills: int,
    chance: random.Random,
    count: Count,
    prepare: Callable[[Path], Path] = _lay_out,
) -> Iterator[tuple[Path, Command | None]]:
    """A folder after each kill, with None, and after each end by itself, with the command."""
    what = words[0]
    length, number = 2.0, 0
    while count.wants(what, kills):
        number += 1
        folder = prepare(root / str(number))
        here = 0
        while True:
            command = Command(folder, words, program=chance.random() < 0.1)
            begin = time.monotonic()
            last = here >= MOST_IN_A_FOLDER or not count.wants(what, kills)
            code = command.ended(600 if last else chance.uniform(0, length))
            if code is None and not last:
                command.kill()
                here += 1
                count.kills[what] += 1
                yield folder, None
                continue
            if here == 0:
                length = 0.5 * length + 0.5 * (time.monotonic() - begin)
            if code not in (0, 1):
                count.wrong.append(f"{what}: exit code {code} in {folder}: {command.log.read_text()[-300:]}")
            yield folder, command
            break


def _kill_run(root: Path, quiet: Path, kills: int, chance: random.Random, count: Count) -> None:
    wanted = {name: (quiet / "run" / f"{name}.parquet").read_bytes() for name in TABLES}
    cells: dict[Path, set[str]] = {}
    for folder, ended in _rounds(root, RUN, kills, chance, count):
        kept = {path.parent.name for path in folder.glob("run/cells/*/manifest.json")}
        if lost := cells.get(folder, set()) - kept:
            count.wrong.append(f"run: finished systems lost in {folder}: {lost}")
        cells[folder] = kept
        if ended is not None:
            count.compared["run"] += 1
            differ = [
                name for name in TABLES if (folder / "run" / f"{name}.parquet").read_bytes() != wanted[name]
            ]
            if differ or json.loads((folder / "run" / "run.json").read_bytes())["status"] != "done":
                count.wrong.append(f"run: {differ} differ in {folder}")


def _kill_take(root: Path, quiet: Path, kills: int, chance: random.Random, count: Count) -> None:
    """A project is whole or not there at any moment; where it is there already, the command is refused."""
    wanted = _files(quiet / "project")

    def prepare(folder: Path) -> Path:
        shutil.copytree(quiet, folder, ignore=shutil.ignore_patterns("project", "log.txt"))
        return folder

    for folder, ended in _rounds(root, TAKE, kills, chance, count, prepare):
        project = folder / "project"
        if ended is not None or project.exists():
            count.compared["take"] += 1
            if _files(project) != wanted:
                count.wrong.append(f"take: the project differs in {folder}")
        if ended is None and project.exists():
            shutil.rmtree(project)


def _files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def _kill_measurement(words: list[str], figures: Callable[[Path], object]) -> Callable[..., None]:
    """Of measured times only what is the same each time is compared; a record is whole or not there at any moment."""
    what = words[0]

    def work(root: Path, quiet: Path, kills: int, chance: random.Random, count: Count) -> None:
        wanted = figures(quiet / what)
        for folder, ended in _rounds(root, words, kills, chance, count):
            record = folder / what / "record.json"
            try:
                if record.is_file():
                    json.loads(record.read_bytes())
                if ended is not None:
                    count.compared[what] += 1
                    if figures(folder / what) != wanted:
                        count.wrong.append(f"{what}: figures differ in {folder}")
            except (ValueError, OSError) as exc:
                count.wrong.append(f"{what}: {record}: {exc}")

    return work


def _recalls(folder: Path) -> object:
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "passes.parquet").to_pylist()
    return sorted((row["system"], row["setting"], row["run"], row["knn"], row["queries"]) for row in rows)


def _loads(folder: Path) -> object:
    """Which passes there are; each of their tables is read."""
    import pyarrow.parquet as pq

    tables = {path.name: pq.read_table(path) for path in sorted(folder.glob("*.parquet"))}
    passes = next(table for name, table in tables.items() if "pass" in name)
    return sorted(tables), passes.num_rows, passes.schema.names


def _kill_review(root: Path, quiet: Path, kills: int, chance: random.Random, count: Count) -> None:
    """A reviewer answers as fast as the page takes it; what was acknowledged must be in the ledger."""
    from bakeoff.review.ledger import Ledger
    from bakeoff.review.web.reviewer_session import key_of

    os.environ["BAKEOFF_PAGE_TOKEN"] = TOKEN
    folder, what = shutil.copytree(quiet, root), "review serve"
    known: set[str] = set()
    while count.wants(what, kills):
        port = _free_port()
        words = ["review", "serve", "run", "--port", str(port), "--no-browser"]
        command = Command(folder, words, program=chance.random() < 0.1)
        known |= _answer(port, f"reviewer {count.kills[what]}", chance.uniform(0, 0.3), command)
        count.kills[what] += 1
        ledgers = map(Ledger, {path.parent for path in folder.glob("reviews/**/*.jsonl")})
        entries = {
            key_of(one.reviewer, (one.item, one.repeat)) for led in ledgers for one in led.read().entries
        }
        if lost := known - entries:
            count.wrong.append(f"review: {len(lost)} acknowledged answers lost, {sorted(lost)[:3]}")
        count.compared[what] += 1
    count.acknowledged = len(known)


def _answer(port: int, reviewer: str, seconds: float, command: Command) -> set[str]:
    """Judge without a pause until the server is killed, so many seconds after its first page; what was acknowledged."""
    said: set[str] = set()
    killed = threading.Timer(seconds, command.kill)
    try:
        token = re.search(r'"token":\s*"([^"]+)"', html.unescape(_page(port)))
        assert token is not None
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        told = _post(link, token[1], "/open", {"reviewer": reviewer})
        killed.start()
        while told["queue"]:
            key = told["queue"][0]
            now = datetime.datetime.now(datetime.UTC).isoformat()
            body = {"reviewer": reviewer, "have": told["queue"], "time": now, "key": key, "kind": "judge"}
            told = _post(link, token[1], "/say", body | {"judgment": "SEMANTIC_MATCH"})
            said.add(key)
    except (OSError, http.client.HTTPException):
        pass  # killed in the middle of a question
    killed.join()
    return said


def _page(port: int) -> str:
    end = time.monotonic() + 30
    while True:
        try:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            link.request("GET", f"/?token={TOKEN}")
            return link.getresponse().read().decode()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def _post(link: http.client.HTTPConnection, token: str, path: str, body: dict[str, object]) -> dict:
    link.request(
        "POST", path, json.dumps(body), {"Content-Type": "application/json", "X-Review-Token": token}
    )
    answer = link.getresponse()
    told = json.loads(answer.read())
    if answer.status != 200:
        raise ValueError(told)
    return told


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


WORK: dict[str, Callable[..., None]] = {
    "run": _kill_run,
    "take": _kill_take,
    "review serve": _kill_review,
    "ann": _kill_measurement(ANN, _recalls),
    "load": _kill_measurement(LOAD, _loads),
}

if __name__ == "__main__":
    sys.exit(main())
