"""Every command that makes temporary folders, stopped in mid-work in every way: none is left, or the next one sweeps it."""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
LONG = 120
"""Seconds after which something hangs."""
DATA = ("synthetic:400x8", "--queries", "20")
COMMANDS = {
    "ann": ("ann", *DATA, "--runs", "100000", "--stores", "exact,chroma"),
    "load": ("load", *DATA, "--stores", "exact", "--rate", "50", "--seconds", "3600"),
    "client": ("load", *DATA, "--stores", "exact", "--rate", "50", "--seconds", "3600", "--clients", "2"),
    "index": ("scale", *DATA, "--sizes", "400", "--stores", "exact", "--insert-while-search", "1", "--seconds", "3600"),
}  # fmt: skip
"""A command that goes on until it is stopped, by the folder that shows it is at work."""
SHORT = ("ann", *DATA, "--runs", "1", "--stores", "exact", "--out")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary files of the commands, and nobody else's."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return folder


@pytest.fixture(params=COMMANDS)
def working(request: pytest.FixtureRequest, place: Path) -> Iterator[subprocess.Popen[str]]:
    """One of the commands, in the middle of its work."""
    command = [BAKEOFF, *COMMANDS[request.param], "--out", place.parent / "out"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=place.parent)  # fmt: skip
    until = time.monotonic() + LONG
    while not list(place.rglob(f"bakeoff-tmp-{request.param}-*")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


def left(place: Path) -> list[str]:
    """What is still there when processes that were told to end had the time to."""
    until = time.monotonic() + LONG / 2
    while (found := [path.name for path in place.iterdir()]) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def test_a_command_that_is_told_to_end_leaves_none(working: subprocess.Popen[str], place: Path) -> None:
    """Ctrl-C: the next test."""
    working.terminate()
    _, err = working.communicate(timeout=LONG)
    assert working.returncode == 128 + signal.SIGTERM and "Traceback" not in err, err
    assert left(place) == []


MOMENTS = [
    ("load", "opening"), ("load", "null store"), ("load", "run 1 of 3"),
    ("client", "null store"), ("client", "run 1 of 3"),
    ("index", "400 rows"), ("index", "insert while search"),
    ("ann", "run 1 of"),
]  # fmt: skip
"""A command and what it has just said when Ctrl-C comes."""


@pytest.mark.parametrize(("name", "moment"), MOMENTS)
def test_ctrl_c_is_heard_whatever_goes_on(name: str, moment: str, place: Path) -> None:
    """Also by the passes that only serve others: the null store's, a warm-up's, the searches beside no writer."""
    command = [BAKEOFF, *COMMANDS[name], "--out", place.parent / "out"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          cwd=place.parent) as process:  # fmt: skip
        assert process.stderr is not None
        said = next((line for line in process.stderr if moment in line), None)
        assert said is not None, "it ended before"
        process.send_signal(signal.SIGINT)
        try:
            _, rest = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert process.returncode == 130 and "Traceback" not in rest and rest.endswith("stopped\n"), rest
    assert left(place) == []


def test_what_a_killed_command_left_is_swept_by_the_next(working: subprocess.Popen[str], place: Path) -> None:
    working.kill()
    working.communicate()
    while [pid for pid in _children() if str(place) in pid]:
        time.sleep(0.05)
    assert list(place.iterdir())
    subprocess.run(
        [BAKEOFF, *SHORT, place.parent / "short"], check=True, capture_output=True, cwd=place.parent
    )
    assert left(place) == []


def _children() -> list[str]:
    """The environments of processes, in which those of a test have its folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if int(path.parent.name) != os.getpid():
                found.append(path.read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return found


def test_a_command_that_fails_leaves_none(place: Path) -> None:
    """A store that cannot be reached, in a run, a comparison of stores and a load."""
    for words in (("ann", *DATA, "--stores", "qdrant:url=http://127.0.0.1:9"),
                  ("load", *DATA, "--stores", "qdrant:url=http://127.0.0.1:9"),
                  ("test", "store", "qdrant", "--set", "url=http://127.0.0.1:9"),
                  ("load", *DATA, "--stores", "nothing")):  # fmt: skip
        done = subprocess.run(
            [BAKEOFF, *words], capture_output=True, text=True, check=False, cwd=place.parent
        )
        assert done.returncode in (1, 2), done.stderr
        assert left(place) == [], words


def test_a_run_over_every_source_and_store_that_makes_one_leaves_none(place: Path) -> None:
    """The generated corpus, Chroma, which works on a copy, and milvus-lite, which would write logs."""
    text = """\
corpus: {source: generated, example: incidents}
queries: queries.yaml
chunkers: [line]
embedders: [{wordllama: {dims: 64}}]
stores: [exact, chroma, milvus]
"""
    (place.parent / "bakeoff.yaml").write_text(text)
    (place.parent / "queries.yaml").write_text(
        "queries:\n- {id: a, text: what happened, truth: {sql: \"chunk_text LIKE '%the%'\"}}\n"
    )
    done = subprocess.run(
        [BAKEOFF, "run", "-q"], capture_output=True, text=True, check=False, cwd=place.parent
    )
    assert done.returncode == 0, done.stderr
    assert left(place) == []
