"""bakeoff review: export and import review files, status, what to judge next, agreement, judgment sets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.output import with_json
from bakeoff.errors import SettingError

if TYPE_CHECKING:
    from bakeoff.review.review_folder import ReviewFolder, ReviewState

group = typer.Typer(
    name="review",
    help="Judge passages by hand: in the browser or in files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(help="The folder of a review, or of its run.")]
Seed = Annotated[int, typer.Option(help="Seed of the shuffled order and of resampling.")]


class LabelChoice(StrEnum):
    """What reviewers choose from."""

    GRADES = "grades"
    MATCHES = "matches"


Labels = Annotated[
    LabelChoice | None,
    typer.Option(
        help="grades: relevant, partly, not relevant. matches: keyword match, semantic match, false positive. "
        "[default: matches with a preset that needs them, else grades]"
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands; a module that adds one more to the group calls `group.command()`."""
    for name, command in (
        ("export", export),
        ("import", import_),
        ("status", status),
        ("next", next_),
        ("agreement", agreement),
        ("judgments", judgments),
    ):
        group.command(name)(command)
    app.add_typer(group)
    app.command("export-review", hidden=True)(export)
    app.command("import-review", hidden=True)(import_)


@with_json
def export(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    to: Annotated[
        Path | None, typer.Option("--to", help="Folder for the review. [default: reviews/RUN]")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Number of top results per system.")] = 10,
    system: Annotated[list[str] | None, typer.Option(help="Only this system. Repeatable.")] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="Only questions of this category. Repeatable.")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help="Query file or experiment with the rules. [default: the run's]")
    ] = None,
    labels: Labels = None,
    seed: Seed = 7,
    force: Annotated[
        bool, typer.Option("--force", help="Replace review files that hold no judgments.")
    ] = False,
) -> None:
    """Pool the systems' results and write review files.

    One file per query and system.
    """
    from bakeoff.cli.review.import_view import print_export
    from bakeoff.review.choices import LabelScheme
    from bakeoff.review.pooling import PoolChoice, facts_of, find_queries, make_pool
    from bakeoff.review.review_folder import ReviewFolder, review_of_run
    from bakeoff.review.sheet_writer import write_sheets
    from bakeoff.runs.analysis import open_run

    result = open_run(run)
    query_set = find_queries(result, queries)
    review = ReviewFolder(to) if to else review_of_run(run)
    scheme = review.use_labels(LabelScheme(labels) if labels else None)
    choice = PoolChoice(
        k=k, systems=tuple(system or ()), categories=tuple(category or ()), seed=seed, labels=scheme
    )
    pool = make_pool(result, choice, query_set)
    replaced = review.keep(pool)
    written = write_sheets(pool, review.files, facts_of(query_set), force=force)
    print_export(review, pool, written, replaced)


@with_json
def import_(
    folder: Annotated[Path, typer.Argument(help="The folder of review files, or one file.")],
    into: Annotated[
        Path | None,
        typer.Option("--into", help="The review to import into. [default: the one that holds the files]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write human_review_SYSTEM.json into this folder.")
    ] = None,
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="These judgments settle conflicts between reviewers.")
    ] = False,
    include_unmarked: Annotated[
        bool,
        typer.Option(
            "--include-unmarked",
            help="Also import fully judged files whose review_complete is false.",
        ),
    ] = False,
    k: Annotated[int, typer.Option("--k", help="Cut-off of the measures.")] = 10,
    seed: Seed = 7,
) -> int:
    """Import completed review files; print conflicts and measures.

    The files are not changed.
    """
    from bakeoff.cli.review.import_view import import_json, print_import, write_human_reviews
    from bakeoff.review.importing import import_folder, into_ledger
    from bakeoff.review.review_folder import ReviewFolder

    home = into or next((place for place in (folder, folder.parent) if (place / "pool.json").is_file()), None)
    review = ReviewFolder(home) if home else None
    imported = import_folder(folder, review.pool() if review else None, include_unmarked=include_unmarked)
    added = into_ledger(imported, review.ledger, final=adjudicate) if review else None
    paths = write_human_reviews(imported, out, k, seed) if out else []
    if not console.print_json(lambda: {**import_json(imported, folder, k, seed, added), "files": paths}):
        print_import(imported=imported, folder=folder, k=k, seed=seed, added=added, home=home, paths=paths)
    return 2 if imported.refused else 0


