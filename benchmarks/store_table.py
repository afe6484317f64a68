"""One experiment on SciFact with every store that runs here; writes benchmarks/stores.md.

Run: python benchmarks/store_table.py SCIFACT_FOLDER [STORE ...]. With names, only their rows are made again.
Servers that are installed are started and stopped.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff import registry
from bakeoff.errors import BakeoffError, MissingExtraError
from bakeoff.protocols import SupportsVectors
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runtime.machine import describe_machine
from bakeoff.runtime.servers import control
from bakeoff.runtime.servers.control import TABLE

HERE = Path(__file__).parent
REMOTE = ("pinecone", "vespa")
SPECIAL = {
    "faiss": "{build: {index: hnsw}, query: {ef: 64}}",
    "lancedb": "{build: {index: ivf_hnsw_sq}}",
}
COLUMNS = (
    "store", "version", "how it ran", "nDCG@10", "kNN@10", "build s", "p50 ms", "p95 ms", "index MB", "client MB",
    "server MB", "measured",
)  # fmt: skip
KEPT = "2026-11-16, Intel(R) Xeon(R) Processor, 2 cores"
"""Day and machine of the rows that were measured before each had its own."""
EXPERIMENT = """# Do the stores find what exact search finds, and at which cost?
corpus: {{source: beir, folder: {folder}}}
queries: queries.yaml
allow: [leak]
chunkers: [whole]
embedders: [wordllama]
stores:
{stores}
modes: [dense]
measures: {{primary: nDCG@10(document), also: [kNN@10(vector), R@100(document)]}}
depth: 100
runs: 3
"""


@dataclass(frozen=True, slots=True)
class Line:
    """What the table says of a store."""

    store: str
    version: str
    how: str
    values: dict[str, Any]


def main() -> int:
    """Run it and write the table."""
    folder = Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or [name for name in registry.names("stores") if name not in REMOTE]
    started = [name for name in names if name in TABLE and _up(name)]
    try:
        usable = [name for name in names if _usable(name, started)]
        with tempfile.TemporaryDirectory() as place:
            result = _run(Path(place), folder, usable)
            lines = [_line(result, name, started) for name in usable]
            memory = _memory(Path(place))
            rows = {line.store: _row(line, memory) for line in lines}
            kept = _kept() if sys.argv[2:] else {}
            (HERE / "stores.md").write_text(_page({**kept, **rows}))
    finally:
        for name in started:
            control.down(TABLE[name])
    print((HERE / "stores.md").read_text())
    return 0


def _up(name: str) -> bool:
    try:
        control.up(TABLE[name])
    except BakeoffError as exc:
        print(f"{name}: {exc}", file=sys.stderr)
        return False
    return True


def _usable(name: str, started: list[str]) -> bool:
    try:
        plugin = registry.load("stores", name)
    except MissingExtraError as exc:
        print(exc, file=sys.stderr)
        return False
    served = name in TABLE and name not in ("chroma", "milvus")
    return issubclass(plugin, SupportsVectors) and (not served or name in started)


def _run(place: Path, folder: Path, names: list[str]) -> Result:
    stores = "\n".join(f"  - {{{name}: {SPECIAL.get(name, '{}')}}}" for name in names)
    (place / "bakeoff.yaml").write_text(EXPERIMENT.format(folder=folder, stores=stores))
    bakeoff = [sys.executable, "-m", "bakeoff"]
    subprocess.run(
        [*bakeoff, "import", "beir", str(folder), "--out", str(place / "queries.yaml")], check=True
    )
    subprocess.run([*bakeoff, "run", str(place), "--out", str(place / "run"), "--quiet"], check=False)
    return open_run(place / "run")


def _memory(place: Path) -> dict[str, dict[str, float | None]]:
    """Peak memory of client and server apart, from a short load."""
    command = [
        sys.executable,
        "-m",
        "bakeoff",
        "load",
        str(place / "run"),
        "--experiment",
        str(place),
        "--runs",
        "1",
    ]
    subprocess.run(
        [*command, "--seconds", "1", "--out", str(place / "load")], check=False, stdout=subprocess.DEVNULL
    )
    record = place / "load" / "record.json"
    if not record.is_file():
        return {}
    found = {}
    for point in json.loads(record.read_text())["points"]:
        used = point["resources"]
        found[point["system"]] = {side: used[side].get("peak_memory_mb") for side in ("client", "server")}
    return found


def _line(result: Result, name: str, started: list[str]) -> Line:
    how = "server on this machine" if name in started and name not in ("chroma", "milvus") else "embedded"
    rows = [row for row in result.systems.to_pylist() if (row["store"] or "").split("(")[0] == name]
    if not rows:
        return Line(name, _version(name), how, {"failed": "no row"})
    system, row = rows[0]["system"], rows[0]
    if row["status"] != "done":
        return Line(name, _version(name), how, {"system": system, "failed": row["reason"]})
    seconds = [result.timing(system, phase, "seconds") for phase in ("insert", "index", "ready")]
    known = [one for one in seconds if one is not None]
    values = {
        "system": system,
        "nDCG@10": result.summaries("nDCG@10(document)")[system].mean,
        "kNN@10": result.summaries("kNN@10")[system].mean,
        "build": sum(known) if known else None,
        "p50": result.timing(system, "search", "p50_ms"),
        "p95": result.timing(system, "search", "p95_ms"),
        "bytes": row["index_bytes"],
    }
    return Line(name, _version(name), how, values)


def _version(name: str) -> str:
    if name in TABLE and name not in ("chroma", "milvus"):
        return control.status(TABLE[name]).version
    plugin = registry.load("stores", name)
    with tempfile.TemporaryDirectory() as home:
        store = plugin(plugin.Params(), Path(home))
        try:
            return str(store.engine_version()) if hasattr(store, "engine_version") else ""
        finally:
            store.close()


def _kept() -> dict[str, str]:
    """The rows of the page as it is, by store."""
    path = HERE / "stores.md"
    rows = [line for line in path.read_text().splitlines() if line.startswith("| ")] if path.is_file() else []
    kept = {}
    for row in rows[1:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        kept[cells[0]] = row if len(cells) == len(COLUMNS) else f"{row} {KEPT} |"
    return kept


def _page(rows: dict[str, str]) -> str:
    head = [
        "# Stores over SciFact",
        "",
        "5,183 abstracts, one chunk each, WordLlama's 256 dimensions, 300 queries, 3 repeats; made by",
        "`python benchmarks/store_table.py SCIFACT_FOLDER`. kNN@10 is recall against exact search. Times on a shared",
        "machine are for orientation; speeds at equal recall: `bakeoff ann`. Client memory is that of the one process",
        "that holds every embedded store. `measured`: day, machine, and its load at the end (1: one busy core).",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    return "\n".join([*head, *(rows[name] for name in sorted(rows))]) + "\n"


def _row(line: Line, memory: dict[str, dict[str, float | None]]) -> str:
    got = line.values
    if "failed" in got:
        return f"| {line.store} | {line.version} | {line.how} | failed: {got['failed']} |||||||||"
    used = memory.get(got["system"], {})
    size = None if got["bytes"] is None else got["bytes"] / 1e6
    cells = [
        _number(got["nDCG@10"], 4),
        _number(got["kNN@10"], 4),
        _number(got["build"], 2),
        _number(got["p50"], 2),
        _number(got["p95"], 2),
        _number(size, 1),
        _number(used.get("client"), 0),
        _number(used.get("server") if line.how != "embedded" else None, 0),
        _conditions(),
    ]
    return f"| {line.store} | {line.version} | {line.how} | {' | '.join(cells)} |"


def _conditions() -> str:
    here, day = describe_machine(), datetime.datetime.now(datetime.UTC)
    return f"{day:%Y-%m-%d}, {here['processor']}, {here['cores']} cores, load {os.getloadavg()[0]:.0f}"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
