"""Where a soak happens: a folder, a small disk that can be filled, and servers that can be killed."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.runtime.servers.control import TABLE, down, up
from bakeoff.runtime.servers.records import read_place, read_state

SERVERS = ("pgvector", "redis")
DISK_MB = 400


@dataclass
class Place:
    """Where everything happens, what was injected, what went wrong, and whether the disk is one that can be filled."""

    folder: Path
    disk: Path
    full: bool
    dice: random.Random
    faults: Counter[str] = field(default_factory=Counter)
    ports: set[int] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    @property
    def spare(self) -> Path:
        """The folder for temporary files of this process."""
        return self.folder / "spare"


@contextlib.contextmanager
def disk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """A small file system of its own where that is allowed, else a plain folder."""
    at = folder / "disk"
    at.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "bakeoff-soak", str(at)]
    mounted = shutil.which("mount") is not None and subprocess.run(command, check=False).returncode == 0
    try:
        yield at, mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(at)], check=True)


@contextlib.contextmanager
def servers(place: Place) -> Iterator[list[str]]:
    """The servers that can be started here; their addresses go into the environment of every run."""
    os.environ["BAKEOFF_HOME"] = str(place.folder / "servers-home")
    started = []
    try:
        for name in SERVERS:
            try:
                start(place, name)
            except SettingError as exc:
                print(f"{name} is left out: {exc}", file=sys.stderr)
                continue
            started.append(name)
            os.environ.update(read_state(name).settings)  # type: ignore[union-attr]
        yield started
    finally:
        for name in SERVERS:
            down(TABLE[name], data=True)


def start(place: Place, name: str) -> None:
    """Start a server and remember its ports."""
    up(TABLE[name])
    known = read_place(name)
    place.ports |= set(known.ports if known else ())


def living() -> list[str]:
    """The servers that are up."""
    return [name for name in SERVERS if read_state(name) is not None]


def server_pids() -> set[int]:
    """The processes of the servers."""
    return {mark.pid for name in SERVERS if (state := read_state(name)) for mark in state.marks}
