"""bakeoff compare, diff: two systems of a run, files of other tools, or several runs, paired by question."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import Trust, with_json
from bakeoff.cli.options.truth import (
    AllowMixed,
    Review,
    Reviews,
    Truth,
    TruthChoice,
    comparable_runs,
    print_truth,
)
from bakeoff.cli.options.workers import Statistics, workers_of
from bakeoff.errors import DataError, SettingError
from bakeoff.runtime.count_text import count, decimal, decimal_range

if TYPE_CHECKING:
    from bakeoff.review.reviewed_run import ComparableRuns
    from bakeoff.runs.analysis import Result
    from bakeoff.runs.score_files import ScoreComparison
    from bakeoff.stats.clusters import EffectiveQuestions
    from bakeoff.stats.comparison import PairComparison

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
Out = Annotated[
    Path | None,
    typer.Option("--out", help="With --qrels: also write a run's folder with its report here."),
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(compare)
    app.command()(diff)


@with_json
def compare(
    what: What,
    measure: Measure = None,
    qrels: Qrels = None,
    preset: Preset = None,
    missing: Missing = "refuse",
    score_range: ScoreRange = None,
    lower_is_better: LowerIsBetter = False,
    out: Out = None,
    truth: Truth = TruthChoice.REVIEWED,
    review: Review = None,
    executor: Statistics = None,
    trust: Trust = False,
) -> None:
    """Compare two systems of a run, or files of other tools."""
    from bakeoff.review.reviewed_run import open_reviewed
    from bakeoff.runs.file_run import write_file_run
    from bakeoff.runs.score_files import compare_scores

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
    files = [Path(name) for name in what]
    outcome = compare_scores(
        files,
        measure,
        qrels=qrels,
        preset=preset,
        missing=missing,  # type: ignore[arg-type]  # compare_scores refuses other words
        score_range=_parse_range(score_range),
        lower_is_better=lower_is_better,
    )
    console.print_json(lambda: _outcome_json(outcome))
    _print_outcome(outcome)
    if out is not None:
        _write_report(write_file_run(out, files, measure, qrels=qrels, preset=preset, missing=missing), out)


def _is_run(what: list[str]) -> bool:
    """Whether the first argument is meant as a run's folder, even if it does not exist."""
    first = Path(what[0])
    return first.is_dir() or (len(what) == 3 and not first.exists() and not Path(what[1]).is_file())


def _write_report(result: Result, folder: Path) -> None:
    from bakeoff.report.render.write import write

    console.print_paths("Report", write(result, folder, ["html", "md"]))


def _compare_systems(result: Result, systems: list[str], measure: str | None) -> None:
    from bakeoff.runs.analysis import compare as compare_systems

    pair = compare_systems(result, systems[0], systems[1], measure)
    name = result.measure(measure or result.record.primary)
    incomplete = len(result.incomplete(name))
    console.print_json({**_pair_json(pair), "incomplete_truth": incomplete, "truth": result.truth})
    print_pair(pair, name, incomplete)
    if result.reviewed:
        print_truth(result.reviewed.sentence)


def _parse_range(text: str | None) -> tuple[float, float] | None:
    """LOW,HIGH as numbers; None for `none`; 0 to 1 by default."""
    if text is None:
        return (0.0, 1.0)
    if text == "none":
        return None
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError as exc:
        raise SettingError(f"--range is {text!r}; write LOW,HIGH, for example 0,100, or none.") from exc
    return low, high


def _outcome_json(outcome: ScoreComparison) -> dict[str, object]:
    from bakeoff.cli.views.summary_json import mean_json, verdict_json

    comparison = outcome.comparison
    return {
        "measure": comparison.measure,
        "systems": [{"system": summary.system, **mean_json(summary)} for summary in comparison.systems],
        "pairs": [_pair_json(pair) for pair in comparison.pairs],
        "verdict": verdict_json(outcome.verdict),
        "conventions": outcome.conventions.to_dict() if outcome.conventions else None,
        "seed": comparison.seed,
        "notes": outcome.notes,
    }


def _pair_json(pair: PairComparison) -> dict[str, object]:
    return {**asdict(pair), "effective_n": pair.effective_n}


def _print_outcome(outcome: ScoreComparison) -> None:
    """Print systems, pairs and the verdict."""
    from bakeoff.cli.views.summary import print_field, print_verdict_of

    comparison = outcome.comparison
    if len(comparison.systems) == 2:
        names = comparison.ranking if len(comparison.ranking) == 2 else [s.system for s in comparison.systems]
        print_pair(comparison.pair(names[0], names[1]), comparison.measure)
    else:
        _print_systems(outcome)
    print_verdict_of(outcome.verdict)
    for note in outcome.notes:
        print_field("Note", note)


