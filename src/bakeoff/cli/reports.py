"""bakeoff report, final-report, compare, diff: read stored runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import Trust, with_json
from bakeoff.cli.options.truth import Review, Reviews, Truth, TruthChoice, comparable_runs, print_truth
from bakeoff.cli.options.workers import Statistics, workers_of
from bakeoff.errors import DataError, SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.review.reviewed_run import ComparableRuns
    from bakeoff.runs.analysis import Result
    from bakeoff.stats.comparison import Comparison, PairComparison


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(report)
    app.command("final-report")(final_report)
    app.command()(compare)
    app.command()(diff)


FORMATS = ("html", "md", "latex", "svg", "png", "pdf")
USUAL_FORMATS = "html,md"


Run = Annotated[Path, typer.Argument(help="A run's folder.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the files. [default: the run's]")]
Formats = Annotated[str, typer.Option("--format", help=f"Comma-separated: {', '.join(FORMATS)}.")]
With = Annotated[
    list[Path] | None,
    typer.Option("--with", help="A result folder of `bakeoff scale`, copied to RUN/scale. Repeatable."),
]


def report(
    run: Run,
    out: Out = None,
    formats: Formats = USUAL_FORMATS,
    brief: Annotated[
        bool, typer.Option("--brief", help="Write one page for people who decide: brief.html, .md and .pdf.")
    ] = False,
    measured: With = None,
    current: Annotated[
        str | None,
        typer.Option(
            "--current",
            metavar="SYSTEM",
            help="Preset lineage: the system in use today, for the decision matrix.",
        ),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option("--also", metavar="RUN", help="Another run with the same truth. Repeatable."),
    ] = None,
    truth: Truth = TruthChoice.REVIEWED,
    review: Reviews = None,
    executor: Statistics = None,
    trust: Trust = False,
) -> None:
    """Write the report of a run: HTML, Markdown, LaTeX, figures."""
    from bakeoff.presets.lineage.decision_matrix import is_lineage
    from bakeoff.report.render.brief import write_brief
    from bakeoff.report.render.write import write
    from bakeoff.report.run_history import runs_section
    from bakeoff.report.sections.scaling import attach
    from bakeoff.review.reviewed_run import open_runs, same_truth
    from bakeoff.runs.compare_runs import compare_runs

    wanted = _brief_formats(formats) if brief else _formats(formats)
    folder = out or run
    first, *others = open_runs(
        [run, *(also or ())], workers_of(executor), trust=trust, reviews=review or (), truth=truth.value
    )
    result = first.with_current(current)
    if current and not is_lineage(result):
        raise SettingError(f"--current needs a run of the preset lineage; {run} is not one.")
    for folder_of_sizes in measured or ():
        attach(run, folder_of_sizes)
    folder.mkdir(parents=True, exist_ok=True)
    runs = same_truth([result, *others])
    if brief:
        paths = write_brief(result, folder, wanted)
    else:
        more = (runs_section(compare_runs(runs.results), runs.sentence),) if others else ()
        paths = write(result, folder, wanted, more)
    _print_paths(paths)


def final_report(
    run: Run,
    out: Out = None,
    formats: Formats = USUAL_FORMATS,
    measured: With = None,
    review: Review = None,
    trust: Trust = False,
) -> None:
    """Write the report of a run, scored by its human review.

    Prints what the run recommends by that truth.
    """
    from bakeoff.cli.views.summary import print_result
    from bakeoff.report.render.write import write
    from bakeoff.report.sections.scaling import attach
    from bakeoff.review.review_folder import open_review
    from bakeoff.review.reviewed_run import open_runs

    open_review(review or run)
    wanted = _formats(formats)
    (result,) = open_runs([run], trust=trust, reviews=[review] if review else ())
    for folder_of_sizes in measured or ():
        attach(run, folder_of_sizes)
    folder = out or run
    folder.mkdir(parents=True, exist_ok=True)
    paths = write(result, folder, wanted)
    print_result(result, None, verbose=True)
    _print_paths(paths)


def _print_paths(paths: Sequence[Path]) -> None:
    for number, path in enumerate(paths):
        console.print_line(f"{'Report' if number == 0 else '':<9}{path}")


def _brief_formats(text: str) -> list[str]:
    """The formats of the one-page brief: those requested, or all that this machine can write."""
    from bakeoff.report.render.brief import FORMATS as PAGES
    from bakeoff.report.render.brief import usual_formats

    if text == USUAL_FORMATS:
        return usual_formats()
    wanted = _formats(text)
    if unknown := [word for word in wanted if word not in PAGES]:
        raise SettingError(f"--brief is not written as {unknown[0]}. Choose from {', '.join(PAGES)}.")
    return wanted


def _formats(text: str) -> list[str]:
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in wanted if word not in FORMATS]
    if unknown or not wanted:
        raise SettingError(f"{text!r} is not a format. Choose from {', '.join(FORMATS)}.")
    return list(dict.fromkeys(wanted))


What = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN A B | FILE FILE…",
        help="A run's folder and two of its systems (letters of its table, or words that match only one); or files "
        "of other tools: rankings (TREC, JSON lines, Parquet, a run's folder) with --qrels, or tables of scores per "
        "query (CSV, TSV, JSON, Parquet).",
    ),
]
Measure = Annotated[
    str | None,
    typer.Option(
        "--measure", "-m", help="Measure to compare. [default: the run's primary; nDCG@10 with --qrels]"
    ),
]
Qrels = Annotated[
    Path | None, typer.Option("--qrels", help="Judgments for the files: TREC qrels, BEIR tsv or Parquet.")
]
Preset = Annotated[str | None, typer.Option(help="Scoring conventions for the files, such as trec_eval.")]
Missing = Annotated[
    str,
    typer.Option(
        help="A query that one file lacks: refuse, zero (score 0) or leave-out (pairs use the queries both have)."
    ),
]
ScoreRange = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="LOW,HIGH",
        help="Range of a measure that bakeoff does not know, or none. [default: 0,1]",
    ),
]
LowerIsBetter = Annotated[
    bool,
    typer.Option("--lower-is-better", help="For a measure that bakeoff does not know: low scores are good."),
]
CompareOut = Annotated[
    Path | None,
    typer.Option("--out", help="With --qrels: also write a run's folder with its report here."),
]


@with_json
def compare(
    what: What,
    measure: Measure = None,
    qrels: Qrels = None,
    preset: Preset = None,
    missing: Missing = "refuse",
    score_range: ScoreRange = None,
    lower_is_better: LowerIsBetter = False,
    out: CompareOut = None,
    truth: Truth = TruthChoice.REVIEWED,
    review: Review = None,
    executor: Statistics = None,
    trust: Trust = False,
) -> None:
    """Compare two systems of a run, or files of other tools."""
    from bakeoff.cli.compare_files import compare_files
    from bakeoff.review.reviewed_run import open_reviewed

    if qrels is None and _is_run(what):
        if preset or missing != "refuse" or score_range or lower_is_better:
            raise SettingError("--preset, --missing, --range and --lower-is-better apply only to files.")
        if len(what) != 3:
            raise SettingError(f"a run's folder needs two systems after it; {len(what) - 1} given.")
        result = open_reviewed(what[0], workers_of(executor), trust=trust, review=review, truth=truth.value)
        _compare_systems(result, what[1:], measure)
        return
    if trust or executor or review or truth is not TruthChoice.REVIEWED:
        raise SettingError("--trust, --executor, --review and --truth apply only to a run's folder.")
    folder = next((name for name in what if Path(name).is_dir()), None)
    if folder and qrels is None:
        raise SettingError(
            f"{folder} is a folder. Give files, or a run's folder first and two of its systems; with --qrels, a run's "
            "folder is compared like a file of rankings."
        )
    if out is not None and qrels is None:
        raise SettingError("--out is for rankings: give their judgments too (--qrels).")
    compare_files(
        files=what,
        measure=measure,
        qrels=qrels,
        preset=preset,
        missing=missing,
        score_range=score_range,
        lower_is_better=lower_is_better,
        out=out,
    )


def _is_run(what: list[str]) -> bool:
    """Whether the first argument is meant as a run's folder, even if it does not exist."""
    first = Path(what[0])
    return first.is_dir() or (len(what) == 3 and not first.exists() and not Path(what[1]).is_file())


