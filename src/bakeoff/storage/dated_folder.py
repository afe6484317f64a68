"""New result folders, named by the second in which the work began."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections.abc import Iterator
from pathlib import Path

from bakeoff.errors import SettingError


def timestamp() -> str:
    """The current second, as used in folder names."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}"


def make_dated_folder(parent: Path, name: str = "") -> Path:
    """Create PARENT/NAME-TIME; several that start in one second, in any process, each get their own."""
    first = parent / (f"{name}-{timestamp()}" if name else timestamp())
    others = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    for folder in itertools.chain([first], others):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as exc:
            raise SettingError(
                f"cannot make the folder {folder}: {exc.strerror}. Choose another with --out."
            ) from exc
        return folder
    raise AssertionError("itertools.count ended")


@contextlib.contextmanager
def result_folder(out: Path | None, parent: Path, name: str = "") -> Iterator[Path]:
    """The given folder, or a new PARENT/NAME-TIME that is removed again if it stays empty."""
    if out is not None:
        yield out
        return
    folder = make_dated_folder(parent, name)
    try:
        yield folder
    finally:
        for one in (folder, parent):
            with contextlib.suppress(OSError):
                one.rmdir()
