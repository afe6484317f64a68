"""bakeoff review serve as it is typed: what is wrong is said before a server is started."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture
def review(ran: Any, cli: Cli, home: Path) -> Path:
    """A review of one system of the tiny run."""
    done = cli("review", "export", ran.result.path, "--to", "review", "--k", 3, "--system", "line bm25")
    assert done.code == 0, done.err
    assert "bakeoff review serve review" in done.out
    return Path("review")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere is not a review"),
        (["review", "--reviewer", " "], "is not a name"),
        (["review", "--adjudicate", "--order", "next"], "--order next"),
        (["review", "--order", "next"], "there is one system"),
        (["review", "--order", "best"], "best"),
        (["review", "--repeats", "2"], "--repeats"),
    ],
)
def test_mistakes_are_reported(review: Path, cli: Cli, words: list[str], said: str) -> None:
    done = cli("review", "serve", *words, "--no-browser", "--port", "0")
    assert done.code == 2
    assert said in done.err


def test_a_port_in_use_is_reported(review: Path, cli: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = cli("review", "serve", "review", "--no-browser", "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "--port" in done.err


@pytest.mark.slow
def test_a_run_without_a_review_begins_one_and_ctrl_c_says_what_is_next(ran: Any, home: Path) -> None:
    command = [sys.executable, "-u", "-m", "bakeoff", "review", "serve", str(ran.result.path), "--port", "0",
               "--no-browser", "--reviewer", "Ann Ö."]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout
        said = ""
        while "ledger" not in said:
            line = server.stdout.readline()
            assert line, said
            said += line
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+&reviewer=Ann%20%C3%96\.", said)
        assert found, said
        with urllib.request.urlopen(found[0], timeout=60) as answer:
            assert b"Who is judging?" in answer.read()
        server.send_signal(signal.SIGINT)
        rest, _ = server.communicate(timeout=120)
    assert server.returncode == 0
    assert (Path("reviews") / ran.result.path.name / "pool.json").is_file()
    assert "0 judged; " in rest
    assert "bakeoff review judgments" in rest
