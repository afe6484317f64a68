"""Writes the example pages of the docs site: the report of a run of each bundled example, and the scores it shows.

    python docs/examples.py                  run every example and write its page anew
    python docs/examples.py lineage ann      only these
    python docs/examples.py --runs runs      from runs/stdlib, runs/lineage, … instead of running them
    python docs/examples.py --picture        also images/report.png, by chromium (make debian)

A page is the example's lesson (NAME.lesson.md, written by hand) and the Markdown report, shortened by leaving out rows,
never by changing one. NAME.scores.json holds the rows its numbers come from; a test computes them again.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

from bakeoff import open_run
from bakeoff.benchmark.results.load_results import all_loads, open_load
from bakeoff.benchmark.results.scale_results import FIGURES, SIZE, read_rows
from bakeoff.cli import console
from bakeoff.examples import Example, examples
from bakeoff.report.build import Report, build_report
from bakeoff.report.render.markdown import text
from bakeoff.runs.analysis import Result
from bakeoff.runs.markdown_tables import table

OUT = Path(__file__).parent / "examples"
LOADED = "incidents"
"""The example whose run is put under load too, and beside which growth is measured."""
LOAD = ["--concurrency", "1,2,4", "--seconds", "1"]
SCALE = ["synthetic:10000x256", "--stores", "exact,faiss", "--sizes", "1000,3000,10000", "--queries", "200"]
QUERIES_SHOWN, RULES_SHOWN = 2, 8


def main() -> None:
    """Write the pages that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--picture", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        for example in examples():
            if not asked.names or example.name in asked.names:
                folder = (asked.runs or Path(spare)) / example.name
                write(example, folder)
                if asked.picture and example.name == "stdlib":
                    picture(folder / "report.html")


