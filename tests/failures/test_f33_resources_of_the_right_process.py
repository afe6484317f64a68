"""F33: memory and CPU measured system-wide, or of the client while the work happens in a server."""

from __future__ import annotations

import subprocess
import sys

from bakeoff.load.resources import Sampler

BUSY = """\
import sys, time
held = bytearray(200_000_000)
print("ready", flush=True)
sys.stdin.readline()
end = time.process_time() + 1
while time.process_time() < end: pass
print("worked", flush=True)
sys.stdin.readline()
"""


def test_f33_the_servers_work_is_not_the_clients() -> None:
    """The server works for a second of processor time, however long that takes; the client only waits."""
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as server:
        assert server.stdin and server.stdout and server.stdout.readline() == "ready\n"
        with Sampler(server=server.pid) as sampler:
            server.stdin.write("go\n")
            assert server.stdout.readline() == "worked\n"
    found = sampler.found
    assert found.server.peak_memory_mb > 200
    assert found.server.avg_cpu_percent > found.client.avg_cpu_percent


def test_f33_what_cannot_be_seen_is_null_not_zero() -> None:
    """In a process of its own: engines that other tests left running would be seen as its children."""
    program = (
        "import time\n"
        "from bakeoff.load.resources import NO_SERVER, Sampler\n"
        "with Sampler(server=2**22 + 1) as sampler:\n"
        "    time.sleep(0.15)\n"
        "server = sampler.found.server\n"
        "assert server.avg_cpu_percent is None and server.peak_memory_mb is None and server.note == NO_SERVER\n"
        "assert sampler.found.client.peak_memory_mb > 1\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
