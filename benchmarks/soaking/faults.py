"""What is done to a run: servers, workers and the run itself killed, the disk filled."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time

import psutil

from bakeoff.runtime.servers.records import read_state
from soaking.place import Place, living, start


def fault(place: Place, process: subprocess.Popen[bytes]) -> None:
    """One fault for a running command, chosen at random among those that are possible here."""
    live = living()
    kinds = [*(["server"] * 3 if live else []), *(["disk"] * 2 if place.full else []), "worker", "worker"]
    kind = place.dice.choice([*kinds, "interrupt", "kill"])
    if kind == "server":
        kill_server(place, place.dice.choice(live), place.dice.uniform(0.2, 2.0))
    elif kind == "disk":
        _fill(place, place.dice.uniform(0.5, 3.0))
    elif kind == "worker":
        kill_worker(place, process, 1.0)
        return
    else:
        process.send_signal(signal.SIGINT if kind == "interrupt" else signal.SIGKILL)
        process.wait(120)
    place.faults[kind] += 1


def kill_server(place: Place, name: str, seconds: float) -> None:
    """SIGKILL, so many seconds without the server, and a new start on the same ports."""
    state = read_state(name)
    for mark in state.marks if state else ():
        with contextlib.suppress(psutil.Error):
            psutil.Process(mark.pid).kill()
    time.sleep(seconds)
    start(place, name)


def kill_worker(place: Place, process: subprocess.Popen[bytes], seconds: float) -> None:
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
