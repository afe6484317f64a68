"""Damaged files for every parser of foreign files: how many made one fall over, and how many are read a second.

Random edits, so many files a parser: python benchmarks/fuzz.py [FILES]
Also led by the code that is reached, so many seconds a parser, where BAKEOFF_BENCH_ATHERIS names a Python that has
bakeoff, what its tests need, and atheris: python benchmarks/fuzz.py [FILES] --seconds 30
With --total the cheapest parsers get the rest of that many seconds. No files, or no seconds, leave that part out.
Files led by coverage are counted over all sessions in fuzzing/counts.json; those of an earlier version of a parser do
not count for the one of now.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

from common import Row, show

FILES = 1000
SECONDS = 30
WANTED = 10_000_000
PYTHON = "BAKEOFF_BENCH_ATHERIS"
HERE = Path(__file__).parent
TESTS = HERE.parent / "tests" / "fuzz" / "test_readers.py"
COUNTED = "test_more_damaged_files"


def main() -> int:
    """Fuzz and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int, nargs="?", default=FILES)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="of each parser under atheris")
    parser.add_argument("--total", type=int, default=0, help="seconds under atheris in all")
    asked = parser.parse_args()
    random = _random(asked.files) if asked.files else []
    guided = _guided(asked.seconds, asked.total) if asked.seconds else []
    return show([*random, *guided, *_all_sessions()])


def _random(files: int) -> list[Row]:
    """Random edits of valid files, by hypothesis."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.xml"
        begin = time.perf_counter()
        _run(report, files)
        seconds = time.perf_counter() - begin
        cases = list(ET.parse(report).iter("testcase"))
    parsers = [
        case for case in cases if case.get("name", "").startswith(COUNTED) and case.find("skipped") is None
    ]
    fallen = {
        _parser(case) for case in cases if case.find("failure") is not None or case.find("error") is not None
    }
    for one in sorted(fallen):
        print(f"fell over: {one}", file=sys.stderr)
    spent, total = sum(float(case.get("time", 0)) for case in parsers), _given(map(_parser, parsers), files)
    return [
        Row(
            f"parsers that fell over, {files:,} files of random edits each; of all",
            len(fallen),
            len(parsers),
            "<= 0",
        ),
        Row(
            "files of random edits a second, in the parsers; with pytest around them",
            total / spent,
            total / seconds,
        ),
    ]


def _given(parsers: Iterable[str], files: int) -> int:
    """How many files they were given together; one that starts a process for each gets fewer."""
    sys.path.insert(0, str(TESTS.parent))
    from fuzzed import READERS

    return sum(READERS[kind].files(files) for kind in parsers)


def _parser(case: ET.Element) -> str:
    """The parser of a test, which stands in brackets behind its name."""
    return case.get("name", "").partition("[")[2].removesuffix("]")


def _run(report: Path, files: int) -> None:
    """pytest in a process of its own; it ends with 1 where a parser fell over, which the report tells."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--timeout=0",
        f"--junitxml={report}",
        str(TESTS),
        "-k",
        COUNTED,
    ]
    done = subprocess.run(
        command, env={**os.environ, "BAKEOFF_FUZZ": str(files)}, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")


def _all_sessions() -> list[Row]:
    """What the parsers of now were given over all sessions."""
    sys.path[:0] = [str(TESTS.parent), str(HERE / "fuzzing")]
    from counts import parser_version, total_of_versions
    from fuzzed import READERS

    versions = {kind: parser_version(reader) for kind, reader in READERS.items() if not reader.missing}
    files, fallen = total_of_versions(versions)
    return [
        Row(
            "parsers that fell over a file led by coverage, all sessions; of all",
            fallen,
            len(versions),
            "<= 0",
        ),
        Row(
            "files led by coverage, all sessions, with bounds of 4 GB and 60 s; wanted", files, WANTED, ">= 1"
        ),
    ]


def _guided(seconds: int, total: int) -> list[Row]:
    """Edits that libFuzzer chooses; nothing, and a line that says so, where no Python with atheris is named."""
    python = os.environ.get(PYTHON, "")
    if not python:
        print(f"atheris: not installed (name a Python that has it and bakeoff in {PYTHON})")
        return []
    begin = time.perf_counter()
    command = [python, str(HERE / "fuzzing" / "guided.py"), str(seconds), "--total", str(total)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    if done.returncode:
        raise SystemExit(f"{python} could not fuzz: {done.stderr[-500:]}")
    for told in done.stderr.split("fell over: ")[1:]:
        print(f"fell over: {told}", file=sys.stderr)
    return _counted(
        [line.split("\t") for line in done.stdout.splitlines()], seconds, time.perf_counter() - begin
    )


def _counted(turns: list[list[str]], seconds: int, took: float) -> list[Row]:
    """The rows of this session from its turns: parser, files, exit code of its process."""
    fallen = {kind for kind, _, code in turns if code != "0"}
    files, parsers = sum(int(executed) for _, executed, _ in turns), {kind for kind, *_ in turns}
    return [
        Row(
            f"parsers that fell over, {seconds} s each led by coverage; of all",
            len(fallen),
            len(parsers),
            "<= 0",
        ),
        Row("files led by coverage a second; all of them", files / took, files),
    ]


if __name__ == "__main__":
    sys.exit(main())
