"""Every number in the tables of an example page follows from the scores that are kept beside it (F23)."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.examples import examples
from bakeoff.measures.names import parse
from bakeoff.report.render import number_text as say
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import CompareSettings, compare_systems, summarise
from bakeoff.stats.comparison import Comparison, ScoreMatrix

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = DOCS / "examples"
WITH_PAGES = [example for example in examples() if (PAGES / f"{example.name}.md").exists()]
RUNS = [example.name for example in WITH_PAGES if example.vectors is None]

AHEAD = re.compile(
    r"(?P<a>[^:*\n]+) is ahead of (?P<b>.+) by (?P<by>-?[.\d]+) \S+ \\?\[(?P<low>-?[.\d]+) (?P<high>-?[.\d]+)\][,:] "
    r"better on (?P<wins>\d+) questions, worse on (?P<losses>\d+), equal on (?P<ties>\d+)"
)

Table = tuple[list[str], list[list[str]]]


@cache
def kept(name: str) -> dict[str, Any]:
    return json.loads((PAGES / f"{name}.scores.json").read_text(encoding="utf-8"))


def matrix(name: str, measure: str) -> ScoreMatrix:
    data, definition = kept(name), parse(measure).definition
    values = data["measures"][measure]
    return ScoreMatrix(
        systems=tuple(values),
        queries=tuple(query[0] for query in data["queries"]),
        values=np.array([[np.nan if v is None else v for v in row] for row in values.values()], dtype=float),
        measure=measure,
        categories=tuple(query[1] or "" for query in data["queries"]),
        structural={query[0]: "no right answer (negative)" for query in data["queries"] if query[3]},
        clusters=tuple(query[4] for query in data["queries"] if len(query) > 4),
        higher_is_better=definition.higher_is_better,
        bounds=(definition.low, definition.high) if definition.high < float("inf") else None,
    )


def settings(name: str) -> CompareSettings:
    return CompareSettings(BootstrapSettings(kept(name)["seed"]))


@cache
def comparison(name: str) -> Comparison:
    return compare_systems(matrix(name, kept(name)["primary"]), settings(name))


def section(name: str, heading: str, begins: str = "|") -> Table:
    """The first table under a heading of a page whose first line begins so."""
    lines = (PAGES / f"{name}.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip("#") == f" {heading}")
    first = next(i for i in range(start, len(lines)) if lines[i].startswith(begins))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("\\", "") for cell in line.strip("|").split(" | ")])
    return rows[0], rows[2:]


def cell(mean: float | None, low: float | None, high: float | None, n: int, excluded: int) -> str:
    interval = say.interval(low, high)
    return f"{say.score(mean)} {interval} ({say.describe_counts(n, excluded)})".replace("  ", " ")


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize("name", RUNS)
def test_means_intervals_and_counts(name: str) -> None:
    headings, rows = section(name, "Systems")
    assert {row[1] for row in rows} == set(kept(name)["index_bytes"])
    for column, heading in enumerate(headings[2 : headings.index("p50")], start=2):
        scores = matrix(name, heading.removesuffix(", lower bound"))
        found = {one.system: one for one in summarise(scores, settings(name))}
        for row in rows:
            one, counted = found[row[1]], _counted(scores, row[1])
            assert one.mean == pytest.approx(np.mean(counted)) and one.n == len(counted)
            low, high = one.interval.low, one.interval.high
            assert row[column] == cell(one.mean, low, high, one.n, len(scores.queries) - one.n)


@pytest.mark.parametrize("name", RUNS)
def test_the_finding_and_the_verdict_in_words(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    _, rows = section(name, "Systems")
    shown = rows[0][2].split(" (n ")[0]
    title = re.search(
        rf"^\*\*(.+) (has|share) the highest mean {re.escape(kept(name)['primary'])}: (.+)\*\*$", page, re.M
    )
    assert title is not None and title[1].startswith(rows[0][1]) and title[3] == shown
    assert (title[2] == "share") == (rows[1][2].split(" ")[0] == shown.split(" ")[0])
    found = AHEAD.search(page)
    if found is None:
        assert f" by {kept(name)['primary']}" in page
        return
    one = comparison(name).pair(found["a"].removeprefix("- "), found["b"])
    assert [int(found[word]) for word in ("wins", "losses", "ties")] == [one.wins, one.losses, one.ties]
    printed = {"by": one.difference, "low": one.interval.low, "high": one.interval.high}
    for word, value in printed.items():
        digits = len(found[word].split(".")[1])
        assert float(found[word]) == pytest.approx(value, abs=0.5001 * 10**-digits)


@pytest.mark.parametrize("name", RUNS)
def test_latencies_and_sizes(name: str) -> None:
    headings, rows = section(name, "Systems")
    first = headings.index("p50")
    for row in rows:
        p50, p95 = (plain(say.milliseconds(value)) for value in kept(name)["ms"][row[1]])
        size = plain(say.size(kept(name)["index_bytes"][row[1]]))
        assert [plain(text) for text in row[first : first + 3]] == [p50, p95, size]


@pytest.mark.parametrize("name", RUNS)
def test_pairs(name: str) -> None:
    _, rows = section(name, "Pairs of systems")
    assert len(rows) == len(kept(name)["index_bytes"]) - 1
    for row in rows:
        one = comparison(name).pair(row[0], row[1])
        scores = matrix(name, kept(name)["primary"])
        apart = np.array(_counted(scores, row[0])) - np.array(_counted(scores, row[1]))
        assert one.difference == pytest.approx(np.mean(apart), abs=1e-12)
        assert row[2:] == [
            say.describe_counts(one.n, len(one.dropped)),
            say.score(one.mean_a),
            say.score(one.mean_b),
            f"{say.format_signed(one.difference)} {say.interval(one.interval.low, one.interval.high)}",
            *(str(count) for count in (one.wins, one.losses, one.ties)),
            say.p_value(one.p_corrected),
            say.score(one.mdd),
        ]


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(("label", "place"), [("category", 1), ("difficulty", 2)])
def test_breakdowns(name: str, label: str, place: int) -> None:
    data = kept(name)
    if len({query[place] for query in data["queries"]}) < 2:
        pytest.skip(f"{name} has one {label}")
    headings, rows = section(name, f"{data['primary']} by {label}")
    scores = matrix(name, data["primary"])
    for row in rows:
        values = scores.values[scores.systems.index(row[0])]
        for heading, shown in zip(headings[1:], row[1:], strict=True):
            group = heading.rsplit(" (", 1)[0]
            chosen = [
                v for v, q in zip(values, data["queries"], strict=True) if q[place] == group and not q[3]
            ]
            mean = float(np.mean(chosen)) if chosen else None
            assert re.sub(r" \[[^]]*\]", "", shown) == f"{say.score(mean)} (n {len(chosen)})"


@pytest.mark.parametrize("name", RUNS)
def test_ranks_of_the_first_relevant_results(name: str) -> None:
    data = kept(name)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    unit = re.search(r"Rank of the first relevant (\w+)", page)
    assert unit is not None
    headings, rows = section(name, unit[0])
    reciprocal = [m for m in data["measures"] if parse(m).name == "RR" and str(parse(m).unit) == unit[1]]
    deepest = max(reciprocal, key=lambda m: parse(m).k or np.inf)
    scores = matrix(name, deepest)
    for row in rows:
        ranks = [round(1 / value) if value else 0 for value in _counted(scores, row[0])]
        for heading, shown in zip(headings[1:-1], row[1:-1], strict=True):
            assert int(shown) == sum(_inside(rank, heading) for rank in ranks)
        assert row[-1] == say.describe_counts(len(ranks), len(scores.queries) - len(ranks))


def _inside(rank: int, span: str) -> bool:
    """Whether a rank is in a span: 1, 2–3, none in 10."""
    if span.startswith("none"):
        return rank == 0 or rank > int(span.rpartition(" ")[2])
    low, _, high = span.partition("–")
    return int(low) <= rank <= int(high or low)


@pytest.mark.parametrize("name", RUNS)
def test_latency_tables(name: str) -> None:
    headings, rows = section(name, "Latency")
    needed = {"p50": 10, "p90": 50, "p95": 100, "p99": 500, "mean": 1}
    for row in rows:
        times = np.array(kept(name)["latencies_ns"][row[0]]) / 1e6
        for heading, shown in zip(headings[1:-1], row[1:-1], strict=True):
            found = np.mean(times) if heading == "mean" else np.percentile(times, int(heading[1:]))
            enough = len(times) >= needed[heading]
            assert plain(shown) == plain(say.milliseconds(float(found) if enough else None))
        assert row[-1] == str(len(times))


@pytest.mark.parametrize("name", RUNS)
def test_latency_curves(name: str) -> None:
    (headings, rows), title = figure(name, " % of ")
    known = []
    for row in rows:
        times = np.array(kept(name)["latencies_ns"][row[0]]) / 1e6
        for heading, shown in zip(headings[1:-1], row[1:-1], strict=True):
            percent = float(heading[1:])
            found = float(np.percentile(times, percent)) if _enough(len(times), percent) else None
            assert plain(shown) == plain(say.milliseconds(found))
        percent = max(p for p in (50, 75, 90, 95, 99) if _enough(len(times), p))
        known.append((float(np.percentile(times, percent)), row[0]))
    (low, fastest), (high, slowest) = min(known), max(known)
    told = f"{fastest} answers {percent} % of questions within {say.milliseconds(low)}"
    assert title.replace("queries", "questions") == plain(f"{told}; {slowest} needs {say.milliseconds(high)}")


def _enough(samples: int, percent: float) -> bool:
    """Whether five samples lie beyond a percentile."""
    return samples * (100 - percent) >= 500 - 1e-6


@pytest.mark.parametrize("name", RUNS)
def test_phases_of_ingestion(name: str) -> None:
    headings, rows = section(name, "Ingestion")
    phases = {"embed": "embed_chunks", "all": "ingest"}
    headings = headings[: headings.index("all") + 1]
    for row in rows:
        stored = kept(name)["seconds"][row[0]]
        shown = [plain(say.seconds(stored.get(phases.get(heading, heading)))) for heading in headings[1:]]
        assert [plain(cell) for cell in row[1 : len(headings)]] == shown


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("what", ["latency", "size"])
def test_fronts(name: str, what: str) -> None:
    data = kept(name)
    cost = {s: ms[0] for s, ms in data["ms"].items()} if what == "latency" else data["index_bytes"]
    scores = matrix(name, data["primary"])
    quality = {system: float(np.mean(_counted(scores, system))) for system in scores.systems}
    _, rows = section(name, f"Quality against {what}")
    assert {row[0] for row in rows} == set(quality)
    for row in rows:
        mine = (quality[row[0]], -cost[row[0]])
        others = [(quality[s], -cost[s]) for s in quality]
        beaten = any(q >= mine[0] and c >= mine[1] and (q, c) != mine for q, c in others)
        assert (row[-1] == "yes") is not beaten


def test_load_of_an_example() -> None:
    data = beside()
    points = {(point["system"], point["load"]): point for point in data["points"]}
    (headings, rows), _ = figure("incidents", f"With {data['heaviest']}")
    for row in rows:
        buckets, counts, missing = data["buckets"][row[0]]
        histogram = Histogram(np.array(buckets), np.array(counts), missing)
        for heading, shown in zip(headings[1:-1], row[1:-1], strict=True):
            percent = float(heading[1:])
            found = histogram.percentile(percent) if _enough(sum(counts), percent) else None
            assert plain(shown) == plain(say.milliseconds(None if found is None else found / 1e6))
        assert row[-1] == f"{sum(counts):,}"
    headings, rows = section("incidents", "Under load", "| system | load |")
    assert {(row[0], row[1]) for row in rows} == set(points)
    for row in rows:
        point = points[row[0], row[1]]
        assert row[2] == f"{np.median(point['qps_measured']['across_runs']['values']):,.0f}"
        times = [point["latency_ms"][p]["across_queries"]["value"] for p in ("p50", "p95", "p99")]
        assert [plain(cell) for cell in row[4:7]] == [plain(say.milliseconds(value)) for value in times]
        assert row[7] == str(point["errors"] + point["timeouts"])


def test_resources_of_an_example() -> None:
    data = beside()
    used = {(point["system"], point["load"]): point["resources"] for point in data["points"]}
    used |= {(system, "opening"): found for system, found in data["opening"].items()}
    for words, names in (
        ("memory", ["peak_memory_mb"]),
        ("processor", ["avg_cpu_percent", "peak_cpu_percent"]),
    ):
        (_, rows), _ = figure("incidents", f"most {'memory' if words == 'memory' else 'CPU'}: ")
        assert {(row[0], row[1]) for row in rows} == set(used)
        for row in rows:
            sides = [used[row[0], row[1]][side] for side in ("client", "server")]
            values = [side[name] for name in names for side in sides]
            memory = [plain(say.size(None if value is None else value * 1e6)) for value in values]
            cpu = ["–" if value is None else f"{value:,.0f} %" for value in values]
            assert [plain(cell) for cell in row[2:]] == (memory if words == "memory" else cpu)


@pytest.mark.parametrize(("figure_name", "title"), [("build_s", "Build time"), ("p50_ms", "Latency p50")])
def test_growth_beside_an_example(figure_name: str, title: str) -> None:
    rows = [row for row in beside()["growth"] if row[1] == figure_name]
    (headings, shown), told = figure("incidents", f"{title} grows")
    say_it = say.seconds if figure_name == "build_s" else say.milliseconds
    for row in shown:
        known = [(size, value) for store, _, size, _, value in rows if store == row[0]]
        for heading, cell in zip(headings[1:-2], row[1:-2], strict=True):
            found = np.median([value for size, value in known if f"{size:,}" == heading])
            assert plain(cell) == plain(say_it(float(found)))
        x, y = (np.log(np.array(column, float)) for column in zip(*known, strict=True))
        exponent = f"{np.polyfit(x, y, 1)[0]:.2f}".replace("-", "−")
        assert row[-2].startswith(exponent) and f"rows^{exponent}" in told


def figure(name: str, words: str) -> tuple[Table, str]:
    """The table under the first figure whose title holds these words, and that title."""
    lines = (PAGES / f"{name}.md").read_text(encoding="utf-8").splitlines()
    title = next(line for line in lines if line.startswith("####") and words in plain(line))
    heading = title.lstrip("#")[1:]
    return section(name, heading), plain(heading.replace("\\", ""))


@cache
def beside() -> dict[str, Any]:
    return json.loads((PAGES / "incidents.load.json").read_text(encoding="utf-8"))


def test_the_page_of_vectors_shows_its_record() -> None:
    record = json.loads((PAGES / "ann.record.json").read_text(encoding="utf-8"))
    page = (PAGES / "ann.md").read_text(encoding="utf-8")
    assert record["verdict"] in page and record["points"]
    for point in record["points"]:
        line = next(one for one in page.splitlines() if one.startswith(f"| {point['system']} |"))
        speed = np.median(point["qps_measured"]["1"]["across_runs"]["values"])
        recall = np.median(point["kNN@10"]["across_runs"]["values"])
        assert f" {speed:,.0f} " in line and f" {recall:.4f} " in line


@pytest.mark.parametrize("name", [example.name for example in WITH_PAGES])
def test_pages_are_small_and_begin_with_the_lesson(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith((PAGES / f"{name}.lesson.md").read_text(encoding="utf-8").rstrip())
    assert re.search(r"\*\*(Verdict\.|Take |Start with )", page)
    assert len(page.encode()) < 60_000
    assert all(path.stat().st_size < 300_000 for path in PAGES.glob(f"{name}.*.json"))


def _counted(scores: ScoreMatrix, system: str) -> list[float]:
    values = scores.values[scores.systems.index(system)]
    pairs = zip(scores.queries, values, strict=True)
    return [float(v) for query, v in pairs if query not in scores.structural and not np.isnan(v)]
