"""The cost of limits: 10,000 small files read with and without limits on time and memory.

The stage as a run has it, listing and cache included; the two take turns, and the medians are compared.
Run with: python benchmarks/read_bounds.py [FILES]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.pipeline import read as stage
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.reading import process
from bakeoff.storage.cache import Cache
from common import Row, show

FILES, REPEATS = 10_000, 5
TEXTS = {
    "md": "# Title {n}\n\nSome words about number {n}, and a [link](other.md).\n\n## Part\n\n"
    + "More words. " * 60,
    "html": "<html><head><title>{n}</title></head><body><h1>Page {n}</h1>"
    + "<p>Some words.</p>" * 40
    + "</body></html>",
    "py": '"""Module {n}."""\n\n\ndef name_{n}(value: int) -> int:\n    return value + {n}\n'
    + "# comment\n" * 40,
    "txt": "Line {n} of a text.\n" * 50,
}


def main() -> int:
    """Measure and print the rows."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    small, large = _compare(files, 1), _compare(files // 10, 40)
    what = "read {:,} files of {} with limits and without, s"
    return show(
        [
            Row(what.format(files, "1 kB"), *small[0], "<= 1.05"),
            Row("the same in CPU seconds, processes included", *small[1]),
            Row(what.format(files // 10, "40 kB, which take processes,"), *large[0]),
            Row("the same in CPU seconds, processes included", *large[1]),
        ]
    )


def _compare(files: int, times: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Median wall and CPU seconds, each with limits and without."""
    wall: dict[str, list[float]] = {"with": [], "without": []}
    cpu: dict[str, list[float]] = {"with": [], "without": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "corpus"
        _write(folder, files, times)
        for turn in range(REPEATS):
            for how in ("with", "without"):
                context = (
                    mock.patch.object(process, "_pickle_readers", lambda _: b"") if how == "without" else None
                )
                begin, used = time.perf_counter(), _cpu_seconds()
                _within(context, lambda place=Path(name) / f"cache {how} {turn}": _read(folder, place))  # type: ignore[misc]
                wall[how].append(time.perf_counter() - begin)
                cpu[how].append(_cpu_seconds() - used)
    median = statistics.median
    return (median(wall["with"]), median(wall["without"])), (median(cpu["with"]), median(cpu["without"]))


def _within(context: object, work: Callable[[], None]) -> None:
    if context is None:
        work()
        return
    with context:  # type: ignore[attr-defined]
        work()


def _read(folder: Path, place: Path) -> None:
    plugin = registry.load("sources", "folder")
    part = PluginSpec("sources", "folder", "folder", plugin.Params(folder=folder))
    corpus = stage.read_documents(part, plugin(part.params), StageContext(Cache(place)))
    if len(corpus.skipped) or not corpus.documents.num_rows:
        raise SystemExit(f"{len(corpus.skipped)} files were not read")


def _write(folder: Path, files: int, times: int) -> None:
    kinds = list(TEXTS)
    for number in range(files):
        kind = kinds[number % len(kinds)]
        path = folder / f"{number % 100:02d}" / f"{number}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXTS[kind].replace("{n}", str(number)) * times)


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())
