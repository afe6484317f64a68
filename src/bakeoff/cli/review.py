"""bakeoff review: what people judge, their judgments, how far they agree, what to judge next, and what follows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.review.review_folder import ReviewFolder, ReviewState

group = typer.Typer(
    name="review",
    help="People's judgments: serve, export, import, next, agreement, status, judgments, suggest.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="For scripts.")]
Folder = Annotated[Path, typer.Argument(help="The folder of a review, or the run's folder it is of.")]
Seed = Annotated[int, typer.Option(help="Of the shuffled order and of resampling.")]


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


def export(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    to: Annotated[
        Path | None, typer.Option("--to", help="Folder of the review. [default: reviews/RUN]")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="First so many results of each system.")] = 10,
    system: Annotated[list[str] | None, typer.Option(help="Only this system; may be repeated.")] = None,
    category: Annotated[
        list[str] | None, typer.Option(help="Only queries of this category; may be repeated.")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help="Query file or experiment with the rules. [default: the run's]")
    ] = None,
    seed: Seed = 7,
    force: Annotated[
        bool, typer.Option("--force", help="Replace review files in which nobody has judged.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Pool the systems' results and write one review file a query and system."""
    from bakeoff.cli.views.review_import import say_export
    from bakeoff.review.pooling import PoolChoice, facts_of, find_queries, make_pool
    from bakeoff.review.review_folder import ReviewFolder, desk_for
    from bakeoff.review.sheet_writer import write_sheets
    from bakeoff.runs.analysis import open_run

    result = open_run(run)
    found = find_queries(result, queries)
    pool = make_pool(result, PoolChoice(k, tuple(system or ()), tuple(category or ()), seed), found)
    desk = ReviewFolder(to) if to else desk_for(run)
    replaced = desk.keep(pool)
    written = write_sheets(pool, desk.files, facts_of(found), force=force)
    say_export(desk, pool, written, replaced, as_json)


def import_(
    folder: Annotated[Path, typer.Argument(help="The folder of review files, or one file.")],
    into: Annotated[
        Path | None, typer.Option("--into", help="The review they belong to. [default: the one they are in]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write human_review_SYSTEM.json into this folder.")
    ] = None,
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="These judgments decide between reviewers.")
    ] = False,
    include_unmarked: Annotated[
        bool,
        typer.Option(
            "--include-unmarked",
            help="Also take files in which nothing is open but review_complete is false.",
        ),
    ] = False,
    k: Annotated[int, typer.Option("--k", help="Cut-off of the measures.")] = 10,
    seed: Seed = 7,
    as_json: Json = False,
) -> int:
    """Read complete review files: judgments, conflicts, and the measures that follow. Nothing is written into them."""
    from bakeoff.cli.views.review_import import import_json, say_import, write_human_reviews
    from bakeoff.review.importing import import_folder, into_ledger
    from bakeoff.review.review_folder import ReviewFolder

    home = into or next((one for one in (folder, folder.parent) if (one / "pool.json").is_file()), None)
    desk = ReviewFolder(home) if home else None
    imported = import_folder(folder, desk.pool() if desk else None, include_unmarked=include_unmarked)
    added = into_ledger(imported, desk.ledger, final=adjudicate) if desk else None
    data = import_json(imported, folder, k, seed, added)
    paths = write_human_reviews(imported, out, k, seed) if out else []
    if as_json:
        from bakeoff.cli import console

        console.say_json({**data, "files": [str(path) for path in paths]})
    else:
        say_import(imported, folder, k, seed, added, home, paths)
    return 2 if imported.refused else 0


def status(
    folder: Folder,
    run: Annotated[Path | None, typer.Option(help="The run, for automated figures beside people's.")] = None,
    seed: Seed = 7,
    as_json: Json = False,
) -> None:
    """Show how far a review is, and the measures as they stand, with bounds over what is open."""
    from bakeoff.cli.views.review_status import say_status, status_json
    from bakeoff.review.review_folder import beside_the_run, load_state, open_desk
    from bakeoff.runs.analysis import open_run

    standing = load_state(open_desk(folder))
    given = run or (folder if (folder / "run.json").is_file() else None)
    beside = beside_the_run(standing, open_run(given)) if given else []
    if as_json:
        from bakeoff.cli import console

        console.say_json(status_json(standing, beside, seed))
    else:
        say_status(standing, beside, seed, folder)


