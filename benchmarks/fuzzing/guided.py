"""Every parser under libFuzzer: inputs that reach new code are kept and changed further (pip install atheris).

Run with: python benchmarks/fuzzing/guided.py SECONDS [--least INPUTS] [--total SECONDS] [PARSER ...]
Each parser gets that many seconds. With --least, a parser stops at that many inputs of its version, and one that has
them already is left out. With --total, the cheapest third gets the rest of it, in turns four times as long.
One line per turn: the parser, its inputs, the exit code of its process; counts.json sums the inputs.
A crash is printed on standard error, its input is kept, and the parser gets no further turn.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import atheris
from counts import add_count, inputs_of, parser_version

if TYPE_CHECKING:
    from fuzzed import Reader

TESTS = Path(__file__).parents[2] / "tests" / "fuzz"
MORE_MEMORY = 4 << 30
"""Address space that a parser may add: a header that claims more than the file holds must not."""
HANGS_SECONDS = 60
LONGER = 4
"""Times the length of the first turn that a later one has: the valid file is made once per turn."""
DONE = re.compile(r"stat::number_of_executed_units: (\d+)")
EXCEPTION = "Uncaught Python exception"


def main() -> None:
    """Fuzz the named parsers, or all of them, each in a process of its own that begins with its valid file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int)
    parser.add_argument("--total", type=int, default=0)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("parsers", nargs="*")
    asked = parser.parse_intermixed_args()
    sys.path.insert(0, str(TESTS))
    with atheris.instrument_imports(include=["bakeoff"]):
        from forked import fork_limited_processes
        from fuzzed import READERS
    wanted = [READERS[kind] for kind in asked.parsers or READERS]
    for reader in wanted:
        if reader.missing:
            print(f"{reader.kind} needs {reader.missing}", file=sys.stderr)
    kept = Path(tempfile.mkdtemp(prefix="bakeoff-guided-"))
    given: dict[str, int] = {}
    version = cache(parser_version)
    present = [one for one in wanted if not one.missing]
    if asked.least:
        present = [one for one in present if inputs_of(one.kind, version(one)) < asked.least]
    fork_limited_processes()
    for reader in _turns(present, given, time.monotonic() + asked.total):
        folder = kept / re.sub(r"\W+", "-", reader.kind)
        again = LONGER if reader.kind in given else 1
        runs = asked.least - inputs_of(reader.kind, version(reader)) if asked.least and again == 1 else -1
        executed, code = _watched(reader, folder, again * asked.seconds, runs)
        given[reader.kind] = -1 if code else executed // again
        add_count(reader.kind, version(reader), executed, crashed=bool(code))
        print(reader.kind, executed, code, sep="\t", flush=True)
    for reader in present:
        if given.get(reader.kind, 0) >= 0:
            shutil.rmtree(kept / re.sub(r"\W+", "-", reader.kind), ignore_errors=True)
    if not any(kept.iterdir()):
        kept.rmdir()


def _turns(readers: list[Reader], given: dict[str, int], end: float) -> Iterator[Reader]:
    """Every parser once, then the cheapest third in turn until the end; `given` holds the inputs of the last turn."""
    yield from readers
    while time.monotonic() < end:
        cheapest = sorted(readers, key=lambda one: -given[one.kind])[: max(1, len(readers) // 3)]
        for reader in (one for one in cheapest if given[one.kind] >= 0):
            if time.monotonic() < end:
                yield reader
        if all(inputs < 0 for inputs in given.values()):
            return


def _watched(reader: Reader, folder: Path, seconds: int, runs: int) -> tuple[int, int]:
    """The inputs of a parser and the exit code of its process: imported once here, fuzzed in a fork."""
    folder.mkdir(exist_ok=True)
    log = folder / "log.txt"
    child = os.fork()
    if not child:
        _fuzz(reader, folder, log, (seconds, runs))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = log.read_text(encoding="utf-8", errors="replace")
    if code:
        at = max(told.find(EXCEPTION), 0)
        print(f"crash: {reader.kind}, {folder}\n{told[at : at + 3000]}", file=sys.stderr, flush=True)
    counted = DONE.search(told)
    return int(counted[1]) if counted else 0, code


def _fuzz(reader: Reader, folder: Path, log: Path, most: tuple[int, int]) -> None:
    """Never returns: libFuzzer ends the process."""
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    tempfile.tempdir = str(folder)  # libFuzzer ends this process, so nothing else removes its temporary files
    seeds, path, content = folder / "seeds", reader.place(folder / "work"), reader.content()
    seeds.mkdir(exist_ok=True)  # an earlier turn's finds are changed further
    (seeds / "valid").write_bytes(content)
    with atheris.instrument_imports(include=["bakeoff"]):  # modules that are imported where they are used
        reader.feed(path, content)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MORE_MEMORY, resource.RLIM_INFINITY))
    flags = [
        f"-max_total_time={most[0]}",
        f"-runs={most[1]}",
        f"-timeout={HANGS_SECONDS}",
        f"-max_len={max(4096, 2 * len(content))}",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *flags, str(seeds)], lambda data: reader.feed(path, data))
    atheris.Fuzz()
    os._exit(0)


if __name__ == "__main__":
    main()
