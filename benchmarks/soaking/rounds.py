"""A round: the command disturbed until it ends well, then the experiment in this process; both give the same rows."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.runs.analysis import open_run
from bakeoff.runs.run import run
from soaking.faults import fault, kill_server, kill_worker
from soaking.place import Place, living

START = (
    "import bakeoff.pipeline.chunking.parallel as cutting; cutting.WORTH_SECONDS = 0.02; "
    "from bakeoff.cli.app import main; main()"
)
"""The command, with worker processes even for a corpus as small as this one."""
PAUSE = (1.0, 8.0)
"""Seconds between two faults of a round, at least and at most."""
ATTEMPTS = 60
DISTURBED = 6
"""Attempts of a round that faults are injected into; the next one may end in peace."""
WORKER_SECONDS = 20.0
"""How long a round waits for the first worker process to kill."""
EXACT_ROWS = ("scores", "losses")


def command(place: Place, experiment: Path, folder: Path) -> tuple[int, int]:
    """Disturb the command until it ends well; how often it was started, and how many finished systems went away."""
    lost, kept, out = 0, set[str](), folder / "run"
    for attempt in range(1, ATTEMPTS + 1):
        code = _attempt(place, experiment, folder, disturbing=attempt <= DISTURBED, first=attempt == 1)
        cells = {path.parent.name for path in out.glob("cells/*/manifest.json")}
        lost, kept = lost + len(kept - cells), cells
        if code == 0:
            return attempt, lost
        _understood(place, code, (folder / "log").read_text(errors="replace"))
    place.problems.append(f"{folder.name} did not end well in {ATTEMPTS} attempts")
    return ATTEMPTS, lost


def resident(place: Place, experiment: Path, quiet: Path, systems: int, *, disturbed: bool) -> int:
    """Run the experiment in this process until it is whole, a server killed meanwhile; the systems that changed."""
    folder = place.folder / "resident"
    killer = threading.Thread(target=_later, args=(place,), daemon=True)
    if disturbed:
        killer.start()
    for _ in range(ATTEMPTS):
        with contextlib.suppress(BakeoffError):
            if not run(experiment, out=folder / "run", home=folder / "home").failed:
                break
        time.sleep(0.2)
    if disturbed:
        killer.join()
    found = changed(place, quiet, folder / "run", systems)
    shutil.rmtree(folder)
    return found


def changed(place: Place, quiet: Path, disturbed: Path, systems: int) -> int:
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


def _attempt(place: Place, experiment: Path, folder: Path, *, disturbing: bool, first: bool) -> int:
    """The exit code of the command, with faults while it runs, a worker's first; it does not outlive us."""
    process = _start(place, experiment, folder)
    try:
        if first:
            kill_worker(place, process, WORKER_SECONDS)
        while process.poll() is None and disturbing:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(place.dice.uniform(*PAUSE))
            if process.poll() is None:
                fault(place, process)
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
    words = [sys.executable, "-c", START, "--home", str(folder / "home"), "run", str(experiment)]
    with log.open("wb") as said:
        return subprocess.Popen([*words, "--out", str(folder / "run")], stdout=said, stderr=said)


def _understood(place: Place, code: int, said: str) -> None:
    """A run that was disturbed ends with 1, 130 or our signal, in words of ours and no traceback."""
    if code not in (1, 130, -signal.SIGKILL) or "Traceback" in said or "bug in bakeoff" in said:
        place.problems.append(f"exit code {code}: {' '.join(said.split())[-300:]}")


def _later(place: Place) -> None:
    live = living()
    if live:
        time.sleep(place.dice.uniform(0.5, 4.0))
        kill_server(place, place.dice.choice(live), 0.3)
        place.faults["server, resident"] += 1


def _apart(one: list[dict[str, object]], other: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Rows that are in one list only."""
    left, right = ({repr(sorted(row.items())): row for row in rows} for rows in (one, other))
    yield from (row for key, row in (left | right).items() if (key in left) != (key in right))
