"""The memory of a process and its children while it runs. Linux only."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import psutil


def watch_memory(
    command: list[str], folder: Path | None = None, env: Mapping[str, str] | None = None
) -> tuple[float, float]:
    """The highest resident and own (RssAnon) memory of a process and its children until it ends, in MB."""
    child = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL)
    resident = own = 0.0
    while child.poll() is None:
        found = [_memory(one) for one in _family(child.pid)]
        resident = max(resident, sum(one[0] for one in found))
        own = max(own, sum(one[1] for one in found))
        time.sleep(0.05)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
    return resident, own


def _family(pid: int) -> list[int]:
    try:
        process = psutil.Process(pid)
        return [pid, *(one.pid for one in process.children(recursive=True))]
    except psutil.Error:
        return []


def _memory(pid: int) -> tuple[float, float]:
    """Resident and own memory of one process in MB; 0 where it has just ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0, 0.0
    found = (re.search(rf"{name}:\s+(\d+) kB", text) for name in ("VmRSS", "RssAnon"))
    resident, own = (int(one[1]) * 1024 / 1e6 if one else 0.0 for one in found)
    return resident, own
