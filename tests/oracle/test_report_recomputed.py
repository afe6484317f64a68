"""Every figure of a report is found again from stored rankings, latencies and the truth as written, by other code.

The run is small and has what reports get wrong: grades, spans, negatives, ties, failed and partial systems. Nothing here
uses the package's measures or statistics; one digit that differs in any table fails.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode does not find modules beside a test

import pages
import plainly
import richrun

from bakeoff.cli import console
from bakeoff.cli.views import summary, summary_json
from bakeoff.report.render.write import write

TOKEN = re.compile(r"\w+|[^\w\s]")
UNBOUNDED = ("tokens@5",)
NEEDED = {50: 10, 75: 20, 90: 50, 95: 100, 99: 500, 99.9: 5000}
"""Samples a percentile needs, so that five lie beyond it."""


@dataclass(frozen=True)
class Again:
    """The run computed once more."""

    rich: richrun.Rich

    def table(self, name: str) -> list[dict[str, Any]]:
        return pq.read_table(self.rich.result.path / f"{name}.parquet").to_pylist()

    @cached_property
    def queries(self) -> dict[str, dict[str, Any]]:
        return {row["query_id"]: row for row in self.table("queries")}

    @cached_property
    def systems(self) -> dict[str, dict[str, Any]]:
        return {row["system"]: row for row in self.table("systems") if row["status"] == "done"}

    @cached_property
    def rankings(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        found: dict[tuple[str, str], list[dict[str, Any]]] = {
            (system, query): [] for system in self.systems for query in self.queries
        }
        for row in sorted(self.table("rankings"), key=lambda row: row["rank"]):
            if row["system"] in self.systems:
                found[row["system"], row["query_id"]].append(row)
        return found

    @cached_property
    def scores(self) -> dict[tuple[str, str], dict[str, float]]:
        """Values by (system, measure) and query, from the rankings and the truth as the query file has it."""
        found: dict[tuple[str, str], dict[str, float]] = {}
        for system in self.systems:
            for query in self.queries:
                for measure, value in self._query(system, query).items():
                    found.setdefault((system, measure), {})[query] = value
        return found

    def _query(self, system: str, query: str) -> dict[str, float]:
        rows, truth = self.rankings[system, query], self.rich.truth.get(query)
        if truth is None:
            return self._negative(system, query)
        ranked, grades = plainly.units(rows, "document_id"), truth.grades
        found = {
            "nDCG@10(document)": plainly.ndcg(ranked, grades, 10),
            "RR@10(document)": plainly.reciprocal_rank(ranked, grades, 10),
            "P@5(document)": plainly.precision(ranked, grades, 5),
            "R@5(document)": plainly.recall(ranked, grades, 5),
            "AP@10(document)": plainly.average_precision(ranked, grades, 10),
            "Hit@3(document)": plainly.hit(ranked, grades, 3),
            "tokens@5": float(sum(len(TOKEN.findall(self._text(row))) for row in rows[:5])),
        }
        if truth.spans:
            recall, precision, iou = plainly.span_measures(rows, truth.spans, 3)
            held = plainly.answers(rows, truth.spans)
            judged = {str(number): 1.0 for number in range(len(truth.spans))}
            found |= {"SpanRecall@3": recall, "SpanPrecision@3": precision, "SpanIoU@3": iou}
            found["RR@10(answer)"] = plainly.reciprocal_rank(held, judged, 10)
        return found

    def _negative(self, system: str, query: str) -> dict[str, float]:
        top = self.top(system, query)
        others = [self.top(system, one) for one in self.rich.truth]
        above = sum(1.0 if one > top else 0.5 if one == top else 0.0 for one in others)
        return {"FalseAlarm@0.3": float(top >= 0.3), "AUROC": above / len(others)}

    def top(self, system: str, query: str) -> float:
        rows = self.rankings[system, query]
        return float(rows[0]["score"]) if rows else -math.inf

    def _text(self, row: Mapping[str, Any]) -> str:
        return self.rich.texts[row["document_id"]][row["start"] : row["end"]]

    def column(self, system: str, measure: str) -> np.ndarray:
        """The scores of a system in order of the queries' ids."""
        values = self.scores[system, measure]
        return np.array([values[query] for query in sorted(values)])

    def mean(self, system: str) -> float:
        return float(self.column(system, richrun.MEASURES[0]).mean())

    @cached_property
    def order(self) -> list[str]:
        return sorted(self.systems, key=lambda system: -round(self.mean(system), 12))

    @cached_property
    def pairs(self) -> dict[tuple[str, str], Pair]:
        named = plainly.all_pairs(self.order)
        own = [self.column(a, PRIMARY) - self.column(b, PRIMARY) for a, b in named]
        # the test flips the sign of every query's difference, also of those that are not compared
        p_values = plainly.holm([plainly.flip_p(self._all(d), richrun.SEED, len(named)) for d in own])
        return {
            pair: Pair(d, plainly.interval(d, richrun.SEED), p, plainly.detectable(d, len(named)))
            for pair, d, p in zip(named, own, p_values, strict=True)
        }

    def _all(self, differences: np.ndarray) -> np.ndarray:
        values = dict(zip(sorted(self.rich.truth), differences, strict=True))
        return np.array([values.get(query, 0.0) for query in sorted(self.queries)])

    @cached_property
    def latencies(self) -> dict[str, np.ndarray]:
        found: dict[str, list[float]] = {system: [] for system in self.systems}
        for row in self.table("latencies"):
            steps = [row[f"{step}_ms"] for step in ("embed", "search", "fuse", "rerank")]
            if row["system"] in found:
                found[row["system"]].append(sum(step for step in steps if step is not None))
        return {system: np.array(times) for system, times in found.items()}


