"""F33: memory and CPU measured system-wide, or of the client while the work happens in a server."""

from __future__ import annotations

import subprocess
import sys

import psutil

from bakeoff.benchmark.resources.usage import NO_SERVER, Sampler

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
    found = sampler.result
    assert found.server.peak_memory_mb > 200
    assert found.server.avg_cpu_percent > found.client.avg_cpu_percent


PARENT = """\
import subprocess, sys
worker = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(worker.stdout.readline(), end="", flush=True)
sys.stdin.readline()
worker.stdin.close()
worker.wait()
"""
HOLDS = """\
import sys
held = bytearray(200_000_000)
print("ready", flush=True)
sys.stdin.readline()
"""


def test_f33_what_a_servers_own_children_hold_is_the_servers() -> None:
    """By its number alone, as of a server that somebody else started: its whole tree is looked at."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin and server.stdout and server.stdout.readline() == "ready\n"
        with Sampler(server=server.pid, children=False) as sampler:
            pass
        server.stdin.close()
    assert sampler.result.server.peak_memory_mb > 200


def test_f33_what_others_on_the_machine_hold_is_nobodys() -> None:
    """A process that is neither the client nor a server of its own holds 200 MB meanwhile."""
    before = psutil.Process().memory_info().rss / 1e6
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin and other.stdout and other.stdout.readline() == "ready\n"
        with Sampler(children=False) as sampler:
            pass
        other.stdin.close()
    found = sampler.result
    assert found.client.peak_memory_mb < before + 100
    assert found.server.peak_memory_mb is None and found.server.note == NO_SERVER


def test_f33_what_cannot_be_seen_is_null_not_zero() -> None:
    """In a process of its own: engines that other tests left running would be seen as its children."""
    program = (
        "import time\n"
        "from bakeoff.benchmark.resources.usage import NO_SERVER, Sampler\n"
        "with Sampler(server=2**22 + 1) as sampler:\n"
        "    time.sleep(0.15)\n"
        "server = sampler.result.server\n"
        "assert server.avg_cpu_percent is None and server.peak_memory_mb is None and server.note == NO_SERVER\n"
        "assert sampler.result.client.peak_memory_mb > 1\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SHARES = """\
import mmap, os, sys
size = 100_000_000
shared = mmap.mmap(-1, size)
pages = range(0, size, 4096)
for at in pages:
    shared[at] = 1
for _ in range(3):
    read, write = os.pipe()
    if os.fork() == 0:
        sum(shared[at] for at in pages)
        os.write(write, b".")
        sys.stdin.read()
        os._exit(0)
    os.read(read, 1)
print("ready", flush=True)
sys.stdin.read()
"""


def test_f33_memory_that_the_processes_of_a_server_share_counts_once() -> None:
    """Four processes of one server over the same 100 MB: 400 MB were reported."""
    with subprocess.Popen(
        [sys.executable, "-c", SHARES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin and server.stdout and server.stdout.readline() == "ready\n"
        with Sampler(server=server.pid, children=False) as sampler:
            pass
        server.stdin.close()
    found = sampler.result.server.peak_memory_mb
    assert found is not None and 100 < found < 250
