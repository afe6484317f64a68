"""bakeoff evaluate, explain: measures without an experiment, like trec_eval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError
from bakeoff.runtime.count_text import count, decimal

if TYPE_CHECKING:
    from bakeoff.measures.result import Evaluation

Measures = Annotated[
    list[str] | None, typer.Option("--measure", "-m", help="A measure, such as nDCG@10. Repeatable.")
]
Preset = Annotated[
    str | None, typer.Option(help="Conventions and measures of another tool, such as trec_eval.")
]
Qrels = Annotated[Path | None, typer.Option("--qrels", help="Judgments: TREC qrels, BEIR tsv or Parquet.")]
Run = Annotated[Path | None, typer.Option("--run", help="The ranking to score: a TREC run file or Parquet.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(evaluate)
    app.command()(explain)


@with_json
def evaluate(
    qrels: Annotated[Path, typer.Option("--qrels", help="Judgments: TREC qrels, BEIR tsv or Parquet.")],
    run: Annotated[Path, typer.Option("--run", help="The ranking to score: a TREC run file or Parquet.")],
    measure: Measures = None,
    preset: Preset = None,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Also print every query.")] = False,
) -> None:
    """Score a run file against judgments, like trec_eval."""
    from bakeoff.measures.api import evaluate as evaluate_files
    from bakeoff.measures.result import rank_conflict_note

    chosen = measure or (None if preset else ["nDCG@10", "AP", "RR", "R@100"])
    result = evaluate_files(qrels, run, chosen, preset)
    console.print_json(_as_json(result, per_query))
    if per_query:
        for query, values in result.per_query.items():
            for name, value in values.items():
                console.print_line(f"{name:<22} {query:<16} {decimal(value, 4)}")
    bounds = result.bounds
    rows = []
    for name, value in result.mean.items():
        ends = bounds[name]
        rows.append(
            [
                name,
                decimal(value, 4),
                f"{ends.low:.4f} – {ends.high:.4f}" if ends else "",
                str(result.counts[name]),
            ]
        )
    console.table(["measure", "mean", "if unjudged were judged", "queries"], rows, right=(1, 2, 3))
    if result.rank_conflicts:
        console.print_line(f"note      {rank_conflict_note(result.rank_conflicts)}")
    _print_excluded(result)


@with_json
def explain(
    measure: Annotated[str, typer.Argument(help="A measure, such as nDCG@10(document).")],
    difference: Annotated[
        str | None,
        typer.Option("--difference", help="A query id: explain why other tools report another value for it."),
    ] = None,
    qrels: Qrels = None,
    run: Run = None,
) -> None:
    """Explain a measure, or why two tools report different values.

    With --difference QUERY: which convention makes the tools' values differ on that query.
    """
    from bakeoff.measures.explain import explain as explain_measure

    if difference is not None:
        _explain_difference(measure, difference, qrels, run)
        return
    explanation = explain_measure(measure)
    console.print_json(explanation)
    console.print_line(f"{explanation.name}   {explanation.meaning}")
    rows = [
        ("formula", explanation.formula),
        ("counts", explanation.unit.removeprefix("counts ")),
        ("range", f"{explanation.range}, {explanation.direction}; ceiling {explanation.ceiling}"),
        ("unjudged", explanation.unjudged),
        ("needs", explanation.needs),
        ("also called", ", ".join(explanation.also_called)),
        ("note", explanation.note),
    ]
    console.table(["", ""], [[name, text] for name, text in rows if text])


def _explain_difference(measure: str, query: str, qrels: Path | None, run: Path | None) -> None:
    from bakeoff.measures.tool_variants import explain_difference
    from bakeoff.storage.ranking_files import read_qrels, read_run

    if qrels is None or run is None:
        raise SettingError("--difference also needs --qrels FILE and --run FILE.")
    explanation = explain_difference(read_qrels(qrels), read_run(run, by_rank=False).by_query, query, measure)
    console.print_json(explanation)
    console.print_line(
        f"{explanation.measure} of query {explanation.query} is {decimal(explanation.value, 4)}"
    )
    rows = [[decimal(variant.value, 4), variant.label, variant.reason] for variant in explanation.variants]
    console.table(["value", "as computed by", "because"], rows, right=(0,))


def _as_json(result: Evaluation, per_query: bool) -> dict[str, object]:
    values: dict[str, object] = {
        "mean": result.mean,
        "bounds": {name: [ends.low, ends.high] if ends else None for name, ends in result.bounds.items()},
        "queries": result.counts,
        "excluded": [{"query": left.query, "reason": left.reason} for left in result.excluded],
        "rank_conflicts": list(result.rank_conflicts),
        "conventions": result.conventions.to_dict(),
    }
    return {**values, "per_query": result.per_query} if per_query else values


def _print_excluded(result: Evaluation) -> None:
    reasons: dict[str, list[str]] = {}
    for exclusion in result.excluded:
        reasons.setdefault(exclusion.reason, []).append(exclusion.query)
    for reason, names in reasons.items():
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        console.print_line(f"left out  {count(len(names), 'query', 'queries')} ({shown}): {reason}")