@dataclass(frozen=True)
class Pair:
    """One system against another on the primary measure."""

    differences: np.ndarray
    ends: plainly.Ends
    p: float
    detectable: float | None

    @property
    def shown(self) -> bool:
        return self.ends is not None and (self.ends[0] > 0 or self.ends[1] < 0) and self.p <= 0.05


PRIMARY = richrun.MEASURES[0]


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Again:
    rich = richrun.made(tmp_path_factory.mktemp("rich"))
    write(rich.result, rich.result.path, ["html", "md", "latex"])
    return Again(rich)


@pytest.fixture(scope="module")
def markdown(again: Again) -> str:
    return (again.rich.result.path / "report.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown(markdown: str) -> Callable[..., pages.Table]:
    """The only table under a heading that begins so, or the one that has a column."""
    found = list(pages.markdown_tables(markdown))

    def table(heading: str, column: str = "") -> pages.Table:
        fitting = [
            one for one in found if one.heading.startswith(heading) and (not column or column in one.head)
        ]
        assert len(fitting) == 1, [one.heading for one in found]
        return fitting[0]

    return table


# --- numbers as the report writes them -----------------------------------------------------------


def score(value: float | None) -> str:
    if value is None:
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 10 else f"{value:.3f}"
    text = text.lstrip("-") if float(text.replace(",", "")) == 0 else text
    return re.sub(r"^(-?)0\.", r"\1.", text).replace("-", "−")


def signed(value: float) -> str:
    return score(value) if score(value)[0] == "−" or not float(score(value)) else f"+{score(value)}"


def ends(found: plainly.Ends) -> str:
    return "" if found is None else f" [{score(found[0])} {score(found[1])}]"


def p_value(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return f"{digits if value >= 0.1 else f'{value:#.2g}'} ms"


def size(value: float) -> str:
    unit, factor = next(
        ((u, f) for u, f in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)) if value >= f), ("bytes", 1)
    )
    return f"{value / factor:.3g} {unit}" if factor > 1 else f"{value:.0f} bytes"


def counted(again: Again, n: int) -> str:
    return f"n {n}, {len(again.queries) - n} excluded"


def percentile(times: np.ndarray, percent: float) -> float | None:
    return float(np.percentile(times, percent)) if len(times) >= NEEDED[percent] else None


