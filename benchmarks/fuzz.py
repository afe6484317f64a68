"""Damaged files for every parser of foreign files: how many a second, and how many made one fall over.

Runs tests/fuzz with so many examples a parser. Run with: python benchmarks/fuzz.py [EXAMPLES]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from common import Row, show

EXAMPLES = 1000
TESTS = Path(__file__).parents[1] / "tests" / "fuzz"
COUNTED = "test_a_damaged_file_is_read_or_refused"


def main() -> int:
    """Fuzz and print the rows."""
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
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
    return show(
        [
            Row(f"parsers that fell over, {examples:,} damaged files each", len(fallen), len(cases), "<= 0"),
            Row(f"damaged files a second, {len(parsers)} parsers", total / spent, total / seconds),
        ]
    )


def _run(report: Path, examples: int) -> None:
    """pytest in a process of its own; it ends with 1 where a parser fell over, which the report tells."""
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=0", f"--junitxml={report}", str(TESTS)]
    environment = {**os.environ, "BAKEOFF_FUZZ": str(examples)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
