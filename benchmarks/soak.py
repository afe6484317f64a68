"""Runs for minutes while servers, workers, the run itself and the disk fail: nothing lost, nothing leaked.

A round is one experiment, run as a command and disturbed until it ends well; its rows must be those of an undisturbed
run. After it this process runs the same experiment a few times, with a server killed in one of them, and counts its
own memory, files, threads and connections. Run with: python benchmarks/soak.py [--systems 50] [--minutes 30] [--seed 7]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bakeoff.runs.run import run
from common import Row, show
from soaking import experiment, rounds
from soaking.census import leaks, left_behind, sample
from soaking.place import Place, disk, servers

RESIDENT = 3
"""Runs of this process a round; the first is disturbed."""


def main() -> int:
    """Soak for the time that is asked for and print the rows."""
    asked = _arguments()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a background job ignores it, and so would its children
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and disk are given back
    with _place(asked.seed) as place:
        with servers(place) as started:
            path, systems = experiment.write(place.folder, asked.systems, started)
            rows = _soak(place, path, systems, asked.minutes * 60)
        rows += left_behind(place)
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


@contextlib.contextmanager
def _place(seed: int) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="bakeoff-soak-") as name, disk(Path(name)) as (at, full):
        place = Place(Path(name), at, full, random.Random(seed))
        place.spare.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(place.spare)
        yield place


def _soak(place: Place, path: Path, systems: int, seconds: float) -> list[Row]:
    begin, quiet = time.monotonic(), place.folder / "quiet" / "run"
    run(path, out=quiet, home=place.folder / "quiet" / "home")
    changed = lost = done = attempts = 0
    samples = [sample()]
    while done == 0 or time.monotonic() - begin < seconds:
        done += 1
        folder = place.disk / f"round{done}"
        tried, gone = rounds.command(place, path, folder)
        attempts, lost = attempts + tried, lost + gone
        changed += rounds.changed(place, quiet, folder / "run", systems)
        shutil.rmtree(folder, ignore_errors=True)
        for turn in range(RESIDENT):
            changed += rounds.resident(place, path, quiet, systems, disturbed=turn == 0)
            samples.append(sample())
            print(f"round {done}: {tried} attempts, {samples[-1]}", file=sys.stderr, flush=True)
    measured = done * (1 + RESIDENT) * systems
    return [
        Row("minutes of soaking, and asked for", (time.monotonic() - begin) / 60, seconds / 60, ">= 1"),
        Row(f"systems changed of those measured, {systems} systems, {done} rounds", changed, measured, "<= 0"),
        Row("finished systems lost of those run by the command", lost, done * systems, "<= 0"),
        Row("ends without words of ours, of all attempts", len(place.problems), attempts, "<= 0"),
        Row("faults injected, attempts of the command", sum(place.faults.values()), attempts),
        *leaks(samples),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