def a_mean(again: Again, system: str, measure: str) -> str:
    values = again.column(system, measure)
    bounds = None if measure in UNBOUNDED else (0.0, 1.0)
    found = ends(plainly.interval(values, richrun.SEED, bounds))
    return f"{score(values.mean())}{found} ({counted(again, len(values))})"


# --- the tables ----------------------------------------------------------------------------------


def test_the_run_has_what_reports_get_wrong(again: Again) -> None:
    states = {row["status"] for row in again.table("systems")}
    assert states == {"done", "failed", "partial"} and len(again.systems) == 6
    assert len(again.rich.truth) == 28 and len(again.queries) == 32
    assert again.table("ties")
    assert sum(bool(truth.spans) for truth in again.rich.truth.values()) == 14
    assert {grade for truth in again.rich.truth.values() for grade in truth.grades.values()} == {1, 2, 3}
    (low, high) = (fn(pair.p for pair in again.pairs.values()) for fn in (min, max))
    assert low <= 0.05 < high  # some pairs are told apart and some are not


def test_stored_scores_follow_from_rankings_and_truth(again: Again) -> None:
    stored = {(r["system"], r["measure"], r["query_id"]): r["value"] for r in again.table("scores")}
    checked = 0
    for system in again.systems:
        for measure in richrun.MEASURES:
            for query in again.queries:
                mine = again.scores[system, measure].get(query)
                found = stored[system, measure, query]
                if measure in UNBOUNDED and query not in again.rich.truth:
                    continue  # a cost has a value for a negative query too; it enters no mean
                assert (found is None) == (mine is None), (system, measure, query)
                assert mine is None or found == pytest.approx(mine, abs=1e-12), (system, measure, query)
                checked += 1
    assert checked == 6 * (32 * len(richrun.MEASURES) - 4)


def test_the_table_of_systems(again: Again, shown: Callable[..., pages.Table]) -> None:
    table = shown("Systems", "p50")
    assert [row[1] for row in table.rows] == again.order
    assert set(richrun.MEASURES) <= set(table.head)
    for place, (mark, *row) in enumerate(table.rows):
        cells = dict(zip(table.head[1:], row, strict=True))
        system, times = cells["system"], again.latencies[cells["system"]]
        assert mark == "ABCDEF"[place]
        for measure in richrun.MEASURES:
            assert cells[measure] == a_mean(again, system, measure), (system, measure)
        assert cells["p50"] == milliseconds(percentile(times, 50))
        assert cells["p95"] == milliseconds(percentile(times, 95))
        assert cells["index"] == size(again.systems[system]["index_bytes"])


def test_the_table_of_pairs(again: Again, markdown: str, shown: Callable[..., pages.Table]) -> None:
    table = shown("Pairs of systems")
    assert [(row[0], row[1]) for row in table.rows] == list(again.pairs)
    for row, ((a, b), pair) in zip(table.rows, again.pairs.items(), strict=True):
        difference = signed(pair.differences.mean()) + ends(pair.ends)
        outcomes = map(str, plainly.outcomes(pair.differences))
        expected = [
            counted(again, len(pair.differences)),
            score(again.mean(a)),
            score(again.mean(b)),
            difference,
        ]
        assert row[2:] == [*expected, *outcomes, p_value(pair.p), score(pair.detectable)], (a, b)
    beaten = sum(pair.shown for (a, _), pair in again.pairs.items() if a == again.order[0])
    assert f"beats {beaten} of 5 other systems" in markdown


def test_excluded_queries_are_named_for_every_mean_that_leaves_them_out(
    again: Again, shown: Callable[..., pages.Table]
) -> None:
    named: dict[str, set[str]] = {measure: set() for measure in richrun.MEASURES}
    for _, queries, measures in shown("Corpus and truth", "excluded because").rows:
        for measure in measures.split(", "):
            named[measure] |= set(queries.split(", "))
    for measure, queries in named.items():
        assert queries == set(again.queries) - set(again.scores[again.order[0], measure]), measure


