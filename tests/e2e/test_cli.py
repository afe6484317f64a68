"""The installed command, as a user's shell starts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sysconfig
from pathlib import Path

import pytest

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"


def typed(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [BAKEOFF, *map(str, words)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def odd(home: Path, laid_out: object, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a space and letters of other scripts in its name."""
    folder = Path.cwd() / "Größe 東京"
    laid_out(folder)  # type: ignore[operator]
    monkeypatch.chdir(folder)
    return folder


def test_from_a_folder_to_a_verdict(odd: Path) -> None:
    (odd / "bakeoff.yaml").unlink()
    (odd / "queries.yaml").unlink()
    assert "wrote     bakeoff.yaml and queries.yaml" in typed("init", "corpus").stdout
    done = typed("run", "--out", "Lauf eins")
    assert "Start with " in done.stdout and "Lauf eins/report.html" in done.stdout
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning")]  # a busy machine
    assert lines[0].startswith("read      7 documents") and lines[-1].startswith("measured  ")
    assert "\x1b" not in done.stdout + done.stderr and "\r" not in done.stderr
    assert json.loads(typed("status", "Lauf eins", "--json").stdout)[0]["status"] == "done"


def test_a_pipe_may_close(home: Path) -> None:
    piped = subprocess.run(
        f"'{BAKEOFF}' list measures | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert piped.returncode == 0 and piped.stderr == ""


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_finished(odd: Path) -> None:
    """Ctrl-C while the systems are measured: code 130, one sentence, and the same command goes on."""
    text = (odd / "bakeoff.yaml").read_text().replace("depth: 20", "depth: 20\nruns: 40")
    (odd / "bakeoff.yaml").write_text(text)
    for out in ("one", "two", "three", "four", "five"):
        code, rest = interrupted(out)
        if code != 0:  # on a busy machine a run may end before the signal comes
            break
    assert code == 130
    assert "stopped  " in rest and "Traceback" not in rest
    assert "earlier run" in typed("run", "--out", out).stderr


def interrupted(out: str) -> tuple[int, str]:
    """A run that gets Ctrl-C when the first system is measured: its code, and what it said then."""
    with subprocess.Popen([BAKEOFF, "run", "--out", out], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("measured"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    return process.returncode, rest


def test_wrong_input_is_code_2_and_one_paragraph(odd: Path) -> None:
    (odd / "bakeoff.yaml").write_text("corpus: {folder: corpus}\nqueries: queries.yaml\nstoers: [exact]\n")
    done = typed("run", code=2)
    assert done.stdout == ""
    assert done.stderr.startswith('error  bakeoff.yaml, line 3: unknown key "stoers". Did you mean "stores"?')
    debug = subprocess.run([BAKEOFF, "--debug", "run"], capture_output=True, text=True, check=False)
    assert debug.returncode == 2 and "Traceback" in debug.stderr


@pytest.mark.slow
def test_json_goes_to_stdout_alone_and_files_to_home_and_out(odd: Path, tmp_path: Path, home: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(home)}
    done = typed("run", "--json", "--out", "out")
    assert done.stderr == "" and len(json.loads(done.stdout)["systems"]) == 10
    new = {path for path in tmp_path.rglob("*") if not path.is_relative_to(home)} - before
    assert new and all(path.is_relative_to(odd / "out") for path in new)
