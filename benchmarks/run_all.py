"""Every benchmark, one after the other; writes benchmarks/results.md. Run: make bench"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

from bakeoff import __version__
from bakeoff.machine import machine, versions

HERE = Path(__file__).parent
SKIPPED = {"common.py", "run_all.py", "soak.py", "store_table.py", "storepeers.py"}


def main() -> int:
    """Run the scripts named as arguments and renew their sections, or run all of them."""
    wanted = sys.argv[1:] or [path.stem for path in sorted(HERE.glob("*.py")) if path.name not in SKIPPED]
    sections = _kept() if sys.argv[1:] else {}
    sections |= {name: _section(name) for name in wanted}
    (HERE / "results.md").write_text(_head() + "\n".join(sections[name] for name in sorted(sections)))
    print((HERE / "results.md").read_text())
    return 0


def _kept() -> dict[str, str]:
    """The sections of the last results, by name: a part of the scripts renews only its own."""
    path = HERE / "results.md"
    parts = path.read_text().split("\n## ")[1:] if path.exists() else []
    return {part.split("\n", 1)[0].strip(): f"## {part.rstrip()}\n" for part in parts}


def _section(name: str) -> str:
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, HERE / f"{name}.py"], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    rows = [line.split("|") for line in done.stdout.splitlines() if line.count("|") == 4]
    table = "\n".join("| " + " | ".join(cell.strip() for cell in _columns(row)) + " |" for row in rows[1:])
    failed = f"\nfailed: `{(done.stderr.strip().splitlines() or ['no message'])[-1]}`\n" if not rows else ""
    head = "| what | ours | peer or limit | ratio | target | |\n|---|---|---|---|---|---|\n"
    return f"## {name}\n\n{_first_line(name)} ({seconds:.0f} s)\n\n{head if rows else ''}{table}\n{failed}"


def _columns(row: list[str]) -> list[str]:
    missed = row[4].endswith("MISSED")
    return [
        *row[:4],
        row[4].removesuffix("MISSED").strip(),
        "missed" if missed else "holds" if row[4] != "-" else "",
    ]


def _first_line(name: str) -> str:
    text = (HERE / f"{name}.py").read_text()
    return text.split('"""')[1].strip().splitlines()[0]


def _head() -> str:
    here, packages = machine(), versions()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        "# Benchmarks\n\n"
        "Ratios measured in one run on one machine; the absolute figures are for orientation. Made by `make bench`.\n\n"
        f"- {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, bakeoff {__version__}, load at the start {load}\n"
        f"- {here['processor']}, {here['cores']} cores, {here['memory_gib']} GiB\n"
        f"- {here['system']}, Python {here['python']}\n"
        f"- {', '.join(f'{name} {version}' for name, version in packages.items())}\n\n"
    )


if __name__ == "__main__":
    sys.exit(main())