def test_fronts(again: Again, shown: Callable[..., pages.Table]) -> None:
    costs = {
        "latency": {s: percentile(t, 50) for s, t in again.latencies.items()},
        "size": {s: float(row["index_bytes"]) for s, row in again.systems.items()},
    }
    for name, cost in costs.items():
        rows = shown(f"Quality against {name}").rows
        on = plainly.front([(cost[row[0]] or 0.0, again.mean(row[0])) for row in rows])
        say = milliseconds if name == "latency" else size
        for row, front in zip(rows, on, strict=True):
            expected = [a_mean(again, row[0], PRIMARY), say(cost[row[0]]), "yes" if front else "no"]
            assert row[1:] == expected, (name, row[0])


@pytest.mark.parametrize("label", ["category", "difficulty", "language"])
def test_breakdowns(again: Again, shown: Callable[..., pages.Table], label: str) -> None:
    """The primary measure, and every other one, with the interval of each mean."""
    groups: dict[str, list[str]] = {}
    for query, row in sorted(again.queries.items()):
        name = row[label] if label in row else json.loads(row["tags"])[label]
        groups.setdefault(name, []).append(query)
    own, others = shown(f"{PRIMARY} by {label}"), shown(f"Other measures by {label}")
    assert [row[0] for row in own.rows] == list(again.order)
    for row in own.rows:
        for heading, cell in zip(own.head[1:], row[1:], strict=True):
            name, _, gone = heading.partition(" (")
            kept, expected = group_mean(again, groups[name], row[0], PRIMARY)
            assert (gone, cell) == (f"{len(groups[name]) - kept} excluded)", expected)
    assert {row[0] for row in others.rows} == set(richrun.MEASURES) - {PRIMARY}
    for row in others.rows:
        for name, cell in zip(others.head[2:], row[2:], strict=True):
            assert cell == group_mean(again, groups[name], row[1], row[0])[1], (row[:2], name)


def group_mean(again: Again, group: list[str], system: str, measure: str) -> tuple[int, str]:
    """How many queries of a group have a score, and their mean with its interval."""
    scores = again.scores[system, measure]
    kept = np.array([scores[query] for query in group if query in scores])
    if not len(kept):
        return 0, "– (n 0)"
    bounds = None if measure in UNBOUNDED else (0.0, 1.0)
    found = ends(plainly.interval(kept, richrun.SEED, bounds))
    return len(kept), f"{score(float(kept.mean()))}{found} (n {len(kept)})"


def test_ranks_of_first_relevant_documents(again: Again, shown: Callable[..., pages.Table]) -> None:
    table = shown("Rank of the first relevant document")
    assert table.head[1:-1] == ["1", "2–3", "4–10", "none in 10"]
    for row in table.rows:
        ranks = [
            plainly.first_rank(plainly.units(again.rankings[row[0], query], "document_id"), truth.grades)
            for query, truth in again.rich.truth.items()
        ]
        counts = [sum(low <= rank <= high for rank in ranks) for low, high in ((1, 1), (2, 3), (4, 10))]
        assert row[1:] == [*map(str, counts), str(len(ranks) - sum(counts)), counted(again, len(ranks))]


def test_losses_step_by_step(again: Again, shown: Callable[..., pages.Table]) -> None:
    table = shown(f"Where {PRIMARY} is lost")
    for row in table.rows:
        cells, system = dict(zip(table.head, row, strict=True)), row[0]
        hybrid = again.systems[system]["mode"] == "hybrid"
        legs = [system]
        if hybrid:
            legs = [system.replace("hybrid", "dense"), f"{again.systems[system]['chunker']} · bm25"]
        found = _reachable(again, legs)
        assert cells["in no chunk"] == score(0.0)
        assert cells["search misses"] == score(1 - found)
        kept = _reachable(again, [system])
        assert cells["fused or reranked away"] == (score(found - kept) if hybrid else "–")
        assert cells["ranked too low"] == score(kept - again.mean(system))
        assert (cells["served"], cells["questions"]) == (score(again.mean(system)), counted(again, 28))


def _reachable(again: Again, systems: Sequence[str]) -> float:
    """The mean of the best order of all documents that some systems return."""
    best = []
    for query, truth in again.rich.truth.items():
        seen = {row["document_id"] for system in systems for row in again.rankings[system, query]}
        order = sorted(seen, key=lambda document: -truth.grades.get(document, 0))
        best.append(plainly.ndcg(order, truth.grades, 10))
    return float(np.mean(best))


