"""The report as Markdown: the same rows, for a repository, a pull request or a diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bakeoff.report.build import Report, build_report
from bakeoff.report.render import number_text as say
from bakeoff.report.sections import findings as find
from bakeoff.report.sections.breakdown import Breakdown
from bakeoff.report.sections.cost_quality import CostQualityPoint
from bakeoff.report.sections.costs import PROMISES, STATISTICS
from bakeoff.report.sections.divergent_queries import DifferingQuery
from bakeoff.report.sections.losses import LossTable
from bakeoff.report.sections.pairs import PairTable
from bakeoff.report.sections.parts import Chart, ReportSection
from bakeoff.report.sections.percentiles import HOW
from bakeoff.report.sections.provenance import Provenance
from bakeoff.report.sections.resources import phase_grid
from bakeoff.report.sections.systems import SystemsTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.markdown_tables import block, bullets, escape_markdown, omitted_rows_note, table
from bakeoff.runs.score_grid import GridMean
from bakeoff.runs.stored_times import SPEED, earlier_phases
from bakeoff.stats.loss import CEILING
from bakeoff.storage.cache import write_file


def write_markdown(result: Result, path: Path | None = None) -> Path:
    """Write the report, by default as report.md in the run's folder, and return its path."""
    target = path or result.path / "report.md"
    write_file(target, text(build_report(result)).encode("utf-8", "replace"))
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
    if report.spread or report.choice:
        yield _spread(report)
    if report.differing:
        yield _differing(report.differing, report.systems.measures[0].label)
    yield _times(report)
    for section in report.extras:
        yield _extra(section)
    yield corpus_and_truth(report.background)
    yield how_it_was_made(report.background, report.systems)


def _title(title: str, finding: str) -> list[str]:
    """The heading of a section, with its finding in bold."""
    return [f"## {title}", "", f"**{escape_markdown(finding)}**", ""]


def _head(report: Report) -> list[str]:
    head = report.headline
    lines = [f"# {escape_markdown(head.question)}", "", escape_markdown(head.summary), ""]
    lines += [f"> **{escape_markdown(head.banner)}**", ""] if head.banner else []
    lines += [f"**{escape_markdown(head.sentence)}**", ""]
    lines += bullets([*(f"{label}: {text}" for label, text in head.lines), *report.decision])
    evidence = [*head.reasons, *([head.without_leaks] if head.without_leaks else [])]
    return [*lines, *(["## The evidence", "", *bullets(evidence)] if evidence else [])]


def _systems(systems: SystemsTable) -> list[str]:
    lines = ["## Systems", ""]
    if systems.rows:
        lines += [f"**{escape_markdown(find.of_systems(systems))}**", ""]
        names = [note.heading for note in systems.measures]
        rows = [
            [row.letter, row.system, *map(_mean, row.means), say.milliseconds(row.p50_ms), say.milliseconds(row.p95_ms),
             say.size(row.index_bytes), *([say.whole(row.vector_bytes)] if systems.several_forms else [])]
            for row in systems.rows
        ]  # fmt: skip
        lines += table(
            [
                "",
                "system",
                *names,
                "p50",
                "p95",
                "index",
                *(["bytes per vector"] if systems.several_forms else []),
            ],
            rows,
            left=2,
        )
    lines += omitted_rows_note(systems.hidden, "systems", "scores.parquet")
    return lines + (table(["failed", "reason"], systems.failed, left=2) if systems.failed else [])


def _pairs(pairs: PairTable) -> list[str]:
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
        [pair.a, pair.b, say.describe_counts(pair.n, len(pair.dropped)), say.score(pair.mean_a), say.score(pair.mean_b),
         f"{say.format_signed(pair.difference)} {say.interval(pair.interval.low, pair.interval.high)}",
         pair.wins, pair.losses, pair.ties, say.p_value(pair.p_corrected), say.score(pair.mdd)]
        for pair in pairs.pairs
    ]  # fmt: skip
    return [
        *_title("Pairs of systems", find.of_differences(pairs)),
        escape_markdown(find.of_wins(pairs)) + ".",
        "",
        *table(headings, rows, left=2),
        *omitted_rows_note(pairs.total - len(pairs.pairs), "pairs", "scores.parquet"),
    ]


def _trades(report: Report) -> Iterator[list[str]]:
    for trade in report.trades:
        yield _trade(trade, report)
    if report.pricing and report.trades:
        yield ["## Quality against cost", "", escape_markdown(report.pricing), ""]