def picture(report: Path) -> None:
    """The first screen of a report, as the README shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.screenshot(path=OUT.parent / "images" / "report.png")
        browser.close()


def write(example: Example, folder: Path) -> None:
    """One page and its rows, from the run in a folder, which is made if it is not there."""
    if not folder.exists():
        _called("demo", example.name, "--out", str(folder))
    if example.name == LOADED and not all_loads(folder):
        _called("load", str(folder), *LOAD)
        _called("scale", *SCALE, "--out", str(folder / "scale" / "growth"))
        _called("report", str(folder))
    if example.vectors is None:
        result = open_run(folder)
        report = _without_sections(text(shortened(build_report(result))))
        rows, shown, kept = scores(result), _demoted(report), "scores"
    else:
        rows = json.loads((folder / "record.json").read_text(encoding="utf-8"))
        shown, kept = "\n".join(vectors(rows)), "record"
    (OUT / f"{example.name}.{kept}.json").write_text(_compact(rows), encoding="utf-8")
    if example.name == LOADED:
        (OUT / f"{example.name}.load.json").write_text(_compact(beside(folder)), encoding="utf-8")
    lesson = (OUT / f"{example.name}.lesson.md").read_text(encoding="utf-8").rstrip()
    (OUT / f"{example.name}.md").write_text(f"{lesson}\n\n---\n\n{shown}", encoding="utf-8")
    console.print_line(str(OUT / f"{example.name}.md"))


def _called(*words: str) -> None:
    """One command of bakeoff, as a user would give it."""
    from bakeoff.cli.app import app

    code = console.run_guarded(lambda: app(list(words), standalone_mode=False))
    if code:
        raise SystemExit(code)


def beside(folder: Path) -> dict[str, Any]:
    """What was measured beside a run: the points of its load, histograms under the heaviest, the rows of growth."""
    found = open_load(folder)
    points = found.record["points"]
    heaviest = max(points, key=lambda point: point["rate"] or point["concurrency"])["load"]
    systems = list(dict.fromkeys(point["system"] for point in points))
    histograms = {system: found.histogram(system, heaviest) for system in systems}
    kept = ["system", "load", "concurrency", "queries_per_second", "qps_measured", "latency_ms", "resources"]
    kept += ["errors", "timeouts"]
    (grown,) = (folder / "scale").iterdir()
    return {
        "points": [{name: point[name] for name in kept} for point in points],
        "opening": {one["system"]: one["ingestion"]["resources"] for one in found.record["systems"]},
        "heaviest": heaviest,
        "buckets": {
            s: [one.buckets.tolist(), one.counts.tolist(), one.missing] for s, one in histograms.items()
        },
        "growth": [
            [row.system, row.figure, row.size, row.run, row.value]
            for row in read_rows(grown / "rows.parquet")
            if row.kind == SIZE and row.figure in FIGURES
        ],
    }


def shortened(report: Report) -> Report:
    """The report with the pairs of the leader, the first differing queries and the first rules only."""
    back = report.background
    pairs = report.pairs and replace(report.pairs, pairs=report.pairs.against)
    hidden = back.rules_hidden + max(0, len(back.rules) - RULES_SHOWN)
    return replace(
        report,
        pairs=pairs,
        differing=report.differing[:QUERIES_SHOWN],
        background=replace(back, rules=back.rules[:RULES_SHOWN], rules_hidden=hidden),
    )


def scores(result: Result) -> dict[str, Any]:
    """Every score, latency and size of a run, one list of values a system in the order of the queries."""
    stored = {row["system"]: row for row in result.systems.to_pylist()}
    return {
        "run": result.record.run,
        "seed": result.record.seed,
        "primary": result.record.primary,
        "queries": [
            [row["query_id"], row["category"], row["difficulty"], row["negative"], row["cluster"]]
            for row in result.queries.to_pylist()
        ],
        "measures": {name: _values(result, name) for name in result.record.measures},
        "ms": {one: [result.timing(one, "total", f"p{p}_ms") for p in (50, 95)] for one in result.done},
        "index_bytes": {one: stored[one]["index_bytes"] for one in result.done},
        "depth": result.record.depth,
        "latencies_ns": _latencies(result),
        "seconds": _phases(result),
    }


def _latencies(result: Result) -> dict[str, list[int]]:
    """Nanoseconds of every query of every run, by system; a clock tells no finer."""
    rows = result.latencies.select(["system", "total_ms"]).drop_null().to_pylist()
    found: dict[str, list[int]] = {system: [] for system in result.done}
    for row in rows:
        found[row["system"]].append(round(row["total_ms"] * 1e6))
    return found


def _phases(result: Result) -> dict[str, dict[str, float | None]]:
    """Seconds of every phase of building, by system."""
    rows = [row for row in result.timings.to_pylist() if row["statistic"] == "seconds"]
    return {one: {row["phase"]: row["value"] for row in rows if row["system"] == one} for one in result.done}


def _values(result: Result, measure: str) -> dict[str, list[float | None]]:
    matrix = result.matrix(measure)
    return {
        system: [None if isnan(value) else _short(float(value)) for value in row]
        for system, row in zip(matrix.systems, matrix.values, strict=True)
    }


def _short(value: float) -> float | int:
    """Every digit is kept: p-values count ties between sums, which rounding would break."""
    return int(value) if value == int(value) else value


def vectors(record: dict[str, Any]) -> Iterator[str]:
    """The tables of a comparison on vectors."""
    data, knn = record["dataset"], f"kNN@{record['options']['k']}"
    yield f"**Verdict.** {record['verdict']}\n"
    size = f"{data['vectors']:,} vectors of {data['dims']} dimensions"
    yield f"{size} by {data['metric']}, {data['queries']:,} queries.\n"
    built = {one["system"]: one for one in record["stores"]}
    rows = [
        [point["system"], point["setting"], f"{built[point['system']]['tuned']['recall']:.4f}",
         f"{_median(point[knn]):.4f}", f"{_median(point['qps_measured']['1']):,.0f}",
         f"{point['latency_across_queries']['p50_ms']['value']:.3f}",
         f"{built[point['system']]['build_time_s']:.2f}", f"{built[point['system']]['index_mb']:.1f}"]
        for point in record["points"]
    ]  # fmt: skip
    headings = ["store", "setting", f"{knn}, tuning half", f"{knn}, measured half", "queries a second"]
    yield from table([*headings, "p50 ms", "build s", "index MB"], rows, left=2)
    for name, why in {**record["unreached"], **record["failed"]}.items():
        yield f"- {name}: {why}"
    machine = record["machine"]
    yield f"\nOn {machine['processor']}, {machine['cores']} cores, made by `{record['options']['command']}`.\n"


def _median(point: dict[str, Any]) -> float:
    return float(point["across_runs"]["median"])


def _without_sections(markdown: str) -> str:
    """A report without the breakdowns of measures other than the primary one."""
    return re.sub(r"^### Other measures by .*?\n(?=#)", "", markdown, flags=re.M | re.S)


def _demoted(markdown: str) -> str:
    """Headings one level down, for a page that has a title of its own; fenced blocks are left alone."""
    lines, fenced = [], False
    for line in markdown.splitlines():
        fenced ^= line.startswith("```")
        lines.append(f"#{line}" if line.startswith("#") and not fenced else line)
    return "\n".join(lines) + "\n"


def _compact(rows: dict[str, Any]) -> str:
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace('],"', '],\n"') + "\n"


if __name__ == "__main__":
    main()