@with_json
def status(
    folder: Folder,
    run: Annotated[
        Path | None, typer.Option(help="The run, to compare automated with human figures.")
    ] = None,
    seed: Seed = 7,
) -> None:
    """Show a review's progress and its measures so far.

    Measures have bounds for the passages that are still open.
    """
    from bakeoff.cli.review.status_view import print_status, status_json
    from bakeoff.review.review_folder import compare_with_run, load_state, open_review
    from bakeoff.runs.analysis import open_run

    state = load_state(open_review(folder))
    run_folder = run or (folder if (folder / "run.json").is_file() else None)
    sides = compare_with_run(state, open_run(run_folder)) if run_folder else []
    if not console.print_json(lambda: status_json(state, sides, seed)):
        print_status(state, sides, seed, folder)


@with_json
def next_(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", "-n", help="Number of passages to show.")] = 10,
    confidence: Annotated[
        float, typer.Option(help="Probability above which a decision counts as likely.")
    ] = 0.97,
    seed: Seed = 7,
) -> None:
    """Show what to judge next, and whether it can still change the result."""
    from bakeoff.cli.review.status_view import next_json, print_next
    from bakeoff.review.decision_model import stakes_of
    from bakeoff.review.measures import pool_rankings
    from bakeoff.review.next import rank_open_items
    from bakeoff.review.outcomes import OutcomeState
    from bakeoff.review.review_folder import load_state, open_review

    if not 0.5 < confidence < 1:
        raise SettingError(f"--confidence is {confidence}; it must be between 0.5 and 1.")
    state = load_state(open_review(folder))
    relevant = {item: one.relevance > 0 for item, one in state.settled.items() if one.relevance is not None}
    ruled = {item for item, one in state.settled.items() if one.state is OutcomeState.RULE}
    stakes = stakes_of(pool_rankings(state.pool), relevant, state.pool.k, ruled=ruled)
    outlook, ranked = rank_open_items(stakes, count, seed, confidence)
    console.print_json(next_json(state, outlook, ranked))
    print_next(state, outlook, ranked)


@with_json
def agreement(folder: Folder, seed: Seed = 7) -> None:
    """Show how well reviewers, models and rules agree."""
    from bakeoff.cli.review.status_view import panel_json, print_panel
    from bakeoff.cli.review.suggest import model_figures, print_agreement
    from bakeoff.review.agreement_report import report_agreement
    from bakeoff.review.review_folder import load_state, open_review
    from bakeoff.review.suggestions import suggestion_files

    review = open_review(folder)
    state = load_state(review)
    figures = report_agreement(state.pool, state.read.entries, seed)
    models = [one for path in suggestion_files(review.folder) if (one := model_figures(path, state))]
    console.print_json({**panel_json(figures), "models": models})
    print_panel(figures, state)
    print_agreement(models)


@with_json
def judgments(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", help="The judgment set to write.")] = Path("judgments.json"),
    people_only: Annotated[
        bool, typer.Option("--people-only", help="Leave out passages that only a rule judged.")
    ] = False,
    with_suggestions: Annotated[
        str | None,
        typer.Option(
            "--with-suggestions",
            metavar="MODEL",
            help="Fill gaps with this model's grades; runs report them.",
        ),
    ] = None,
) -> None:
    """Write the final judgments, for `judgments:` in an experiment."""
    from bakeoff.cli.review.status_view import print_set
    from bakeoff.review.judgment_set import make_set
    from bakeoff.review.review_folder import load_state, open_review
    from bakeoff.review.suggestions import named_with_stability
    from bakeoff.storage.cache import write_file
    from bakeoff.truth.human_judgments import judgments_text

    review = open_review(folder)
    state = load_state(review)
    suggested = _suggested_grades(review, state, with_suggestions) if with_suggestions else {}
    model_name = named_with_stability(review.folder, with_suggestions) if with_suggestions else ""
    final = make_set(state.pool, state.settled, rules=not people_only, suggested=suggested, model=model_name)
    if not final.rows:
        raise SettingError(f"{folder} has no judgments yet. Judge first: bakeoff review serve {folder}")
    if out.exists():
        raise SettingError(
            f"{out} already exists. Judgment sets are never overwritten: choose another --out."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, judgments_text(final).encode())
    print_set(final, state, out)


def _suggested_grades(review: ReviewFolder, state: ReviewState, model: str) -> dict[str, int]:
    """A model's grades, with a warning; SettingError if it has given none."""
    from bakeoff.review.suggestions import grades, read_suggestions, suggestions_file

    by_item = grades(state.pool, read_suggestions(suggestions_file(review.folder, model)))
    if not by_item:
        raise SettingError(
            f"{review.folder} has no suggestions of {model}. Get some: bakeoff review suggest --model {model}"
        )
    console.warn(
        f"passages without a human judgment take the grade of {model}; runs that use this set report it."
    )
    return by_item