def _trade(trade: CostQualityPoint, report: Report) -> list[str]:
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
    title = _title(f"Quality against {trade.against}", find.of_trade(trade))
    return [*title, *table(headings, rows), *bullets(trade.notes)]


def _breakdown(part: Breakdown, systems: SystemsTable) -> list[str]:
    excluded = [f"{group} ({gone} excluded)" for group, gone in zip(part.groups, part.excluded, strict=True)]
    finding = find.of_breakdown(part, systems.measures[0].higher_is_better)
    lines = _title(f"{systems.measures[0].label} by {part.label}", finding)
    lines += table(["system", *excluded], [(system, *map(_group, means)) for system, means in part.rows])
    if part.others:
        rows = [(measure, system, *map(_group, means)) for measure, system, means in part.others]
        lines += [f"### Other measures by {part.label}", ""]
        lines += table(["measure", "system", *part.groups], rows, left=2)
    return lines + omitted_rows_note(part.hidden, "groups", "scores.parquet")


def _group(mean: GridMean) -> str:
    """The mean of a group; the heading or n shows what it leaves out."""
    interval = say.interval(mean.interval.low, mean.interval.high)
    return f"{say.format_incomplete(mean.value, mean.incomplete)} {interval} (n {mean.n})".replace("  ", " ")


def _ranks(report: Report) -> list[str]:
    ranks = report.ranks
    assert ranks is not None
    rows = [(row.system, *row.counts, say.describe_counts(row.n, row.excluded)) for row in ranks.rows]
    title = _title(f"Rank of the first relevant {ranks.unit}", find.of_ranks(ranks))
    return title + table(["system", *ranks.spans, "questions"], rows)


def _losses(losses: LossTable, measure: str) -> list[str]:
    rows = [
        (
            system,
            say.score(one.start),
            *map(say.score, losses.losses_of(one)),
            say.score(one.end),
            say.describe_counts(one.n, one.dropped),
        )
        for system, one in losses.rows
    ]
    title = _title(f"Where {measure} is lost", find.of_losses(losses))
    return title + table(["system", CEILING, *losses.steps, "served", "questions"], rows)


def _spread(report: Report) -> list[str]:
    lines = ["## What matters most", ""]
    if report.spread:
        rows = [
            (
                factor.factor,
                factor.levels or "–",
                f"{factor.adjusted:.0%}",
                f"[{factor.low:.0%} {factor.high:.0%}]",
            )
            for factor in report.spread.factors
        ]
        lines += [f"**{escape_markdown(find.of_spread(report.spread))}**", ""]
        lines += [*table(["choice", "options", "share of the variation", "interval"], rows), ""]
        lines += [line for note in report.spread.notes for line in (escape_markdown(note), "")]
    choice = [report.choice.sentence] if report.choice else []
    return lines + bullets(choice)


def _alarms(report: Report) -> list[str]:
    rows = [
        (system, one.negatives, say.ABSENT if one.above is None else one.above, say.score(one.auroc))
        for system, one in report.alarms
    ]
    title = _title("Questions without a right answer", find.of_alarms(report.alarms))
    return title + table(["system", "without an answer", "above the threshold", "AUROC"], rows)


def _differing(queries: tuple[DifferingQuery, ...], measure: str) -> list[str]:
    lines = [f"## {find.of_differing(queries)}", ""]
    for query in queries:
        lines += [f"### {escape_markdown(query.query.text)}", ""]
        lines += table(["system", measure], [(system, say.score(value)) for system, value in query.values])
        for returned in query.returned:
            lines += [f"**{escape_markdown(returned.system)}**: {say.score(returned.value)}", ""]
            for passage in returned.passages[:3]:
                mark = " (first relevant)" if passage.first_relevant else ""
                lines += [f"{passage.rank}\\. {escape_markdown(passage.document)} {passage.lines}{mark}", ""]
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
        lines += _title("Latency", find.of_latency(report.latencies))
        lines += [] if report.curves else [escape_markdown(HOW), ""]  # the curves state this too
        lines += table(["system", *names, "samples", *([PROMISES] if promised else [])], rows)
    if report.curves:
        lines += _chart(report.curves)
    if report.phase_rows:
        lines += _title("Ingestion", find.of_phases(report.phases, report.phase_rows))
        grid = phase_grid(report.phases, report.phase_rows)
        lines += table(grid.headings, grid.rows)
        lines += [f"{escape_markdown(note)}.\n" for note in earlier_phases(report.phases, report.phase_rows)]
        earlier = dict.fromkeys(row.speed.note for row in report.phase_rows if row.speed.value)
        lines += [f"{SPEED} {escape_markdown(note)}.\n" for note in earlier if note]
    return lines


