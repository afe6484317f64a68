"""What a parser of foreign files is to the fuzz tests, and what a damaged file is."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bakeoff.errors import BakeoffError

Edit = tuple[int, int, bytes]
"""At a place, so many bytes give way to others."""


@dataclass(frozen=True)
class Reader:
    """One parser: how the file is called, who reads it, a valid one, and which errors say that it is none.

    A reader of a folder finds only its own file there; what must lie beside it, it lays there itself. One that is
    `dear` starts a process for a file, and is given a twentieth of them.
    """

    kind: str
    file: str
    read: Callable[[Path], object]
    valid: bytes | Callable[[], bytes]
    refusals: tuple[type[Exception], ...] = (BakeoffError,)
    needs: tuple[str, ...] = ()
    dear: bool = False

    def files(self, asked: int) -> int:
        """How many damaged files it is given where so many are asked for."""
        return max(1, asked // 20) if self.dear else asked

    @property
    def missing(self) -> str:
        """The packages that are not installed here, in words."""
        return ", ".join(name for name in self.needs if importlib.util.find_spec(name) is None)

    def content(self) -> bytes:
        """A valid file."""
        return self.valid() if callable(self.valid) else self.valid

    def place(self, folder: Path) -> Path:
        """Where its file lies below a folder."""
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def feed(self, path: Path, content: bytes) -> None:
        """It reads these bytes, or says in a sentence what is wrong with them; it never falls over."""
        path.write_bytes(content)
        try:
            self.read(path)
        except self.refusals as exc:
            assert str(exc).strip(), f"{type(exc).__name__} without a word"


def damaged(content: bytes, edits: list[Edit]) -> bytes:
    """The content with each edit made."""
    for at, gone, put in edits:
        place = at % (len(content) + 1)
        content = content[:place] + put + content[place + gone :]
    return content


@cache
def scratch() -> Path:
    """A folder of this process for what is made once and read often; gone at its end."""
    import atexit

    folder = Path(tempfile.mkdtemp(prefix="bakeoff-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def lying(folder: Callable[[], Path], name: str) -> Callable[[], bytes]:
    """A file of a folder that is made when it is asked for."""

    def content() -> bytes:
        return (folder() / name).read_bytes()

    return content


def beside(whole: Path, path: Path) -> Path:
    """The folder of a damaged file, with whole neighbours for it."""
    for other in whole.iterdir():
        if other.name != path.name and other.is_file():
            with contextlib.suppress(FileExistsError):
                (path.parent / other.name).symlink_to(other)
    return path.parent
