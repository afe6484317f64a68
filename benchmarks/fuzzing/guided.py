"""Every parser under libFuzzer: files that reach new code are kept and changed further (pip install atheris).

Run with: python benchmarks/fuzzing/guided.py SECONDS [PARSER ...]
A line for each parser: its name, the files it was given, the exit code of its process; what it fell over is told on
standard error, and the file is kept.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from fuzzed import Reader

TESTS = Path(__file__).parents[2] / "tests" / "fuzz"
MORE_MEMORY = 4 << 30
"""Bytes of addresses that a parser may take; a header that claims more than there is must not."""
HANGS_SECONDS = 60
DONE = re.compile(r"stat::number_of_executed_units: (\d+)")
EXCEPTION = "Uncaught Python exception"


def main() -> None:
    """Fuzz the named parsers, or all of them, each in a process of its own that begins with its valid file."""
    seconds, wanted = int(sys.argv[1]), sys.argv[2:]
    sys.path.insert(0, str(TESTS))
    with atheris.instrument_imports(include=["bakeoff"]):
        from fuzzed import READERS
    kept = Path(tempfile.mkdtemp(prefix="bakeoff-guided-"))
    for kind in wanted or READERS:
        if READERS[kind].missing:
            print(f"{kind} needs {READERS[kind].missing}", file=sys.stderr)
            continue
        executed, code = _watched(READERS[kind], kept / re.sub(r"\W+", "-", kind), seconds)
        print(kind, executed, code, sep="\t", flush=True)
    if not any(kept.iterdir()):
        kept.rmdir()


def _watched(reader: Reader, folder: Path, seconds: int) -> tuple[int, int]:
    """The files that a parser was given, and how its process ended: imported once here, fuzzed in a fork."""
    folder.mkdir()
    log = folder / "log.txt"
    child = os.fork()
    if not child:
        _fuzz(reader, folder, log, seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = log.read_text(encoding="utf-8", errors="replace")
    if code:
        at = max(told.find(EXCEPTION), 0)
        print(f"fell over: {reader.kind}, {folder}\n{told[at : at + 3000]}", file=sys.stderr, flush=True)
    else:
        shutil.rmtree(folder)
    counted = DONE.search(told)
    return int(counted[1]) if counted else 0, code


def _fuzz(reader: Reader, folder: Path, log: Path, seconds: int) -> None:
    """Never returns: libFuzzer ends the process."""
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    tempfile.tempdir = str(
        folder
    )  # what is made to be read goes with it: this process never ends in the usual way
    seeds, path, content = folder / "seeds", reader.place(folder / "work"), reader.content()
    seeds.mkdir()
    (seeds / "valid").write_bytes(content)
    with atheris.instrument_imports(include=["bakeoff"]):  # what is imported where it is used
        reader.feed(path, content)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MORE_MEMORY, resource.RLIM_INFINITY))
    flags = [
        f"-max_total_time={seconds}",
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
