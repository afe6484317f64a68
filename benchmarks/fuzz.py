"""Damaged files for every parser of untrusted files: crashes, and inputs per second.

Random edits, this many files per parser: python benchmarks/fuzz.py [FILES]
Coverage-guided inputs, this many seconds per parser, where BAKEOFF_BENCH_ATHERIS names a Python that has bakeoff, the
packages of its tests, and atheris: python benchmarks/fuzz.py [FILES] --seconds 30
With --total the cheapest parsers get the rest of that many seconds. 0 files, or 0 seconds, leave that part out.
fuzzing/counts.json sums the coverage-guided inputs of all sessions; those of an earlier version of a parser do not
count for the current one.
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
FEWEST = 1000
PYTHON = "BAKEOFF_BENCH_ATHERIS"
HERE = Path(__file__).parent
TESTS = HERE.parent / "tests" / "fuzz" / "test_readers.py"
COUNTED = "test_more_damaged_files"


def main() -> int:
    """Fuzz and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int, nargs="?", default=FILES)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="per parser under atheris")
    parser.add_argument("--total", type=int, default=0, help="seconds under atheris for all parsers together")
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
    crashed = {
        _parser(case) for case in cases if case.find("failure") is not None or case.find("error") is not None
    }
    for one in sorted(crashed):
        print(f"crash: {one}", file=sys.stderr)
    spent, total = sum(float(case.get("time", 0)) for case in parsers), _given(map(_parser, parsers), files)
    return [
        Row(
            f"parsers that crashed, {files:,} files with random edits each; parsers",
            len(crashed),
            len(parsers),
            "<= 0",
        ),
        Row(
            "files with random edits per second, in the parsers; with pytest around them",
            total / spent,
            total / seconds,
        ),
    ]


def _given(parsers: Iterable[str], files: int) -> int:
    """The files of all of them; a parser that starts a process for each file gets fewer."""
    sys.path.insert(0, str(TESTS.parent))
    from fuzzed import READERS

    return sum(READERS[kind].files(files) for kind in parsers)


def _parser(case: ET.Element) -> str:
    """The parser of a test, in brackets after the name of the test."""
    return case.get("name", "").partition("[")[2].removesuffix("]")


def _run(report: Path, files: int) -> None:
    """pytest in a process of its own; it exits with 1 where a parser crashed, which the report shows."""
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
    """The inputs of the current parsers, over all sessions."""
    sys.path[:0] = [str(TESTS.parent), str(HERE / "fuzzing")]
    from counts import parser_version, total_of_versions
    from fuzzed import READERS

    versions = {kind: parser_version(reader) for kind, reader in READERS.items() if not reader.missing}
    inputs, crashed = total_of_versions(versions)
    fewest = min(total_of_versions({kind: version})[0] for kind, version in versions.items())
    return [
        Row(
            "parsers that crashed on a coverage-guided input, all sessions; parsers",
            crashed,
            len(versions),
            "<= 0",
        ),
        Row(
            "coverage-guided inputs, all sessions, with bounds of 4 GB and 60 s; wanted",
            inputs,
            WANTED,
            ">= 1",
        ),
        Row("coverage-guided inputs of the parser with the fewest; wanted", fewest, FEWEST, ">= 1"),
    ]


def _guided(seconds: int, total: int) -> list[Row]:
    """Inputs that libFuzzer chooses; no rows, and a note, where no Python with atheris is named."""
    python = os.environ.get(PYTHON, "")
    if not python:
        print(f"atheris: not installed (name a Python that has it and bakeoff in {PYTHON})")
        return []
    begin = time.perf_counter()
    command = [python, str(HERE / "fuzzing" / "guided.py"), str(seconds), "--total", str(total)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    if done.returncode:
        raise SystemExit(f"{python} could not fuzz: {done.stderr[-500:]}")
    for found in done.stderr.split("crash: ")[1:]:
        print(f"crash: {found}", file=sys.stderr)
    return _counted(
        [line.split("\t") for line in done.stdout.splitlines()], seconds, time.perf_counter() - begin
    )


def _counted(turns: list[list[str]], seconds: int, took: float) -> list[Row]:
    """The rows of this session from its turns: parser, inputs, exit code of its process."""
    crashed = {kind for kind, _, code in turns if code != "0"}
    inputs, parsers = sum(int(executed) for _, executed, _ in turns), {kind for kind, *_ in turns}
    return [
        Row(
            f"parsers that crashed, {seconds} s of coverage-guided inputs each; parsers",
            len(crashed),
            len(parsers),
            "<= 0",
        ),
        Row("coverage-guided inputs per second; all of them", inputs / took, inputs),
    ]


if __name__ == "__main__":
    sys.exit(main())