def _compare_systems(result: Result, systems: list[str], measure: str | None) -> None:
    from bakeoff.cli.compare_files import print_pair
    from bakeoff.runs.analysis import compare as compare_systems

    pair = compare_systems(result, systems[0], systems[1], measure)
    name = result.measure(measure or result.record.primary)
    incomplete = len(result.incomplete(name))
    figures = {"effective_n": pair.effective_n, "incomplete_truth": incomplete, "truth": result.truth}
    console.print_json({**asdict(pair), **figures})
    print_pair(pair, name, incomplete)
    if result.reviewed:
        print_truth(result.reviewed.sentence)


Every = Annotated[
    bool,
    typer.Option("--all-systems", help="Compare all systems of the runs, not only those they share."),
]
AllowMixed = Annotated[
    bool, typer.Option("--allow-mixed", help="Compare even if the scoring conventions differ.")
]


@with_json
def diff(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN…", help="The folders of two or more runs.")],
    every: Every = False,
    measure: Annotated[
        str | None, typer.Option("--measure", "-m", help="Measure to compare. [default: the primary one]")
    ] = None,
    allow_mixed: AllowMixed = False,
    truth: Truth = TruthChoice.REVIEWED,
    review: Reviews = None,
    trust: Trust = False,
) -> None:
    """Compare two or more runs, paired by question.

    Two runs: what each shared system gained or lost. More runs: all systems, each against the best.
    """
    if len(runs) < 2:
        raise SettingError(f"diff compares two or more runs; {len(runs)} given.")
    opened = comparable_runs(runs, review, truth, trust=trust)
    if every or len(runs) > 2 or not set(opened.results[0].done) & set(opened.results[1].done):
        _print_runs(opened, measure, allow_mixed)
        return
    _print_two_runs(opened, measure, allow_mixed)


