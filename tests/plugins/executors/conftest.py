"""An importable module of plug-ins that misbehave on request, for workers that are processes of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULE = '''\
import os
import signal
import time
from pathlib import Path

import pyarrow as pa

from bakeoff.errors import EmbedderError
from bakeoff.pool import Rows
from bakeoff.shards import Opened

TROUBLE = Path(os.environ["TROUBLE"])


def once(name):
    """Whether this is the first time, over all processes."""
    try:
        os.close(os.open(TROUBLE / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Doubled:
    """Each word twice; some words are trouble."""

    def open(self):
        (TROUBLE / f"opened-{os.getpid()}-{time.monotonic_ns()}").touch()
        return Opened(self.work)

    def work(self, table):
        words = table["word"].to_pylist()
        if "dies once" in words and once("died"):
            os.kill(os.getpid(), signal.SIGKILL)
        if "fails once" in words and once("failed"):
            raise ConnectionError("the line went dead")
        if "fails" in words:
            with (TROUBLE / "fails").open("a") as file:
                file.write("x")
            raise EmbedderError("it never works.")
        if "waits" in words or "slow" in words and once("slow"):
            (TROUBLE / "waiting").touch()
            while not (TROUBLE / "go").exists():
                time.sleep(0.01)
        with (TROUBLE / "done").open("a") as file:
            file.write("".join(f"{word}\\n" for word in words))
        doubled = [word for word in words for _ in range(2)]
        return Rows([2] * len(words), pa.table({"word": doubled}))
'''


@pytest.fixture
def trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder where workers leave notes; the module is `troublesome`."""
    code, notes = tmp_path / "code", tmp_path / "notes"
    code.mkdir()
    notes.mkdir()
    (code / "troublesome.py").write_text(MODULE)
    monkeypatch.setenv("TROUBLE", str(notes))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(code), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(str(code))
    sys.modules.pop("troublesome", None)
    yield notes
    sys.modules.pop("troublesome", None)