def _extra(section: ReportSection) -> list[str]:
    lines = [f"## {section.title}", ""]
    lines += [f"**{escape_markdown(section.finding)}**", ""] if section.finding else []
    for chart in section.charts:
        lines += _chart(chart)
    for grid in section.grids:
        lines += table(grid.headings, grid.rows, grid.left)
    return [*lines, *bullets(section.notes)]


def _chart(chart: Chart) -> list[str]:
    """A figure's finding and its numbers."""
    lines = [f"### {escape_markdown(chart.finding)}", "", escape_markdown(chart.caption), ""]
    return [*lines, *table(chart.grid.headings, chart.grid.rows, chart.grid.left), *bullets(chart.notes)]


def _mean(mean: GridMean) -> str:
    interval = say.interval(mean.interval.low, mean.interval.high)
    counted = say.describe_counts(mean.n, mean.excluded, mean.incomplete)
    return f"{say.format_incomplete(mean.value, mean.incomplete)} {interval} ({counted})".replace("  ", " ")


SIZES = ("chunker", "chunks", "mean", "shortest", "first quartile", "median", "third quartile", "longest")


def corpus_and_truth(back: Provenance) -> list[str]:
    """Chunking, exclusions from the means, rule matches and unread files."""
    lines = ["## Corpus and truth", "", *_chunks(back), *_lengths(back), *_exclusions(back)]
    if back.rules:
        hits = [(hit.query_id, hit.source, hit.rule, hit.hits, hit.documents) for hit in back.rules]
        lines += table(["question", "source", "rule", "hits", "documents"], hits, left=3)
        lines += omitted_rows_note(back.rules_hidden, "rules", "run.json")
    if back.skipped.rows:
        lines += table(["not read", "because"], back.skipped.rows, left=2)
        lines += omitted_rows_note(back.skipped.hidden, "files", "run.json")
    return lines


def _chunks(back: Provenance) -> list[str]:
    if not back.chunkings:
        return []
    rows = [
        (
            chunking.chunker,
            say.whole(chunking.chunks),
            say.whole(chunking.mean),
            *map(say.whole, chunking.quantiles),
        )
        for chunking in back.chunkings
    ]
    return [f"**{escape_markdown(find.of_chunks(back.chunkings))}**", "", *table(SIZES, rows)]


def _lengths(back: Provenance) -> list[str]:
    if not back.lengths:
        return []
    rows = [
        (length.embedder, length.chunker, length.max_tokens or "none", length.quantiles[2], f"{length.cut_chunks:.0%}",
         f"{length.cut:.0%}")
        for length in back.lengths
    ]  # fmt: skip
    headings = ["model", "chunker", "limit in tokens", "median", "chunks cut", "text cut off"]
    return ["", f"**{escape_markdown(find.of_lengths(back.lengths))}**", "", *table(headings, rows)]


def _exclusions(back: Provenance) -> list[str]:
    if not back.exclusions:
        return []
    rows = [
        (
            exclusion.reason,
            ", ".join(exclusion.queries) + (f" and {exclusion.hidden:,} more" if exclusion.hidden else ""),
            ", ".join(exclusion.measures),
        )
        for exclusion in back.exclusions
    ]
    return table(["excluded because", "questions", "from the means of"], rows, left=3)


def how_it_was_made(back: Provenance, systems: SystemsTable) -> list[str]:
    """Measures, conventions, run and environment, the experiment file, and the command that rewrites the report."""
    lines = ["## How it was made", ""]
    lines += table(
        ["measure", "meaning", "truth"], [(n.label, n.meaning, n.sources) for n in systems.measures], left=3
    )
    for heading, rows in (
        ("conventions", back.conventions),
        ("run", back.identity),
        ("environment", back.environment),
    ):
        lines += table([heading, ""], rows, left=2)
    lines += [
        *block(back.experiment),
        "To write the report again, run in the folder that contains the run:",
        "",
    ]
    return lines + block(back.command)
