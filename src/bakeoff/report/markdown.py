"""The report's twin in Markdown: the same rows, for a repository, a pull request or a diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bakeoff.analysis import Result
from bakeoff.cache import write_file
from bakeoff.report import findings as find
from bakeoff.report import wording as say
from bakeoff.report.breakdown import Breakdown
from bakeoff.report.costs import PROMISES, SPEED, STATISTICS, earlier_phases
from bakeoff.report.differing import DifferingQuery
from bakeoff.report.grid import Mean
from bakeoff.report.losses import LossTable
from bakeoff.report.marks import block, bullets, plain, rest, table
from bakeoff.report.origins import corpus_and_truth, how_it_was_made
from bakeoff.report.pairs import Pairs
from bakeoff.report.percentiles import HOW
from bakeoff.report.sections import Chart, Section
from bakeoff.report.systems import SystemsTable
from bakeoff.report.tables import Report, tables
from bakeoff.report.trades import Trade
from bakeoff.stats.loss import CEILING


def write_markdown(result: Result, path: Path | None = None) -> Path:
    """Write the report, by default as report.md in the run's folder, and return where it is."""
    target = path or result.path / "report.md"
    write_file(target, text(tables(result)).encode("utf-8", "replace"))
    return target


def text(report: Report) -> str:
    """The whole report."""
    lines = [line for part in _parts(report) for line in part]
    return "\n".join(lines).rstrip("\n") + "\n"


def _parts(report: Report) -> Iterator[list[str]]:
    yield _head(report)
    if report.review:
        yield _extra(report.review)
    yield _systems(report.systems)
    if report.headline.could_change:
        yield ["## What could change this", "", *bullets(report.headline.could_change)]
    if report.pairs and report.pairs.against:
        yield _pairs(report.pairs)
    yield from _trades(report)
    for part in report.breakdowns:
        yield _breakdown(part, report.systems)
    if report.ranks:
        yield _ranks(report)
    if report.losses:
        yield _losses(report.losses, report.systems.measures[0].label)
    if report.alarms:
        yield _alarms(report)
    if report.spread or report.choice or report.preset:
        yield _spread(report)
    if report.differing:
        yield _differing(report.differing, report.systems.measures[0].label)
    yield _times(report)
    for section in report.extras:
        yield _extra(section)
    yield corpus_and_truth(report.background)
    yield how_it_was_made(report.background, report.systems)


def _head(report: Report) -> list[str]:
    head = report.headline
    lines = [f"# {plain(head.question)}", "", plain(head.summary), ""]
    lines += [f"**{head.heading}.** {plain(head.sentence)}", ""]
    lines += [plain(head.without_leaks), ""] if head.without_leaks else []
    return [*lines, *bullets([*report.decision, *head.reasons])]


def _systems(systems: SystemsTable) -> list[str]:
    lines = ["## Systems", ""]
    if systems.rows:
        lines += [f"**{plain(find.of_systems(systems))}**", ""]
        names = [note.heading for note in systems.measures]
        rows = [
            [row.place, row.system, *map(_mean, row.means), say.milliseconds(row.p50_ms), say.milliseconds(row.p95_ms),
             say.size(row.index_bytes)]
            for row in systems.rows
        ]  # fmt: skip
        lines += table(["#", "system", *names, "p50", "p95", "index"], rows, left=2)
    lines += rest(systems.hidden, "systems", "scores.parquet")
    return lines + (table(["failed", "reason"], systems.failed, left=2) if systems.failed else [])


