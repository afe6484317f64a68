"""Search latency in a run against `bakeoff load` with one client, for every embedded store.

Both are medians of the same queries on the same index; run and load take turns, and the median of all turns counts. The
ratio is the larger over the smaller.
Run: python benchmarks/latency.py [STORE…]
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from bakeoff import registry
from bakeoff.errors import MissingExtraError
from bakeoff.protocols import SupportsVectors
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.runtime.servers.control import needing_a_server
from common import Row, show

DOCUMENTS, QUERIES, WORDS = 2000, 100, 60
TURNS, LIMIT = 7, 1.2  # with 3 turns one busy moment of the machine moved a ratio by 0.2
REMOTE = {"pinecone", "vespa"}


def main() -> int:
    """Measure each store by itself: what else is open in the process does not count."""
    wanted = sys.argv[1:] or sorted({*registry.names("stores")} - needing_a_server() - REMOTE)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write_corpus(folder)
        return show(row for name in wanted for row in _rows(folder, name))


def _rows(folder: Path, store: str) -> Iterator[Row]:
    try:
        plugin = registry.load("stores", store)
    except MissingExtraError as exc:
        yield Row(f"{store}: not measured: {str(exc).replace('|', '/')}", float("nan"), float("nan"))
        return
    experiment = _experiment(folder, store, dense=issubclass(plugin, SupportsVectors))
    pairs = [_pair(folder, experiment, store, turn) for turn in range(TURNS)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    name = f"{store}: median ms of a search, run {ours:.3f} and load {theirs:.3f}"
    yield Row(name, max(ours, theirs), min(ours, theirs), f"<= {LIMIT}")


def _pair(folder: Path, experiment: Path, store: str, turn: int) -> tuple[float, float]:
    """The median search of a run, and of load with one client."""
    place = folder / f"{store}-{turn}"
    result = run(experiment, out=place, home=folder / "home")
    (system,) = result.done
    ours = result.timing(system, "search", "p50_ms")
    assert ours is not None
    return ours, _load(place, experiment, folder / "home", result)


def _load(place: Path, experiment: Path, home: Path, result: Result) -> float:
    command = [sys.executable, "-m", "bakeoff", "load", str(place), "--experiment", str(experiment), "--json"]
    options = ["--concurrency", "1", "--runs", "3", "--seconds", "1", "--out", str(place / "load")]
    done = subprocess.run(
        [*command, *options],
        env={**os.environ, "BAKEOFF_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{result.path.name}: {done.stderr.strip()}")
    (point,) = json.loads((place / "load" / "record.json").read_text())["points"]
    return float(point["latency_ms"]["p50"]["across_queries"]["value"])


def _experiment(folder: Path, store: str, *, dense: bool) -> Path:
    parts = {"embedders": ["wordllama"], "stores": [store], "modes": ["dense"]}
    words = {"modes": [{"bm25": {"engine": store}}]}
    text = {
        "corpus": {"source": "folder", "folder": "corpus"},
        "queries": "queries.yaml",
        "allow": ["leak"],
        "chunkers": ["whole"],
        **(parts if dense else words),
        "measures": {"primary": "RR(document)"},
        "depth": 20,
        "runs": 5,
    }
    path = folder / f"{store}.yaml"
    path.write_text(yaml.safe_dump(text))
    return path


def _write_corpus(folder: Path) -> None:
    """Documents of random words, and queries of some words of a document."""
    chosen = random.Random(5)
    words = [
        "".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=chosen.randint(3, 9))) for _ in range(3000)
    ]
    (folder / "corpus").mkdir()
    queries = []
    for number in range(DOCUMENTS):
        text = chosen.choices(words, k=WORDS)
        (folder / "corpus" / f"{number:04}.txt").write_text(" ".join(text) + "\n")
        if number < QUERIES:
            asked = " ".join(chosen.sample(text, 6))
            queries.append({"id": f"q{number}", "text": asked, "truth": {"documents": [f"{number:04}.txt"]}})
    (folder / "queries.yaml").write_text(yaml.safe_dump({"queries": queries}))


if __name__ == "__main__":
    sys.exit(main())
