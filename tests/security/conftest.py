"""Commands as a user types them, and everything they leave behind as text."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "plugins" / "embedders"))  # loopback.py, a real server

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"


class Shell:
    """Types commands in the working folder and remembers all that they printed."""

    def __init__(self) -> None:
        self.said = ""

    def __call__(self, *words: object, code: int | None = 0, debug: bool = False) -> str:
        command = [BAKEOFF, *(["--debug"] if debug else []), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert code is None or done.returncode == code, done.stderr
        self.said += done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def typed(home: Path) -> Shell:
    """Runs the installed command in the test's working folder, with a home of its own."""
    return Shell()


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Types a command in this process, which is quicker; returns all it printed."""
    from bakeoff.cli import console
    from bakeoff.cli.app import app

    def typed(*words: object, code: int | None = 0) -> str:
        capsys.readouterr()
        ended = console.run_guarded(lambda: app([str(word) for word in words], standalone_mode=False))
        said = "".join(capsys.readouterr())
        assert code is None or ended == code, said
        return said

    return typed


@pytest.fixture
def texts_below() -> Callable[[Path], Iterator[tuple[Path, str]]]:
    """Gives every file and name below a folder as text."""
    return _texts_below


def _texts_below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every file as text, tables unpacked, and every name."""
    import pyarrow.parquet as pq

    for path in folder.rglob("*"):
        yield path, path.name
        if path.is_file():
            yield path, path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            yield path, f"{table.schema.metadata} {table.to_pydict()}"