def _pairs(pairs: Pairs) -> list[str]:
    headings = [
        "a",
        "b",
        "n",
        "mean a",
        "mean b",
        "a − b",
        "better",
        "worse",
        "equal",
        f"{pairs.correction} p",
        "detectable",
    ]
    rows = [
        [pair.a, pair.b, say.counted(pair.n, len(pair.dropped)), say.score(pair.mean_a), say.score(pair.mean_b),
         f"{say.signed(pair.difference)} {say.interval(pair.interval.low, pair.interval.high)}",
         pair.wins, pair.losses, pair.ties, say.p_value(pair.p_corrected), say.score(pair.mdd)]
        for pair in pairs.pairs
    ]  # fmt: skip
    lines = [
        "## Pairs of systems",
        "",
        f"**{plain(find.of_differences(pairs))}**",
        "",
        plain(find.of_wins(pairs)) + ".",
        "",
    ]
    return (
        lines
        + table(headings, rows, left=2)
        + rest(pairs.total - len(pairs.pairs), "pairs", "scores.parquet")
    )


def _trades(report: Report) -> Iterator[list[str]]:
    for trade in report.trades:
        yield _trade(trade, report)
    if report.pricing and report.trades:
        yield ["## Quality against cost", "", plain(report.pricing), ""]


def _trade(trade: Trade, report: Report) -> list[str]:
    rows = [
        (
            point.system,
            _mean(report.systems.rows[point.place - 1].primary),
            trade.say(point.cost),
            "yes" if point.on_front else "no",
        )
        for point in trade.points
    ]
    headings = ["system", report.systems.measures[0].label, trade.axis, "on the front"]
    finding = f"**{plain(find.of_trade(trade))}**"
    return [
        f"## Quality against {trade.against}",
        "",
        finding,
        "",
        *table(headings, rows),
        *bullets(trade.notes),
    ]


def _breakdown(part: Breakdown, systems: SystemsTable) -> list[str]:
    excluded = [f"{group} ({gone} excluded)" for group, gone in zip(part.groups, part.excluded, strict=True)]
    finding = find.of_breakdown(part, systems.measures[0].higher_is_better)
    lines = [f"## {systems.measures[0].label} by {part.label}", "", f"**{plain(finding)}**", ""]
    lines += table(["system", *excluded], [(system, *map(_group, means)) for system, means in part.rows])
    if part.others:
        rows = [(measure, system, *map(_group, means)) for measure, system, means in part.others]
        lines += [f"### Other measures by {part.label}", ""]
        lines += table(["measure", "system", *part.groups], rows, left=2)
    return lines + rest(part.hidden, "groups", "scores.parquet")


def _group(mean: Mean) -> str:
    """A mean of a group: what it leaves out is in the heading, or follows from n."""
    interval = say.interval(mean.interval.low, mean.interval.high)
    return f"{say.marked(mean.value, mean.incomplete)} {interval} (n {mean.n})".replace("  ", " ")


def _ranks(report: Report) -> list[str]:
    ranks = report.ranks
    assert ranks is not None
    rows = [(row.system, *row.counts, say.counted(row.n, row.excluded)) for row in ranks.rows]
    lines = [f"## Rank of the first relevant {ranks.unit}", "", f"**{plain(find.of_ranks(ranks))}**", ""]
    return lines + table(["system", *ranks.spans, "queries"], rows)


def _losses(losses: LossTable, measure: str) -> list[str]:
    rows = [
        (
            system,
            say.score(one.start),
            *map(say.score, losses.lost(one)),
            say.score(one.end),
            say.counted(one.n, one.dropped),
        )
        for system, one in losses.rows
    ]
    lines = [f"## Where {measure} is lost", "", f"**{plain(find.of_losses(losses))}**", ""]
    return lines + table(["system", CEILING, *losses.steps, "served", "queries"], rows)


def _spread(report: Report) -> list[str]:
    lines = ["## What makes the difference", ""]
    if report.spread:
        rows = [
            (one.factor, one.levels or "–", f"{one.adjusted:.0%}", f"[{one.low:.0%} {one.high:.0%}]")
            for one in report.spread.factors
        ]
        lines += [f"**{plain(find.of_spread(report.spread))}**", ""]
        lines += [*table(["choice", "options", "share of the spread", "interval"], rows), ""]
        lines += [line for note in report.spread.notes for line in (plain(note), "")]
    told = [report.choice.sentence] if report.choice else []
    return lines + bullets([*told, *report.preset])


