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

import pytest

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
TABLES = ("scores", "rankings", "queries", "passages", "losses")
KILLS = 10
SEED = 11


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def start(folder: Path, out: Path) -> subprocess.Popen[str]:
    command = [BAKEOFF, "--home", folder / "home", "run", folder, "--out", out]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def cells(out: Path) -> set[str]:
    return {
        path.parent.name for path in out.glob("cells/*/manifest.json") if path.parent.parent.name == "cells"
    }


def killed(process: subprocess.Popen[str], after: float) -> bool:
    """Kill a run so many seconds after it began to read; whether it was still running."""
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.stderr.close()
    return process.wait(60) == -signal.SIGKILL


def test_a_run_killed_again_and_again_gives_the_same_bytes(
    tmp_path: Path, laid_out: Callable[..., Path]
) -> None:
    disturbed, quiet = tmp_path / "disturbed", tmp_path / "quiet"
    for folder in (disturbed, quiet):
        laid_out(folder)
    begin = time.monotonic()
    calm = start(quiet, quiet / "run")
    assert calm.stderr is not None
    calm.stderr.readline()
    reading = time.monotonic()
    calm.stderr.read()
    assert calm.wait(120) == 0
    work = time.monotonic() - reading
    assert begin < reading

    moments, out, seen, kills = random.Random(SEED), disturbed / "run", set[str](), 0
    for _ in range(KILLS):
        if not killed(start(disturbed, out), moments.uniform(0, work * 0.6)):
            break
        kills += 1
        assert seen <= cells(out), "a finished system was lost"
        seen = cells(out)
        record = out / "run.json"
        assert not record.exists() or json.loads(record.read_text())["status"] in ("running", "done")
    assert kills >= 3, "the run ended before it could be killed"

    last = start(disturbed, out)
    assert last.stderr is not None
    told = last.stderr.read()
    assert last.wait(120) == 0
    assert told.count("kept from before") == len(seen)
    assert tables(out) == tables(quiet / "run")
    assert json.loads((out / "run.json").read_text())["status"] == "done"
    stages = [
        path for path in (disturbed / "home" / "cache").iterdir() if path.name not in ("aside", "locks")
    ]
    assert all((folder / "manifest.json").is_file() for stage in stages for folder in stage.glob("??/*"))


@pytest.mark.parametrize("moment", ["cells", "tables"])
def test_killed_while_results_are_written(tmp_path: Path, laid_out: Callable[..., Path], moment: str) -> None:
    """Killed when the first system is durable, or when the first table of the whole run appears."""
    laid_out(tmp_path / "a")
    out = tmp_path / "a" / "run"
    process = start(tmp_path / "a", out)
    assert process.stderr is not None
    wanted = "cells/*/manifest.json" if moment == "cells" else "*.parquet"
    while process.poll() is None and not list(out.glob(wanted)):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.stderr.close()
    process.wait(60)
    kept = cells(out)
    assert kept
    again = start(tmp_path / "a", out)
    assert again.stderr is not None
    told = again.stderr.read()
    assert again.wait(120) == 0
    assert told.count("kept from before") == len(kept)
    laid_out(tmp_path / "b")
    calm = start(tmp_path / "b", tmp_path / "b" / "run")
    assert calm.stderr is not None
    calm.stderr.read()
    assert calm.wait(120) == 0
    assert tables(out) == tables(tmp_path / "b" / "run")
