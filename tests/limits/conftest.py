"""The installed command under limits: of space, file size, open files, permissions, the terminal."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed to each stream."""

    code: int
    out: str
    err: str


@pytest.fixture
def typed(home: Path) -> Callable[..., Done]:
    """Types a command; `environment` is added to this one's, `before` stands before it, the rest goes to subprocess."""

    def run(
        *words: object, environment: Mapping[str, str] | None = None, before: Sequence[str] = (), **how: Any
    ) -> Done:
        done = subprocess.run([*before, BAKEOFF, *map(str, words)], env={**os.environ, **(environment or {})},
                              capture_output=True, text=True, check=False, timeout=300, stdin=subprocess.DEVNULL,
                              **how)  # fmt: skip
        assert "Traceback" not in done.stderr and "bug in bakeoff" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small file system, or gives it another size; skips where that is not allowed."""
    at = tmp_path / "disk"
    at.mkdir()
    mounted = False

    def size(megabytes: str) -> Path:
        nonlocal mounted
        options = f"remount,size={megabytes}" if mounted else f"size={megabytes}"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "bakeoff-test", str(at)],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode:
            pytest.skip(f"no file system of its own: {done.stderr.strip()}")
        mounted = True
        return at

    yield size
    if mounted:
        subprocess.run(["umount", str(at)], check=True)
