"""Other users, closed folders, odd names, no terminal or a narrow one, few open files, no network, very large files."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.runs.folder import read_record

pytestmark = pytest.mark.slow

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
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that may be read but not written."""
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


@pytest.fixture
def unprivileged() -> list[str]:
    """What stands before a command so that permissions hold for it, even where the tests run as root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not there to give up what root may do")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]


@pytest.fixture
def odd(home: Path, laid_out: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a space and other scripts in its name."""
    folder = Path.cwd() / "Größe 東京 [x] 'y'"
    laid_out(folder, SMALL)
    monkeypatch.chdir(folder)
    return folder


def test_without_privileges(odd: Path, typed: Callable[..., Any], unprivileged: list[str]) -> None:
    done = typed("run", before=unprivileged)
    assert done.code == 0 and "Start with " in done.out, done.err


def test_a_home_that_may_not_be_written(
    odd: Path, typed: Callable[..., Any], unprivileged: list[str], closed: Path
) -> None:
    homes = {"HOME": str(closed), "BAKEOFF_HOME": str(closed / "home")}
    done = typed("run", before=unprivileged, environment=homes)
    assert done.code == 2 and "Set BAKEOFF_HOME" in done.err, done.err
    homes = {"HOME": str(closed), "BAKEOFF_HOME": str(odd / "kept")}
    assert typed("run", before=unprivileged, environment=homes).code == 0


def test_a_working_folder_that_may_not_be_written(
    odd: Path, typed: Callable[..., Any], unprivileged: list[str], closed: Path
) -> None:
    done = typed("run", odd, before=unprivileged, cwd=closed)
    assert done.code == 2 and "--out" in done.err, done.err


def test_a_run_s_folder_that_may_not_be_written(
    odd: Path, typed: Callable[..., Any], unprivileged: list[str], closed: Path
) -> None:
    done = typed("run", "--out", closed, before=unprivileged)
    assert done.code == 2 and "--out" in done.err, done.err


def test_a_run_folder_that_is_a_file(tiny: Path, typed: Callable[..., Any]) -> None:
    Path("taken").write_text("x")
    done = typed("run", tiny, "--out", "taken")
    assert done.code == 2 and "taken" in done.err and "--out" in done.err


@pytest.mark.parametrize("columns", ["40", "20", "400"])
def test_a_narrow_terminal_loses_nothing(columns: str, small: Path, typed: Callable[..., Any]) -> None:
    done = typed("run", small, "--out", "run", environment={"COLUMNS": columns, "TERM": "dumb"})
    assert done.code == 0 and "Start with " in done.out
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


def test_a_file_of_two_gigabytes_is_skipped_and_recorded(small: Path, typed: Callable[..., Any]) -> None:
    """Its size alone decides: it is not read, so memory does not grow with it."""
    huge = Path("corpus/huge.txt")
    with huge.open("wb") as file:
        file.truncate(2 << 30)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

    done = typed("run", small, "--out", "run", preexec_fn=limited)
    assert done.code == 0, done.err
    ((name, reason),) = read_record(Path("run")).corpus.skipped
    assert name == "huge.txt" and reason.startswith("too large")


def test_a_query_file_of_two_gigabytes_is_refused(small: Path, typed: Callable[..., Any]) -> None:
    with Path("queries.yaml").open("wb") as file:
        file.truncate(2 << 30)
    done = typed("run", small, "--out", "run")
    assert done.code == 2 and "20,000,000" in done.err
