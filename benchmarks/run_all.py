"""Every benchmark, one after the other; writes benchmarks/results.md. Run: make bench

Some scripts only: run_all.py load stats. What a script printed before, as its section: run_all.py soak=soak.txt
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

from bakeoff import __version__
from bakeoff.runtime.machine import describe_machine, package_versions

HERE = Path(__file__).parent
SKIPPED = {"common.py", "kills.py", "run_all.py", "scifact.py", "soak.py", "store_table.py", "storepeers.py"}


def main() -> int:
    """Renew the sections of the scripts named as arguments, or of all of them."""
    wanted = sys.argv[1:] or [path.stem for path in sorted(HERE.glob("*.py")) if path.name not in SKIPPED]
    sections = _kept() if sys.argv[1:] else {}
    for one in wanted:
        name, _, kept = one.partition("=")
        sections[name] = _read(name, Path(kept)) if kept else _section(name)
    (HERE / "results.md").write_text(_head() + "\n".join(sections[name] for name in sorted(sections)))
    print((HERE / "results.md").read_text())
    return 0


def _kept() -> dict[str, str]:
    """The sections of the last results, by name: a part of the scripts renews only its own."""
    path = HERE / "results.md"
    parts = path.read_text().split("\n## ")[1:] if path.exists() else []
    return {part.split("\n", 1)[0].strip(): f"## {part.rstrip()}\n" for part in parts}


def _section(name: str) -> str:
    """The section of a script that is run now."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, HERE / f"{name}.py"], capture_output=True, text=True, check=False)
    return _table(name, f"{time.perf_counter() - begin:.0f} s", done.stdout, done.stderr)


def _read(name: str, printed: Path) -> str:
    """The section of a script that was run before, from what it printed."""
    day = datetime.datetime.fromtimestamp(printed.stat().st_mtime, datetime.UTC)
    return _table(name, f"run alone, {day:%Y-%m-%d}", printed.read_text(), f"nothing in {printed.name}")


def _table(name: str, when: str, printed: str, errors: str) -> str:
    rows = [line.split("|") for line in printed.splitlines() if line.count("|") == 4]
    table = "\n".join("| " + " | ".join(cell.strip() for cell in _columns(row)) + " |" for row in rows[1:])
    failed = f"\nfailed: `{(errors.strip().splitlines() or ['no message'])[-1]}`\n" if not rows else ""
    head = "| what | ours | peer or limit | ratio | target | |\n|---|---|---|---|---|---|\n"
    return f"## {name}\n\n{_first_line(name)} ({when})\n\n{head if rows else ''}{table}\n{failed}"


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
    here, packages = describe_machine(), package_versions()
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
