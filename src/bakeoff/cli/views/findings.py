"""How a validation reads: facts first, then what can be reached and shown, then what is wrong, then one last line."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bakeoff.cli import console
from bakeoff.cli.views.sanitise import one_line
from bakeoff.runs.checks.findings import (
    LEVELS,
    Ceiling,
    Finding,
    Level,
    Power,
    RuleRow,
    TruthRow,
    ValidationReport,
)

WIDTH = 106
FEW_QUERIES = 15
SHOWN = 8
_STYLE = {"error": "bold red", "warning": "yellow", "note": "dim"}


def report_json(report: ValidationReport, *, strict: bool) -> dict[str, Any]:
    """The report for a script."""
    counts = {f"{level}s": len(report.of(level)) for level in LEVELS}
    return {"ready": not report.faults(strict=strict), **counts, **asdict(report)}


def say_report(report: ValidationReport, experiment: Path, *, strict: bool, verbose: bool) -> None:
    """Print everything, calmly."""
    _say_facts(report)
    _say_ceilings(report)
    if report.power is not None:
        _say_power(report.power)
    _say_queries(report, verbose)
    for level in LEVELS:
        _say_findings(level, report.of(level), verbose)
    _say_end(report, experiment, strict)


def say_query_file(report: ValidationReport, *, strict: bool, verbose: bool) -> None:
    """Print what is known of a query file that was checked by itself."""
    counts = Counter(
        {row.category or "without category": sum(row.counts.values()) for row in report.automation}
    )
    if counts:
        _line("queries", f"{sum(counts.values()):,}: {_format_counts(counts)}")
        _line("", _by_rules(report))
        console.print_line()
    for level in LEVELS:
        _say_findings(level, report.of(level), verbose)
    faults = report.faults(strict=strict)
    if faults:
        console.print_line(f"{report.name}: {faults:,} error{'' if faults == 1 else 's'}", style="bold red")
    else:
        console.print_line(f"{report.name}: valid", style="bold green")


def _say_facts(report: ValidationReport) -> None:
    if report.corpus is None:
        return
    corpus = report.corpus
    files = sum(one.files for one in corpus.skipped)
    skipped = f" · {files:,} file{'' if files == 1 else 's'} skipped" if files else ""
    _line("corpus", f"{corpus.documents:,} documents, {corpus.characters:,} characters{skipped}")
    if corpus.chunks:
        _line("chunks", " · ".join(f"{label} {count:,}" for label, count in corpus.chunks.items()))
    states: Counter[str] = Counter(row.state for row in report.queries)
    synthetic = sum(row.synthetic for row in report.queries)
    kinds = _format_counts(states) + (f" · {synthetic} synthetic" if synthetic else "")
    _line("queries", f"{len(report.queries):,}: {kinds}")
    categories = Counter(row.category for row in report.queries if row.category)
    for text in (_mix(report), _format_counts(categories)):
        if text:
            _line("", text)
    _line("truth", _truth(report))
    _line("", _by_rules(report))
    _line("systems", f"{report.systems:,}")
    console.print_line()


def _mix(report: ValidationReport) -> str:
    """How many queries are easy, medium and hard, beside what the file declares."""
    counts = Counter(row.difficulty for row in report.queries if row.difficulty)
    said = []
    for level in dict.fromkeys([*report.declared_mix, *sorted(counts)]):
        declared = report.declared_mix.get(level)
        share = (
            f" ({counts[level] / len(report.queries):.0%}, declared {declared:.0%})"
            if declared is not None
            else ""
        )
        said.append(f"{counts[level]:,} {level}{share}")
    return ", ".join(said)


def _truth(report: ValidationReport) -> str:
    rules = {(row.query, row.rule) for row in report.rules}
    executed = f"{len(rules):,} rule{'' if len(rules) == 1 else 's'} executed"
    found = sorted(row.documents for row in report.queries if row.state == "judged")
    if not found:
        return executed
    middle = found[len(found) // 2]
    return f"{executed} · documents a query: {found[0]} to {found[-1]:,}, median {middle}"


def _by_rules(report: ValidationReport) -> str:
    """How many queries rules can judge without people, and which categories they can not."""
    counts: Counter[str] = Counter()
    for row in report.automation:
        counts.update(row.counts)
    said = f"judged by rules alone: {counts['yes']:,} by named places"
    said += f", {counts['mostly']:,} by words with a count to hold them to" if counts["mostly"] else ""
    said += f", {counts['partly']:,} by words only" if counts["partly"] else ""
    said += f", {counts['no']:,} not yet" if counts["no"] else ""
    needed = [
        row.category for row in report.automation if row.category and row.counts["partly"] + row.counts["no"]
    ]
    return said + (f" · people needed for {', '.join(needed)}" if needed else "")


def _say_ceilings(report: ValidationReport) -> None:
    if not report.ceilings:
        return
    chunkers = any(row.chunker for row in report.ceilings)
    headers = ["measure", *(["chunker"] if chunkers else []), "best possible", "queries", "target", ""]
    rows = [_ceiling(row, report, chunkers) for row in report.ceilings]
    right = tuple(range(1 + chunkers, 4 + chunkers))
    console.table(headers, rows, right=right)
    some = [target for target in report.targets if target.query]
    if some:
        reached = sum(target.reachable for target in some)
        console.print_line(
            f"{some[0].origin}: {reached} of {len(some)} minimums of {some[0].measure} can be reached"
        )
    console.print_line()


def _ceiling(row: Ceiling, report: ValidationReport, chunkers: bool) -> list[str]:
    best = "–" if row.best is None else f"{row.best:.3f}"
    queries = f"{row.queries:,}" if row.queries else "–"
    wanted = [t for t in report.targets if t.measure == row.measure and not t.query]
    target, said = ("", "")
    if wanted:
        target = f"{wanted[0].wanted:g}"
        said = "" if wanted[0].reachable else "can't be reached"
        said += f" ({wanted[0].origin})" if wanted[0].origin != "experiment" else ""
    return [row.measure, *([row.chunker] if chunkers else []), best, queries, target, said.strip()]


def _say_power(power: Power) -> None:
    one, every = power.detectable, power.detectable_of_all
    shown = (
        f"a difference of {one:.2f} in {power.measure}" if one < 1 else f"no difference in {power.measure}"
    )
    of_all = f"of {every:.2f}" if every < 1 else "none"
    together = f" in {power.clusters:,} clusters" if power.clusters < power.queries else ""
    text = (
        f"{power.queries:,} queries{together} show {shown} between two"
        f" systems, and {of_all} among all {power.pairs:,} pairs (80 % power)."
        f" Spread of paired differences {power.spread:.2f}, {power.basis}."
    )
    assumed = " A first run tells the true spread: bakeoff validate --pilot RUN_FOLDER."
    _paragraph(text + (assumed if power.basis.startswith("assumed") else ""), "power     ")
    console.print_line()


def _say_queries(report: ValidationReport, verbose: bool) -> None:
    """All queries where they are few or asked for, else those that something is wrong with."""
    wrong = {
        f.where.rpartition("query ")[2] for f in report.findings if f.level != "note" and "query " in f.where
    }
    rows = report.queries if verbose or len(report.queries) <= FEW_QUERIES else ()
    rows = rows or tuple(row for row in report.queries if row.id in wrong)[:FEW_QUERIES]
    if not rows:
        return
    console.table(["query", "category", "documents", "hits"], [_query(row) for row in rows], right=(2,))
    if verbose:
        console.print_line()
        console.table(
            ["query", "rule", "source", "chunker", "hits", "documents"],
            [_rule(row) for row in report.rules],
            right=(4, 5),
        )
    console.print_line()


def _query(row: TruthRow) -> list[str]:
    hits = ", ".join(f"{label} {count:,}" if label else f"{count:,}" for label, count in row.hits.items())
    return [row.id, row.category, f"{row.documents:,}", hits if row.state == "judged" else row.state]


def _rule(row: RuleRow) -> list[str]:
    return [row.query, row.rule, row.source, row.chunker, f"{row.hits:,}", f"{row.documents:,}"]


def _say_findings(level: Level, findings: tuple[Finding, ...], verbose: bool) -> None:
    """The findings of a level; of a kind that there are many of, the first."""
    if not findings:
        return
    console.print_line(f"{len(findings):,} {level}{'' if len(findings) == 1 else 's'}", style=_STYLE[level])
    for code in dict.fromkeys(finding.code for finding in findings):
        same = [finding for finding in findings if finding.code == code]
        for finding in same if verbose else same[:SHOWN]:
            _paragraph(_sentence(finding), "  ", "    ")
        if len(same) > SHOWN and not verbose:
            console.print_line(
                f"  … and {len(same) - SHOWN:,} more of this kind ({code}); --verbose shows them"
            )
    console.print_line()


def _sentence(finding: Finding) -> str:
    """What was found, with its place where the text does not begin with it."""
    named = finding.message.startswith(finding.where)
    return finding.message if named else f"{finding.where}: {finding.message}"


def _say_end(report: ValidationReport, experiment: Path, strict: bool) -> None:
    faults = report.faults(strict=strict)
    if not faults:
        where = "" if experiment == Path("bakeoff.yaml") else f" {experiment}"
        console.print_line(f"ready: bakeoff run{where}", style="bold green")
        return
    warnings = len(report.of("warning")) if strict else 0
    counted = f"{faults:,} error{'' if faults == 1 else 's'}"
    counted += f" ({warnings:,} of them warnings, by --strict)" if warnings else ""
    console.print_line(f"{counted}: not ready to run", style="bold red")


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


def _line(name: str, text: str) -> None:
    _paragraph(text, f"{name:<10}", " " * 10)


def _paragraph(text: str, first: str, rest: str = " " * 10) -> None:
    lines: Iterable[str] = textwrap.wrap(
        one_line(text),
        min(WIDTH, console.out.width),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print_line(line)