def _print_systems(outcome: ScoreComparison) -> None:
    from bakeoff.cli.views.summary import mean_text
    from bakeoff.stats.number_format import probability

    comparison = outcome.comparison
    unranked = [summary.system for summary in comparison.systems if summary.system not in comparison.ranking]
    summaries = [comparison.summary(name) for name in (*comparison.ranking, *unranked)]
    rows = [[summary.system, mean_text(summary, interval=True), str(summary.n)] for summary in summaries]
    console.table(["system", comparison.measure, "questions"], rows, right=(1, 2))
    pairs = [
        [
            f"{pair.a} − {pair.b}",
            decimal(pair.difference, 4),
            decimal_range(pair.interval.low, pair.interval.high, 4),
            _wins(pair),
            probability(pair.p_holm),
        ]
        for pair in comparison.pairs
    ]
    headers = ["pair", "difference", "interval", "better / worse / equal", "p (Holm)"]
    console.table(headers, pairs, right=(1, 2, 3, 4))


def _wins(pair: PairComparison) -> str:
    return f"{pair.wins} / {pair.losses} / {pair.ties}"


def print_pair(pair: PairComparison, name: str, incomplete: int = 0) -> None:
    """Print one pair of systems; `incomplete` counts questions whose truth names unread documents."""
    from bakeoff.report.sections.pairs import pair_facts

    console.table(["", ""], pair_facts(pair, name, "*" if incomplete else ""))
    if incomplete:
        console.print_line(
            f"* the truth of {count(incomplete, 'question')} names documents that were not read"
        )
    if pair.dropped:
        names = ", ".join(query.query for query in pair.dropped[:8])
        console.print_line(f"not counted: {names} ({count(len(pair.dropped), 'question')})")


Every = Annotated[
    bool,
    typer.Option("--all-systems", help="Compare all systems of the runs, not only those they share."),
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
    """Print what each system measured in both runs gained or lost."""
    from bakeoff.runs.compare_runs import changed_models, compare_across

    before, after = opened.results
    comparison = compare_across(before, after, measure, allow_mixed=allow_mixed)
    old, new = f" @ {before.record.run}", f" @ {after.record.run}"
    shared = [
        summary.system.removesuffix(old) for summary in comparison.systems if summary.system.endswith(old)
    ]
    pairs = [comparison.pair(f"{system}{new}", f"{system}{old}") for system in shared]
    if not any(pair.n for pair in pairs):
        raise DataError(
            f"{before.path} and {after.path} share no question scored by {comparison.measure}."
            " Compare runs of the same query file."
        )
    changes = changed_models(before.record, after.record)
    context = {"truth": opened.truth, "changed_models": changes}
    console.print_json([{**_pair_json(pair), **context} for pair in pairs])
    headers = ["system", "before", "after", "difference", "interval", "better / worse / equal"]
    rows = [[system, *_change_cells(pair)] for system, pair in zip(shared, pairs, strict=True)]
    console.print_line(f"{comparison.measure}: {before.record.run} → {after.record.run}")
    console.table(headers, rows, right=(1, 2, 3, 4, 5))
    _print_questions(comparison.questions)
    print_truth(opened.sentence)
    for note in changes:
        console.warn(note)


def _change_cells(pair: PairComparison) -> list[str]:
    """Before, after, the difference with its interval, and how many questions each side won."""
    values = [decimal(value, 4) for value in (pair.mean_b, pair.mean_a, pair.difference)]
    return [*values, decimal_range(pair.interval.low, pair.interval.high, 3), _wins(pair)]


def _print_runs(opened: ComparableRuns, measure: str | None, allow_mixed: bool) -> None:
    """Print all systems of several runs, best first, each against the best."""
    from bakeoff.report.run_history import comparison_json, runs_grid
    from bakeoff.runs.compare_runs import compare_runs

    comparison = compare_runs(opened.results, measure, allow_mixed=allow_mixed)
    console.print_json(lambda: {**comparison_json(comparison), "truth": opened.truth})
    grid = runs_grid(comparison)
    console.print_line(f"{comparison.comparison.measure} of {len(opened.results)} runs, paired by question")
    console.table(grid.headings, grid.rows, right=range(grid.left, len(grid.headings)))
    _print_questions(comparison.comparison.questions)
    print_truth(opened.sentence)


def _print_questions(questions: EffectiveQuestions | None) -> None:
    """Print how many independent questions there are, if some share documents."""
    from bakeoff.stats.number_format import describe_clusters

    if questions is not None and questions.clusters < questions.questions:
        console.print_line(f"{describe_clusters(questions)}.")
