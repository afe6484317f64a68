"""Other users, closed folders, odd names, no terminal or a narrow one, few open files, no network, very large files."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SMALL = """\
name: small
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [line]
embedders: [{wordllama: {dims: 64}}]
stores: [exact]
modes: [dense, bm25]
"""


@pytest.fixture
def open_folder(laid_out: Callable[..., Path]) -> Iterator[Path]:
    """A folder below /tmp that any user may enter, with the tiny corpus; a space and other scripts in its name."""
    folder = Path(tempfile.mkdtemp(prefix="bakeoff Größe 東京 "))
    folder.chmod(0o755)
    laid_out(folder, SMALL)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def as_nobody() -> dict[str, Any]:
    """How a command is started as a user who owns nothing, without a home of his own."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    script = Path(shutil.which("python3") or "/")
    for folder in (Path(__file__).resolve(), script.resolve()):
        if not all(parent.stat().st_mode & 0o001 for parent in folder.parents):
            pytest.skip(f"{folder} is closed to others")
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


def test_as_another_user_with_an_own_home(
    open_folder: Path, typed: Callable[..., Any], as_nobody: dict[str, Any]
) -> None:
    mine = open_folder / "mine"
    mine.mkdir()
    shutil.chown(mine, "nobody")
    done = typed("run", open_folder, cwd=mine, environment={"HOME": str(mine), "BAKEOFF_HOME": str(mine / "kept")},
                 **as_nobody)  # fmt: skip
    assert done.code == 0 and "Verdict" in done.out, done.err


def test_a_home_that_may_not_be_written(
    open_folder: Path, typed: Callable[..., Any], as_nobody: dict[str, Any]
) -> None:
    mine = open_folder / "mine"
    mine.mkdir()
    shutil.chown(mine, "nobody")
    closed = {"HOME": "/nonexistent", "BAKEOFF_HOME": "/nonexistent/kept"}
    done = typed("run", open_folder, cwd=mine, environment=closed, **as_nobody)
    assert done.code == 2 and "Set BAKEOFF_HOME" in done.err, done.err


def test_a_working_folder_that_may_not_be_written(
    open_folder: Path, typed: Callable[..., Any], as_nobody: dict[str, Any]
) -> None:
    mine = open_folder / "mine"
    mine.mkdir()
    shutil.chown(mine, "nobody")
    homes = {"HOME": str(mine), "BAKEOFF_HOME": str(mine / "kept")}
    done = typed("run", "bakeoff.yaml", cwd=open_folder, environment=homes, **as_nobody)
    assert done.code == 2 and "--out" in done.err, done.err


def test_a_run_folder_that_is_a_file(tiny: Path, typed: Callable[..., Any]) -> None:
    Path("taken").write_text("x")
    done = typed("run", tiny, "--out", "taken")
    assert done.code == 2 and "taken" in done.err and "--out" in done.err


@pytest.mark.parametrize("columns", ["40", "20", "400"])
def test_a_narrow_terminal_loses_nothing(columns: str, small: Path, typed: Callable[..., Any]) -> None:
    done = typed("run", small, "--out", "run", environment={"COLUMNS": columns, "TERM": "dumb"})
    assert done.code == 0 and "Verdict" in done.out
    shown = "".join(done.out.split())
    assert "wordllama" in shown and "run/report.html" in shown


def test_few_open_files(tiny: Path, typed: Callable[..., Any]) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = typed("run", tiny, "--out", "run", preexec_fn=limited)
    assert done.code == 0, done.err


def test_too_few_open_files_are_said(tiny: Path, typed: Callable[..., Any]) -> None:
    """Where even the libraries cannot be opened, one sentence and no half-written run."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))

    done = typed("run", tiny, "--out", "run", preexec_fn=limited)
    assert done.code in (0, 1), done.err
    assert typed("run", tiny, "--out", "run", "-q").code == 0


def test_no_network(small: Path, typed: Callable[..., Any]) -> None:
    """Proxies that lead nowhere: a run on local parts asks nobody."""
    nowhere = dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"
    )
    done = typed("run", small, "--out", "run", environment=nowhere)
    assert done.code == 0, done.err


def test_a_file_of_two_gigabytes_is_left_out_and_said(small: Path, typed: Callable[..., Any]) -> None:
    """Its size alone decides: it is not read, so memory does not grow with it."""
    huge = Path("corpus/huge.txt")
    with huge.open("wb") as file:
        file.truncate(2 << 30)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

    done = typed("run", small, "--out", "run", preexec_fn=limited)
    assert done.code == 0, done.err
    assert "1 left out (as huge.txt: too large: 2147.5 MB, max_mb is 20)" in done.err


def test_a_query_file_of_two_gigabytes_is_refused(small: Path, typed: Callable[..., Any]) -> None:
    with Path("queries.yaml").open("wb") as file:
        file.truncate(2 << 30)
    done = typed("run", small, "--out", "run")
    assert done.code == 2 and "at most 20,000,000 are read" in done.err
