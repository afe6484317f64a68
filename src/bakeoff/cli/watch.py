"""bakeoff watch: measure a baseline again, on a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.gate import Renamed, read_renamed
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.errors import DataError

if TYPE_CHECKING:
    from bakeoff.config.plan import Plan
    from bakeoff.runs.live.watch import WatchFinding, WatchReport


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(with_consent(watch))


@with_json
def watch(
    baseline: Annotated[Path, typer.Argument(help="The folder of the run to compare with.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the new run. [default: runs/NAME-TIME]")
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option("--experiment", help="The run's experiment file. [default: found near the run]"),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", help="Recent questions from users: one per line, or a query file."),
    ] = None,
    margin: Annotated[
        float, typer.Option("--margin", help="The largest loss of the measure that passes.")
    ] = 0.02,
    overlap: Annotated[
        float, typer.Option("--overlap", min=0, max=1, help="The smallest share of unchanged first results.")
    ] = 0.9,
    slower: Annotated[
        float, typer.Option("--slower", min=1, help="The largest slowdown that passes, as a factor.")
    ] = 1.5,
    renamed: Renamed = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings too.")] = False,
    summary: Annotated[Path | None, typer.Option("--summary", help="Write a Markdown summary here.")] = None,
) -> int:
    """Measure a baseline again and report what changed.

    Checks quality, the models' vectors, results, latency and, with --questions, the kind of question.
    Exit 1 if a system failed, quality is not shown to hold or a model changed; with --strict also for warnings.
    """
    import bakeoff
    from bakeoff.runs.gate import require_finished_system
    from bakeoff.runs.live.plan_of_run import plan_of_run
    from bakeoff.runs.live.watch import WatchRules, watch_runs

    plan, _, before = plan_of_run(baseline, experiment)
    require_finished_system(before)
    drift = _question_finding(plan, questions) if questions is not None else None
    after = bakeoff.run(plan, out=out)
    rules = WatchRules(margin=margin, overlap=overlap, slower=slower)
    report = watch_runs(before, after, rules, renamed=read_renamed(renamed), drift=drift)
    if summary is not None:
        summary.write_text(_markdown(report, baseline.name), encoding="utf-8")
    passed = report.passed(strict=strict)
    console.print_json({"passed": passed, "run": str(after.path), "findings": report.findings})
    console.table(
        ["check", "", "finding"],
        [[finding.check, finding.level.value, finding.text] for finding in report.shown],
    )
    console.print_line(f"{'Passed' if passed else 'Failed'}   {after.path} against {baseline}")
    return 0 if passed else 1


def _question_finding(plan: Plan, path: Path) -> WatchFinding:
    from bakeoff import registry
    from bakeoff.runs.live.watch import WatchFinding, WatchLevel, question_drift
    from bakeoff.truth.queries import read_queries

    part = next((system.embedder for system in plan.systems if system.embedder is not None), None)
    if part is None:
        return WatchFinding(
            "questions", WatchLevel.WARNING, "no system has a model to compare questions with"
        )
    judged = [query.text for query in read_queries(plan.queries).queries]
    embedder = registry.load("embedders", part.name)(part.params)
    try:
        return question_drift(judged, read_questions(path), embedder)
    finally:
        embedder.close()


def read_questions(path: Path) -> list[str]:
    """The questions of a query file, or of a text file with one per line."""
    from bakeoff.truth.queries import read_queries

    if path.suffix in {".yaml", ".yml", ".json"}:
        return [query.text for query in read_queries(path).queries]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise DataError(f"{path} cannot be read as UTF-8 text with one question per line: {exc}") from exc
    return [line.strip() for line in text.splitlines() if line.strip()]


def _markdown(report: WatchReport, name: str) -> str:
    from bakeoff.report import gate_summary

    rows = "".join(
        f"| {finding.check} | {finding.level.value} | {finding.text.replace('|', '/')} |\n"
        for finding in report.findings
    )
    return f"# Watch of {name}\n\n| check | | finding |\n|---|---|---|\n{rows}\n{gate_summary.sentence(report.gate)}\n"