def test_queries_without_an_answer(again: Again, shown: Callable[..., pages.Table]) -> None:
    names = sorted(again.queries)
    negative = [query not in again.rich.truth for query in names]
    for row in shown("Questions without a right answer").rows:
        above, auroc = plainly.false_alarms([again.top(row[0], query) for query in names], negative)
        assert row[1:] == ["4", str(above), score(auroc)]
        assert auroc == pytest.approx(again.column(row[0], "AUROC").mean(), abs=1e-12)


def test_the_spread_and_the_held_out_choice(
    again: Again, markdown: str, shown: Callable[..., pages.Table]
) -> None:
    done = list(again.systems)
    values = np.array([again.column(system, PRIMARY) for system in done])
    factors = {
        name: [again.systems[system][name] for system in done] for name in ("chunker", "embedder", "mode")
    }
    shares = plainly.factor_shares(values, factors, richrun.SEED)
    rows = shown("What matters most").rows
    assert [row[0] for row in rows] == list(shares)
    for row in rows:
        share, low, high = shares[row[0]]
        assert row[2:] == [f"{share:.0%}", f"[{low:.0%} {high:.0%}]"]
    labels = [again.queries[query]["category"] for query in sorted(again.rich.truth)]
    held, winners = plainly.held_out(values, labels, richrun.SEED)
    low, high = plainly.interval(held, richrun.SEED, (0.0, 1.0)) or (math.nan, math.nan)
    first = done.index(again.order[0])
    same = sum((first in tied) / len(tied) for tied in winners) / len(winners)
    rows_of_best = [
        row for row in pages._plain(markdown).splitlines() if row.startswith(f"- {again.order[0]}: ")
    ]
    (line,) = [row for row in rows_of_best if "here; expect" in row]
    for value in (
        f"{again.mean(again.order[0]):.3f}",
        f"{held.mean():.3f} [{low:.3f} {high:.3f}]",
        f"{same:.0%}",
    ):
        assert value in line


def test_latencies(again: Again, shown: Callable[..., pages.Table]) -> None:
    table, curve = shown("Latency", "mean"), shown("", "p99.9")
    for row, further in zip(table.rows, curve.rows, strict=True):
        times = again.latencies[row[0]]
        assert len(times) == 4 * 32
        expected = [milliseconds(percentile(times, percent)) for percent in (50, 90, 95, 99)]
        assert row[1:] == [*expected, milliseconds(float(times.mean())), "128"]
        assert further[1:] == [*(milliseconds(percentile(times, percent)) for percent in NEEDED), "128"]


def test_the_verdict_and_its_reasons(again: Again, markdown: str) -> None:
    best, *others = again.order
    unbeaten = [other for other in others if not again.pairs[best, other].shown]
    pair, text = again.pairs[best, unbeaten[0]], pages._plain(markdown)
    wins, losses, ties = plainly.outcomes(pair.differences)
    assert len(unbeaten) == len(others) == 5
    assert "All 6 systems" in text and "28 questions" in text and f"{best} is ahead of" in text
    assert (
        f"better on {wins} questions, worse on {losses}, equal on {ties} (Holm p {p_value(pair.p)})" in text
    )
    found = sorted((one.detectable or 0.0, b) for (a, b), one in again.pairs.items() if a == best)
    (least, first), (most, last) = found[0], found[-1]
    size = f"{score(least)} (against {first}) to {score(most)} (against {last}) {PRIMARY}"
    assert f"differences below {size} usually go undetected (80% power, over 15 pairs)." in text
    for measure in richrun.MEASURES[1:]:
        line = re.search(
            rf"By {re.escape(measure)} the best mean is that of (.*?): ([\d.,]+) against ([\d.,]+) of", text
        )
        if line:
            means = {system: again.column(system, measure).mean() for system in again.systems}
            top = (min if measure == "FalseAlarm@0.3" else max)(means.values())
            assert (
                means[line[1]] == pytest.approx(top)
                and line[2] == score(top)
                and line[3] == score(means[best])
            )


