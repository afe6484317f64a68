"""bakeoff compare FILE FILE …: rankings or scores of other tools, paired by question."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.cli import console
from bakeoff.errors import SettingError
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    from bakeoff.runs.score_files import ScoreComparison
    from bakeoff.stats.comparison import PairComparison


def compare_files(
    files: list[str],
    measure: str | None,
    qrels: Path | None,
    preset: str | None,
    missing: str,
    score_range: str | None,
    lower_is_better: bool,
    out: Path | None = None,
) -> None:
    """Compare the systems in some files and print means, pairs and the verdict; `out` receives them as a run folder."""
    from bakeoff.runs.score_files import compare_scores

    outcome = compare_scores(
        [Path(file) for file in files],
        measure,
        qrels=qrels,
        preset=preset,
        missing=missing,  # type: ignore[arg-type]  # compare_scores refuses other words
        score_range=parse_range(score_range),
        lower_is_better=lower_is_better,
    )
    console.print_json(lambda: outcome_json(outcome))
    print_outcome(outcome)
    if out is not None:
        _write_report([Path(file) for file in files], measure, qrels, preset, missing, out)


def _write_report(
    files: list[Path],
    measure: str | None,
    qrels: Path | None,
    preset: str | None,
    missing: str,
    out: Path,
) -> None:
    from bakeoff.report.render.write import write
    from bakeoff.runs.file_run import write_file_run

    result = write_file_run(out, files, measure, qrels=qrels, preset=preset, missing=missing)
    paths = write(result, out, ["html", "md"])
    for number, path in enumerate(paths):
        console.print_line(f"{'Report' if number == 0 else '':<9}{path}")


def parse_range(text: str | None) -> tuple[float, float] | None:
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


def outcome_json(outcome: ScoreComparison) -> dict[str, object]:
    """The result as JSON."""
    from bakeoff.cli.views.summary_json import mean_json, verdict_json

    comparison = outcome.comparison
    return {
        "measure": comparison.measure,
        "systems": [{"system": one.system, **mean_json(one)} for one in comparison.systems],
        "pairs": [{**asdict(pair), "effective_n": pair.effective_n} for pair in comparison.pairs],
        "verdict": verdict_json(outcome.verdict),
        "conventions": outcome.conventions.to_dict() if outcome.conventions else None,
        "seed": comparison.seed,
        "notes": list(outcome.notes),
    }


def print_outcome(outcome: ScoreComparison) -> None:
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
    names = [
        *comparison.ranking,
        *(s.system for s in comparison.systems if s.system not in comparison.ranking),
    ]
    rows = [
        [name, mean_text(comparison.summary(name), interval=True), str(comparison.summary(name).n)]
        for name in names
    ]
    console.table(["system", comparison.measure, "questions"], rows, right=(1, 2))
    pairs = [
        [
            f"{pair.a} − {pair.b}",
            format_score(pair.difference),
            interval_text(pair),
            f"{pair.wins} / {pair.losses} / {pair.ties}",
            probability(pair.p_holm),
        ]
        for pair in comparison.pairs
    ]
    headers = ["pair", "difference", "interval", "better / worse / equal", "p (Holm)"]
    console.table(headers, pairs, right=(1, 2, 3, 4))


def print_pair(pair: PairComparison, name: str, incomplete: int = 0) -> None:
    """Print one pair of systems; `incomplete` counts questions whose truth names unread documents."""
    from bakeoff.stats.number_format import probability

    mark = "*" if incomplete else ""
    rows = [
        [f"{name} of {pair.a}", format_score(pair.mean_a) + mark],
        [f"{name} of {pair.b}", format_score(pair.mean_b) + mark],
        ["difference", f"{format_score(pair.difference)} {interval_text(pair)}"],
        ["better, worse, equal", f"{pair.wins}, {pair.losses}, {pair.ties} of {count(pair.n, 'question')}"],
        *_cluster_rows(pair),
        ["p (Holm over all pairs)", probability(pair.p_holm)],
        ["p (Wilcoxon, this pair alone)", probability(pair.p_wilcoxon)],
        ["smallest detectable difference", format_score(pair.mdd)],
        ["better system", pair.better or "not distinguishable"],
    ]
    console.table(["", ""], rows)
    if incomplete:
        console.print_line(
            f"* the truth of {count(incomplete, 'question')} names documents that were not read"
        )
    if pair.dropped:
        console.print_line(
            f"not counted: {', '.join(one.query for one in pair.dropped[:8])} ({count(len(pair.dropped), 'question')})"
        )


def interval_text(pair: PairComparison) -> str:
    """The interval of a pair's difference."""
    low, high = pair.interval.low, pair.interval.high
    return f"[{low:.4f} {high:.4f}]" if low is not None and high is not None else "(no interval)"


def format_score(value: float | None) -> str:
    """A score with four digits."""
    return "–" if value is None else f"{value:.4f}"


def _cluster_rows(pair: PairComparison) -> list[list[str]]:
    """Rows on questions that share documents; empty if every question is independent."""
    depends = pair.dependence
    if depends is None or pair.clusters == pair.n:
        return []
    icc = "–" if depends.icc is None else f"{depends.icc:.2f}"
    effect = f"correlation within a cluster {icc}, design effect {depends.design_effect:.2f}"
    return [
        ["clusters of questions", f"{pair.clusters:,} ({effect})"],
        ["effective independent questions", f"{pair.effective_n:.0f}"],
    ]
