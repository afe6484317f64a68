"""Damaged files for every parser of foreign files: how many a second, and how many made one fall over.

Runs tests/fuzz with so many examples a parser. Run with: python benchmarks/fuzz.py [EXAMPLES]
Led by what code is reached, so many seconds a parser (pip install atheris): python benchmarks/fuzz.py --guided SECONDS
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from common import Row, show

EXAMPLES = 1000
HERE = Path(__file__).parent
TESTS = HERE.parent / "tests" / "fuzz"
COUNTED = "test_a_damaged_file_is_read_or_refused"
DONE = re.compile(r"stat::number_of_executed_units: (\d+)")


def main() -> int:
    """Fuzz and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=int, nargs="?", default=EXAMPLES)
    parser.add_argument("--guided", type=int, metavar="SECONDS")
    asked = parser.parse_args()
    return show(_guided(asked.guided) if asked.guided else _random(asked.examples))


def _random(examples: int) -> list[Row]:
    """Random edits of valid files, by hypothesis."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.xml"
        begin = time.perf_counter()
        _run(report, examples)
        seconds = time.perf_counter() - begin
        cases = list(ET.parse(report).iter("testcase"))
    parsers = [case for case in cases if COUNTED in case.get("name", "")]
    fallen = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    for case in fallen:
        print(f"fell over: {case.get('name')}", file=sys.stderr)
    spent = sum(float(case.get("time", 0)) for case in parsers)
    total = len(parsers) * examples
    return [
        Row(f"parsers that fell over, {examples:,} damaged files each", len(fallen), len(cases), "<= 0"),
        Row(f"damaged files a second, {len(parsers)} parsers", total / spent, total / seconds),
    ]


def _run(report: Path, examples: int) -> None:
    """pytest in a process of its own; it ends with 1 where a parser fell over, which the report tells."""
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=0", f"--junitxml={report}", str(TESTS)]
    environment = {**os.environ, "BAKEOFF_FUZZ": str(examples)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")


def _guided(seconds: int) -> list[Row]:
    """libFuzzer, a process for each parser: what it falls over ends that process."""
    fallen, files, begin = 0, 0, time.perf_counter()
    parsers = [tuple(line.split("\t")) for line in _parsers()]
    for file, kind in parsers:
        command = [sys.executable, str(HERE / "fuzzing" / "guided.py"), file, kind, str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
        counted = DONE.search(done.stderr)
        files += int(counted[1]) if counted else 0
        if done.returncode:
            fallen += 1
            print(f"fell over: {kind}\n{_said(done.stdout + done.stderr)}", file=sys.stderr)
    return [
        Row(f"parsers that fell over, {seconds} s each, led by coverage", fallen, len(parsers), "<= 0"),
        Row("files a second, and all of them", files / (time.perf_counter() - begin), files),
    ]


def _parsers() -> list[str]:
    """File and name of every reader, from a process of its own, for here nothing must be imported yet."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:2]; from guided import _loaded; from pathlib import Path\n"
        "for file in map(Path, sys.argv[2:]):\n    for kind in _loaded(file).READERS: print(file, kind, sep='\\t')"
    )
    files = [str(path) for path in sorted(TESTS.glob("test_*.py")) if "READERS = {" in path.read_text()]
    command = [sys.executable, "-c", code, str(HERE / "fuzzing"), *files]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _said(text: str) -> str:
    """The exception that a parser let through."""
    found = text.find("Uncaught Python exception")
    return text[found : found + 1500] if found >= 0 else text[-600:]


if __name__ == "__main__":
    sys.exit(main())