def _alarms(report: Report) -> list[str]:
    rows = [
        (system, one.negatives, say.ABSENT if one.above is None else one.above, say.score(one.auroc))
        for system, one in report.alarms
    ]
    lines = ["## Queries without a right answer", "", f"**{plain(find.of_alarms(report.alarms))}**", ""]
    return lines + table(["system", "without an answer", "above the threshold", "AUROC"], rows)


def _differing(queries: tuple[DifferingQuery, ...], measure: str) -> list[str]:
    lines = [f"## {find.of_differing(queries)}", ""]
    for one in queries:
        lines += [f"### {plain(one.query.text)}", ""]
        lines += table(["system", measure], [(system, say.score(value)) for system, value in one.values])
        for returned in one.returned:
            lines += [f"**{plain(returned.system)}**: {say.score(returned.value)}", ""]
            for passage in returned.passages[:3]:
                mark = " (first relevant)" if passage.first_relevant else ""
                lines += [f"{passage.rank}\\. {plain(passage.document)} {passage.lines}{mark}", ""]
                lines += block(passage.text + (f"\n… {passage.cut:,} more characters" if passage.cut else ""))
    return lines


def _times(report: Report) -> list[str]:
    lines: list[str] = []
    if report.latencies:
        names = [name.removesuffix("_ms") for name in STATISTICS]
        promised = any(row.guarantees for row in report.latencies)
        rows = [
            (
                row.system,
                *(say.milliseconds(time.value) for time in row.statistics),
                row.samples,
                *([row.guarantees or say.ABSENT] if promised else []),
            )
            for row in report.latencies
        ]
        lines += ["## Latency", "", f"**{plain(find.of_latency(report.latencies))}**", ""]
        lines += [] if report.curves else [plain(HOW), ""]  # the curves say it too
        lines += table(["system", *names, "samples", *([PROMISES] if promised else [])], rows)
    if report.curves:
        lines += _chart(report.curves)
    if report.phase_rows:
        fast = any(row.speed.value is not None for row in report.phase_rows)
        built = [
            (
                row.system,
                *(say.seconds(time.value) for time in row.phases),
                *([row.speed_text] if fast else []),
            )
            for row in report.phase_rows
        ]
        lines += ["## Ingestion", "", f"**{plain(find.of_phases(report.phases, report.phase_rows))}**", ""]
        lines += table(["system", *report.phases, *([SPEED] if fast else [])], built)
        lines += [f"{plain(note)}.\n" for note in earlier_phases(report.phases, report.phase_rows)]
        earlier = dict.fromkeys(row.speed.note for row in report.phase_rows if row.speed.value)
        lines += [f"{SPEED} {plain(note)}.\n" for note in earlier if note]
    return lines


def _extra(section: Section) -> list[str]:
    lines = [f"## {section.title}", ""]
    lines += [f"**{plain(section.finding)}**", ""] if section.finding else []
    for chart in section.charts:
        lines += _chart(chart)
    for grid in section.grids:
        lines += table(grid.headings, grid.rows, grid.left)
    return [*lines, *bullets(section.notes)]


def _chart(chart: Chart) -> list[str]:
    """A figure's finding and its numbers."""
    lines = [f"### {plain(chart.finding)}", "", plain(chart.caption), ""]
    return [*lines, *table(chart.grid.headings, chart.grid.rows, chart.grid.left), *bullets(chart.notes)]


def _mean(mean: Mean) -> str:
    interval = say.interval(mean.interval.low, mean.interval.high)
    counted = say.counted(mean.n, mean.excluded, mean.incomplete)
    return f"{say.marked(mean.value, mean.incomplete)} {interval} ({counted})".replace("  ", " ")