def test_the_page_in_html_has_the_same_figures(again: Again, markdown: str) -> None:
    """Every row of a table with a system's figures stands in the page too."""
    rows = pages.html_rows((again.rich.result.path / "report.html").read_text(encoding="utf-8"))
    checked = 0
    for table in pages.markdown_tables(markdown):
        if table.head[0] not in ("", "a", "system", "choice"):
            continue
        for row in table.rows:
            cells = {pages.bare(cell) for cell in row}
            assert any(cells <= other for other in rows), (table.heading, row)
            checked += 1
    assert checked > 15 + 10 * 6


def test_latex_has_the_same_figures(again: Again) -> None:
    folder = again.rich.result.path
    systems = _latex(folder / "systems.tex")
    assert [row[0] for row in systems] == again.order
    for row in systems:
        expected = [a_mean(again, row[0], measure) for measure in richrun.MEASURES]
        shown = [re.sub(r" \(n.*", "", one).replace("−", "-") for one in expected]
        assert [cell.replace(", ", " ") for cell in row[1:-1]] == shown
        assert row[-1] == f"{percentile(again.latencies[row[0]], 50):.3f}"
    for row in _latex(folder / "pairs.tex"):
        a, b = row[0].split(" - ")
        pair = again.pairs[a, b]
        low, high = pair.ends or (math.nan, math.nan)
        counts = "/".join(map(str, plainly.outcomes(pair.differences)))
        numbers = [f"{pair.differences.mean():.3f}", f"[{low:.3f}, {high:.3f}]"]
        assert row[1:] == [str(len(pair.differences)), *numbers, counts, p_value(pair.p)]


def _latex(path: Path) -> list[list[str]]:
    body = path.read_text(encoding="utf-8").split("\\midrule")[1].split("\\bottomrule")[0]
    plain = re.sub(r"\$([-<])\$", r"\1", body).replace("$\\cdot$", "·").replace("\\_", "_").replace("--", "–")
    return [
        [cell.strip() for cell in line.split("\\\\")[0].split(" & ")] for line in plain.strip().splitlines()
    ]


def test_the_terminal_and_its_json_have_the_same_figures(
    again: Again, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.out, "width", 400)
    summary.print_result(again.rich.result, None)
    lines = capsys.readouterr().out.splitlines()
    for mark, system in zip("ABCDEF", again.order, strict=True):
        (line,) = [one for one in lines if re.match(rf"\s*{mark}\s+{re.escape(system)}\s", one)]
        shown = re.split(r"\s{2,}", line.strip())[2:]
        cells = [a_mean(again, system, measure).partition(" (")[0] for measure in richrun.MEASURES]
        means = [cell.partition(" ")[0] for cell in cells]
        assert shown[0] == means[0] and shown[1] == cells[0].partition(" ")[2]
        assert shown[2 : 1 + len(means)] == means[1:]
        bytes_ = again.systems[system]["index_bytes"]
        assert (f"{bytes_ / 1e6:.1f} MB" if bytes_ >= 1e5 else f"{bytes_ / 1e3:.0f} kB") in shown[-3:]
    for row in summary_json.result_json(again.rich.result)["systems"]:
        for measure, found in row["measures"].items():
            values = again.column(row["system"], measure)
            assert found["mean"] == pytest.approx(values.mean(), abs=1e-12)
            assert (found["n"], found["excluded"]) == (len(values), 32 - len(values))


def test_failed_and_partial_systems_have_a_reason_and_no_figure(
    again: Again, markdown: str, shown: Callable[..., pages.Table]
) -> None:
    rows = dict(shown("Systems", "failed").rows)
    assert rows == {r["system"]: r["reason"] for r in again.table("systems") if r["status"] != "done"}
    assert len(rows) == 8 and any("10 of 32 queries were answered" in reason for reason in rows.values())
    for table in pages.markdown_tables(markdown):
        if table.head[0] != "failed":
            assert not any(cell in rows for row in table.rows for cell in row)
