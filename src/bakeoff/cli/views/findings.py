"""A validation on the terminal and as JSON: facts, ceilings and power, findings, and whether it can run."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path

from bakeoff.cli import console
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
from bakeoff.runtime.count_text import count

FEW_QUERIES = 15
SHOWN = 8
_STYLE = {"error": "bold red", "warning": "yellow", "note": "dim"}


def report_json(report: ValidationReport, *, strict: bool) -> dict[str, object]:
    """The report as JSON."""
    counts = {f"{level}s": len(report.of(level)) for level in LEVELS}
    return {"ready": not report.faults(strict=strict), **counts, **asdict(report)}


def print_report(report: ValidationReport, experiment: Path, *, strict: bool, verbose: bool) -> None:
    """Print the whole report."""
    _print_facts(report)
    _print_ceilings(report)
    if report.power is not None:
        _print_power(report.power)
    _print_queries(report, verbose)
    for level in LEVELS:
        _print_findings(level, report.of(level), verbose)
    _print_end(report, experiment, strict)


def print_query_file(report: ValidationReport, *, strict: bool, verbose: bool) -> None:
    """Print the report of a query file without an experiment."""
    counts = Counter(
        {row.category or "without category": sum(row.counts.values()) for row in report.automation}
    )
    if counts:
        _line("queries", f"{sum(counts.values()):,}: {_format_counts(counts)}")
        _line("", _by_rules(report))
        console.print_line()
    for level in LEVELS:
        _print_findings(level, report.of(level), verbose)
    faults = report.faults(strict=strict)
    if faults:
        console.print_line(f"{report.name}: {count(faults, 'error')}", style="bold red")
    else:
        console.print_line(f"{report.name}: valid", style="bold green")


def _print_facts(report: ValidationReport) -> None:
    if report.corpus is None:
        return
    corpus = report.corpus
    files = sum(group.files for group in corpus.skipped)
    skipped = f" · {count(files, 'file')} skipped" if files else ""
    language = f" · {corpus.language}" if corpus.language else ""
    size = f"{count(corpus.documents, 'document')}, {corpus.characters:,} characters"
    _line("corpus", f"{size}{language}{skipped}")
    if corpus.chunks:
        _line("chunks", " · ".join(f"{label} {number:,}" for label, number in corpus.chunks.items()))
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
    """How many questions are easy, medium and hard, next to what the file declares."""
    counts = Counter(row.difficulty for row in report.queries if row.difficulty)
    levels = []
    for level in dict.fromkeys([*report.declared_mix, *sorted(counts)]):
        declared = report.declared_mix.get(level)
        share = (
            f" ({counts[level] / len(report.queries):.0%}, declared {declared:.0%})"
            if declared is not None
            else ""
        )
        levels.append(f"{counts[level]:,} {level}{share}")
    return ", ".join(levels)


def _truth(report: ValidationReport) -> str:
    rules = {(row.query, row.rule) for row in report.rules}
    executed = f"{count(len(rules), 'rule')} executed"
    counts = sorted(row.documents for row in report.queries if row.state == "judged")
    if not counts:
        return executed
    middle = counts[len(counts) // 2]
    return f"{executed} · documents per question: {counts[0]} to {counts[-1]:,}, median {middle}"


def _by_rules(report: ValidationReport) -> str:
    """How many questions rules can judge without people, and which categories need people."""
    counts: Counter[str] = Counter()
    for row in report.automation:
        counts.update(row.counts)
    text = f"judged by rules alone: {counts['yes']:,} by location"
    text += f", {counts['mostly']:,} by words with an expected count" if counts["mostly"] else ""
    text += f", {counts['partly']:,} by words only" if counts["partly"] else ""
    text += f", {counts['no']:,} not yet" if counts["no"] else ""
    needed = [
        row.category for row in report.automation if row.category and row.counts["partly"] + row.counts["no"]
    ]
    return text + (f" · people needed for {', '.join(needed)}" if needed else "")


def _print_ceilings(report: ValidationReport) -> None:
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
    targets = [t for t in report.targets if t.measure == row.measure and not t.query]
    target, remark = ("", "")
    if targets:
        target = f"{targets[0].wanted:g}"
        remark = "" if targets[0].reachable else "can't be reached"
        remark += f" ({targets[0].origin})" if targets[0].origin != "experiment" else ""
    return [row.measure, *([row.chunker] if chunkers else []), best, queries, target, remark.strip()]


def _print_power(power: Power) -> None:
    one, every = power.detectable, power.detectable_of_all
    together = f" in {power.clusters:,} clusters" if power.clusters < power.queries else ""
    among = f"; among all {power.pairs:,} pairs, {_undetected_text(every)}" if power.pairs > 1 else ""
    text = (
        f"With {count(power.queries, 'question')}{together}, {_undetected_text(one)}"
        f" in {power.measure} between two systems go undetected{among} (80 % power). "
        f"Standard deviation of paired differences {power.spread:.2f}, {power.basis}."
    )
    assumed = " A first run measures it: bakeoff validate --pilot RUN_FOLDER."
    _line("power", text + (assumed if power.basis.startswith("assumed") else ""))
    console.print_line()


def _undetected_text(difference: float) -> str:
    return f"differences below {difference:.2f}" if difference < 1 else "all differences"


def _print_queries(report: ValidationReport, verbose: bool) -> None:
    """Print all queries if they are few or --verbose is given, else those with findings."""
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
    hits = ", ".join(f"{label} {number:,}" if label else f"{number:,}" for label, number in row.hits.items())
    return [row.id, row.category, f"{row.documents:,}", hits if row.state == "judged" else row.state]


def _rule(row: RuleRow) -> list[str]:
    return [row.query, row.rule, row.source, row.chunker, f"{row.hits:,}", f"{row.documents:,}"]


def _print_findings(level: Level, findings: tuple[Finding, ...], verbose: bool) -> None:
    """Print the findings of a level; of each kind, only the first few."""
    if not findings:
        return
    console.print_line(count(len(findings), level), style=_STYLE[level])
    for code in dict.fromkeys(finding.code for finding in findings):
        same = [finding for finding in findings if finding.code == code]
        for finding in same if verbose else same[:SHOWN]:
            console.print_paragraph(_sentence(finding), "  ", "    ")
        if len(same) > SHOWN and not verbose:
            console.print_line(
                f"  … and {len(same) - SHOWN:,} more of this kind ({code}); --verbose shows them"
            )
    console.print_line()


def _sentence(finding: Finding) -> str:
    """A finding with its position, if the text does not start with that."""
    named = finding.message.startswith(finding.where)
    return finding.message if named else f"{finding.where}: {finding.message}"


def _print_end(report: ValidationReport, experiment: Path, strict: bool) -> None:
    faults = report.faults(strict=strict)
    if not faults:
        where = "" if experiment == Path("bakeoff.yaml") else f" {experiment}"
        console.print_line(f"ready: bakeoff run{where}", style="bold green")
        return
    warnings = len(report.of("warning")) if strict else 0
    counted = count(faults, "error")
    counted += f" ({warnings:,} of them warnings, by --strict)" if warnings else ""
    console.print_line(f"{counted}: not ready to run", style="bold red")


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.most_common())


def _line(name: str, text: str) -> None:
    console.print_paragraph(text, f"{name:<10}")
