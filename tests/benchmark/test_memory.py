"""Memory of an index: grown, shared, unseen, or not known; never a zero for what is not known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pydantic import BaseModel

from bakeoff.benchmark.resources.memory import (
    measure_growth,
    resident_bytes,
    server_growth,
    server_use,
    uses_server,
)


class Params(BaseModel):
    url: str | None = None


BUILD = """\
import numpy as np
from bakeoff.benchmark.resources.memory import measure_growth, resident_bytes
from bakeoff.benchmark.null_store import NoParams

before = resident_bytes()
kept = np.ones(40_000_000, np.uint8)
found = measure_growth(before, NoParams())
assert 32 < found.mb < 48 and kept.any(), found
"""


def test_memory_of_a_build() -> None:
    """In a process of its own: what threads of other tests take or give back would be counted too."""
    subprocess.run([sys.executable, "-c", BUILD], check=True)


def test_what_is_not_known_is_null() -> None:
    much = resident_bytes() + 10**9
    assert measure_growth(much, Params()).mb is None and "did not grow" in measure_growth(much, Params()).note
    assert measure_growth(much, Params(), least=5_000_000).mb == 5.0
    assert (
        uses_server(Params(url="http://there")) and measure_growth(0, Params(url="http://there")).mb is None
    )


def test_a_servers_growth_is_that_of_its_processes_and_its_folder(tmp_path: Path) -> None:
    """The process answers when it holds 40 MB; before, it held less."""
    hold = "kept = bytearray(b'x') * 40_000_000; print('held', flush=True)"
    code = f"import sys; sys.stdin.readline(); {hold}; sys.stdin.readline()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        before = server_use([server.pid], tmp_path)
        (tmp_path / "index").write_bytes(b"x" * 2_000_000)
        server.stdin.write("go\n")
        server.stdin.flush()
        assert server.stdout.readline() == "held\n"
        after = server_use([server.pid], tmp_path)
        server.stdin.write("end\n")
        server.stdin.flush()
    memory, disk = server_growth(before.memory, after.memory), server_growth(before.disk, after.disk)
    assert memory.mb is not None and memory.mb > 30 and disk.mb == 2.0
    assert after.cpu_seconds is not None and before.cpu_seconds is not None
    assert after.cpu_seconds >= before.cpu_seconds
    unknown = server_use([], None)
    assert unknown.memory is None and server_growth(unknown.memory, None).mb is None
