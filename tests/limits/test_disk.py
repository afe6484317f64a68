"""A disk that becomes full in the middle of a run: said in one sentence, nothing lost, and the same command goes on."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.runs.analysis import open_run

pytestmark = pytest.mark.slow

STEPS = ("200k", "700k", "1500k")
"""Sizes of the disk, so that it becomes full in one stage after the other."""


@pytest.mark.skipif(shutil.which("mount") is None, reason="mount is not there")
def test_a_full_disk_stops_the_run_and_a_larger_one_completes_it(
    tiny: Path, typed: Callable[..., Any], disk: Callable[[str], Path], ran: Any
) -> None:
    at = disk(STEPS[0])
    words = ("--home", at / "home", "run", tiny, "--out", at / "run", "-q")
    refused, kept = 0, 0
    for step in STEPS:
        disk(step)
        done = typed(*words)
        cells = len(list((at / "run").glob("cells/*/manifest.json")))
        assert cells >= kept, "what was finished is lost"
        kept = cells
        if done.code == 1:
            refused += 1
            assert "full" in done.err or "No space left" in done.err, done.err
    assert refused >= 2, "the disk was never too small"
    disk("64m")
    done = typed(*words)
    assert done.code == 0, done.err
    assert open_run(at / "run").scores.drop_columns(["run"]).equals(ran.result.scores.drop_columns(["run"]))


@pytest.mark.parametrize("limit", [1_000, 60_000])
def test_a_limit_on_the_size_of_files(tiny: Path, typed: Callable[..., Any], ran: Any, limit: int) -> None:
    """RLIMIT_FSIZE, as a shared machine sets it; a signal by default, an error for Python."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = typed("run", tiny, "--out", "run", preexec_fn=limited)
    if done.code != 0:
        assert done.code == 1 and ("larger than" in done.err or "too large" in done.err), done.err
    done = typed("run", tiny, "--out", "run", "-q")
    assert done.code == 0, done.err
    assert open_run(Path("run")).scores.drop_columns(["run"]).equals(ran.result.scores.drop_columns(["run"]))