def _print_two_runs(opened: ComparableRuns, measure: str | None, allow_mixed: bool) -> None:
    """What each system measured in both runs gained or lost."""
    from bakeoff.runs.compare_runs import changed_models, compare_across
    from bakeoff.stats.number_format import describe_clusters

    one, other = opened.results
    comparison = compare_across(one, other, measure, allow_mixed=allow_mixed)
    shared = [name.removesuffix(f" @ {one.record.run}") for name in _of(comparison, one.record.run)]
    pairs = [comparison.pair(f"{s} @ {other.record.run}", f"{s} @ {one.record.run}") for s in shared]
    if not any(pair.n for pair in pairs):
        raise DataError(
            f"{one.path} and {other.path} share no question scored by {comparison.measure}."
            " Compare runs of the same query file."
        )
    extra = {"truth": opened.truth, "changed_models": changed_models(one.record, other.record)}
    console.print_json([{**asdict(pair), "effective_n": pair.effective_n, **extra} for pair in pairs])
    headers = ["system", "before", "after", "difference", "interval", "better / worse / equal"]
    rows = [[system, *_pair_cells(pair)] for system, pair in zip(shared, pairs, strict=True)]
    console.print_line(f"{comparison.measure}: {one.record.run} → {other.record.run}")
    console.table(headers, rows, right=(1, 2, 3, 4, 5))
    if comparison.questions is not None and comparison.questions.clusters < comparison.questions.questions:
        console.print_line(f"{describe_clusters(comparison.questions)}.")
    print_truth(opened.sentence)
    for note in changed_models(one.record, other.record):
        console.warn(note)


def _pair_cells(pair: PairComparison) -> list[str]:
    """Before, after, the difference with its interval, and how many questions each side won."""
    low, high = pair.interval.low, pair.interval.high
    interval = f"[{low:.3f} {high:.3f}]" if low is not None and high is not None else "no interval"
    values = [_format_value(value) for value in (pair.mean_b, pair.mean_a, pair.difference)]
    return [*values, interval, f"{pair.wins} / {pair.losses} / {pair.ties}"]


def _print_runs(opened: ComparableRuns, measure: str | None, allow_mixed: bool) -> None:
    """Print all systems of several runs, best first, each against the best."""
    from bakeoff.report.run_history import comparison_json, runs_grid
    from bakeoff.runs.compare_runs import compare_runs
    from bakeoff.stats.number_format import describe_clusters

    found = compare_runs(opened.results, measure, allow_mixed=allow_mixed)
    console.print_json(lambda: {**comparison_json(found), "truth": opened.truth})
    grid = runs_grid(found)
    console.print_line(f"{found.comparison.measure} of {len(opened.results)} runs, paired by question")
    console.table(list(grid.headings), [list(row) for row in grid.rows], right=tuple(range(3, 8)))
    questions = found.comparison.questions
    if questions is not None and questions.clusters < questions.questions:
        console.print_line(f"{describe_clusters(questions)}.")
    print_truth(opened.sentence)


def _of(comparison: Comparison, run: str) -> list[str]:
    return [summary.system for summary in comparison.systems if summary.system.endswith(f" @ {run}")]


def _format_value(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