def next_(
    folder: Folder,
    count: Annotated[int, typer.Option("--count", "-n", help="Show so many items.")] = 10,
    confidence: Annotated[
        float, typer.Option(help="Call a decision likely from this probability on.")
    ] = 0.97,
    seed: Seed = 7,
    as_json: Json = False,
) -> None:
    """Say which open results could move the decision most, and whether judging more can change it at all."""
    from bakeoff.cli.views.review_status import next_json, say_next
    from bakeoff.errors import SettingError
    from bakeoff.review.decision_model import stakes_of
    from bakeoff.review.measures import pool_rankings
    from bakeoff.review.next import rank_open_items
    from bakeoff.review.outcomes import OutcomeState
    from bakeoff.review.review_folder import load_state, open_desk

    if not 0.5 < confidence < 1:
        raise SettingError(f"--confidence is {confidence}; it must be between 0.5 and 1.")
    standing = load_state(open_desk(folder))
    known = {item: one.relevance > 0 for item, one in standing.settled.items() if one.relevance is not None}
    ruled = {item for item, one in standing.settled.items() if one.state is OutcomeState.RULE}
    stakes = stakes_of(pool_rankings(standing.pool), known, standing.pool.k, ruled=ruled)
    outlook, ranked = rank_open_items(stakes, count, seed, confidence)
    if as_json:
        from bakeoff.cli import console

        console.say_json(next_json(standing, outlook, ranked))
    else:
        say_next(standing, outlook, ranked)


def agreement(folder: Folder, seed: Seed = 7, as_json: Json = False) -> None:
    """Show how far reviewers agree, also with models, which rules they overruled, and what needs a third opinion."""
    from dataclasses import asdict

    from bakeoff.cli.review_suggest import model_figures, say_agreement
    from bakeoff.cli.views.review_status import panel_json, say_panel
    from bakeoff.review.agreement_report import report_agreement
    from bakeoff.review.review_folder import load_state, open_desk
    from bakeoff.review.suggestions import suggestion_files

    desk = open_desk(folder)
    standing = load_state(desk)
    found = report_agreement(standing.pool, standing.read.entries, seed)
    models = [one for path in suggestion_files(desk.folder) if (one := model_figures(path, standing))]
    if as_json:
        from bakeoff.cli import console

        console.say_json({**panel_json(found), "models": [asdict(one) for one in models]})
    else:
        say_panel(found, standing)
        say_agreement(models)


def judgments(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", help="The judgment set to write.")] = Path("judgments.json"),
    people_only: Annotated[
        bool, typer.Option("--people-only", help="Leave out what only a rule filled in.")
    ] = False,
    with_suggestions: Annotated[
        str | None,
        typer.Option(
            "--with-suggestions", metavar="MODEL", help="Fill in what nobody judged by a model; runs say so."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the judgments that hold as a set with its own fingerprint, for `judgments:` in an experiment."""
    from bakeoff.cli.views.review_status import say_set
    from bakeoff.errors import SettingError
    from bakeoff.review.judgment_set import make_set
    from bakeoff.review.review_folder import load_state, open_desk
    from bakeoff.storage.cache import write_file
    from bakeoff.truth.human_judgments import judgments_text

    desk = open_desk(folder)
    standing = load_state(desk)
    filled = _suggested_grades(desk, standing, with_suggestions) if with_suggestions else {}
    made = make_set(standing.pool, standing.settled, rules=not people_only, suggested=filled,
                    model=with_suggestions or "")  # fmt: skip
    if not made.rows:
        raise SettingError(f"nothing is judged in {folder} yet. Judge first: bakeoff review next {folder}")
    if out.exists():
        raise SettingError(f"{out} exists already. A judgment set is never changed: choose another --out.")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, judgments_text(made).encode())
    say_set(made, standing, out, as_json)


def _suggested_grades(desk: ReviewFolder, standing: ReviewState, model: str) -> dict[str, int]:
    """A model's grades; that it has given none is an error, that it has given some is said aloud."""
    from bakeoff.cli import console
    from bakeoff.errors import SettingError
    from bakeoff.review.suggestions import grades, read_suggestions, suggestions_file

    found = grades(standing.pool, read_suggestions(suggestions_file(desk.folder, model)))
    if not found:
        raise SettingError(
            f"{model} has suggested nothing in {desk.folder}. Ask it: bakeoff review suggest --model"
        )
    console.warn(
        f"what nobody judged is filled in by {model}; a run on this set says that a model judged it."
    )
    return found
