"""SIGKILL at random moments: the same command goes on, and in the end the bytes are those of a quiet run."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
TABLES = ("scores", "rankings", "queries", "passages", "losses")
KILLS, TRIES = 10, 30
LINES = 21  # what a run tells: one line of reading, ten of chunks, vectors and indexes, ten of systems
SEED = 11


class Run:
    """`bakeoff run` as a process of its own, always into the same folder."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "run"
        command = [BAKEOFF, "--home", folder / "home", "run", folder, "--out", self.out]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def told(self, lines: int | None = None) -> list[str]:
        """The next lines of its progress, or all that are left."""
        assert self.process.stderr is not None
        if lines is None:
            return self.process.stderr.readlines()
        return [self.process.stderr.readline() for _ in range(lines)]

    def kill(self) -> bool:
        """Whether it was still running."""
        assert self.process.stderr is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.stderr.close()
        return self.process.wait(60) == -signal.SIGKILL

    def cells(self) -> set[str]:
        """The systems that are durable."""
        return {path.parent.name for path in self.out.glob("cells/*/manifest.json")}


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def goes_on_to_the_end(folder: Path, kept: set[str], quiet: Path) -> None:
    """One more run: what was finished is not done again, and the bytes are those of the quiet run."""
    last = Run(folder)
    told = "".join(last.told())
    assert last.process.wait(300) == 0
    assert told.count("earlier run") == len(kept)
    assert tables(last.out) == tables(quiet)
    assert json.loads((last.out / "run.json").read_text())["status"] == "done"
    stages = [path for path in (folder / "home" / "cache").iterdir() if path.name not in ("aside", "locks")]
    assert all((made / "manifest.json").is_file() for stage in stages for made in stage.glob("??/*"))


@pytest.mark.timeout(1800)  # each try is a whole run
def test_a_run_killed_again_and_again_gives_the_same_bytes(
    tmp_path: Path, laid_out: Callable[..., Path], ran: Any
) -> None:
    laid_out(tmp_path)
    chance, kept, kills, tries = random.Random(SEED), set[str](), 0, 0
    while kills < KILLS and tries < TRIES:  # on a busy machine a run may end before it can be killed
        run, tries = Run(tmp_path), tries + 1
        run.told(chance.randint(1, LINES))
        time.sleep(chance.uniform(0, 0.03))
        kills += run.kill()
        assert kept <= run.cells(), "a finished system was lost"
        kept = run.cells()
    assert kills >= KILLS // 2, "the runs ended before they could be killed"
    assert len(kept) > 0
    goes_on_to_the_end(tmp_path, kept, ran.result.path)


@pytest.mark.parametrize("appears", ["cells/*/manifest.json", "*.parquet"], ids=["a system", "a table"])
def test_killed_when_results_are_being_written(
    tmp_path: Path, laid_out: Callable[..., Path], ran: Any, appears: str
) -> None:
    laid_out(tmp_path)
    run = Run(tmp_path)
    while run.process.poll() is None and not list(run.out.glob(appears)):
        time.sleep(0.002)
    run.kill()
    assert run.cells()
    goes_on_to_the_end(tmp_path, run.cells(), ran.result.path)
