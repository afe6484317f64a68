"""bakeoff review serve: judge passages in the browser, blind and by keyboard."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from bakeoff.cli import console
from bakeoff.cli.review.commands import LabelChoice, Labels, group
from bakeoff.errors import SettingError
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    from bakeoff.review.review_folder import ReviewFolder
    from bakeoff.review.web.session import ReviewSession


class ServeOrder(StrEnum):
    """The order in which passages are shown."""

    SHUFFLED = "shuffled"
    NEXT = "next"


def register(app: typer.Typer) -> None:  # noqa: ARG001 - the command joins a group that another module adds
    """Add this command."""
    group.command("serve")(serve)


Folder = Annotated[
    Path, typer.Argument(metavar="RUN_OR_REVIEW", help="A run's folder, or the folder of a review.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 for any free one.")]
Guideline = Annotated[
    Path | None,
    typer.Option(help="Text file shown next to each passage. [default: guideline.md of the review]"),
]
Graded = Annotated[bool, typer.Option("--graded", help="With --labels matches: also grade a match, 1 to 3.")]
Order = Annotated[
    ServeOrder,
    typer.Option(help="shuffled: question by question. next: the most decisive passages first."),
]
Adjudicate = Annotated[
    bool, typer.Option("--adjudicate", help="Settle conflicts between reviewers; shows their votes.")
]
Filled = Annotated[
    bool,
    typer.Option("--filled", help="Also judge passages that rules filled in, mixed with the others."),
]
Repeats = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of passages shown a second time, to measure consistency."),
]


def serve(
    folder: Folder,
    port: Port = 8765,
    reviewer: Annotated[str, typer.Option(help="Your name. [default: the page asks]")] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    labels: Labels = None,
    guideline: Guideline = None,
    graded: Graded = False,
    order: Order = ServeOrder.SHUFFLED,
    adjudicate: Adjudicate = False,
    filled: Filled = False,
    repeats: Repeats = 0.05,
) -> None:
    """Judge passages in the browser, blind, with keyboard shortcuts.

    Every answer is on disk before the next passage is shown.
    """
    from bakeoff.review.choices import LabelScheme
    from bakeoff.review.web.server import ReviewServer
    from bakeoff.review.web.session import ReviewOptions, ReviewSession, checked_name

    if adjudicate and order is ServeOrder.NEXT:
        raise SettingError("--adjudicate can't be combined with --order next.")
    name = checked_name(reviewer) if reviewer else ""
    review = _open_or_pool(folder, labels)
    if graded and review.pool().labels is not LabelScheme.MATCHES:
        raise SettingError("--graded needs --labels matches: the default choices are grades already.")
    if guideline is not None:
        review.keep_guideline(guideline)
    options = ReviewOptions(graded, order is ServeOrder.NEXT, adjudicate, filled, repeats)
    for note in review.ledger.read().notes:
        console.warn(note)
    session = ReviewSession(review, options, _run(folder, review))
    with ReviewServer(session, port, name) as server:
        address = f"{server.address}&reviewer={quote(name)}" if name else server.address
        _welcome(session, address)
        if browser:
            _open(address)
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            session.close()
    _goodbye(session, review)


def _open_or_pool(folder: Path, labels: LabelChoice | None) -> ReviewFolder:
    """The review of a run; a new one if there is none."""
    from bakeoff.review.choices import LabelScheme
    from bakeoff.review.pooling import PoolChoice, find_queries, make_pool
    from bakeoff.review.review_folder import open_review, review_of_run
    from bakeoff.runs.analysis import open_run

    scheme = LabelScheme(labels) if labels else None
    if not (folder / "run.json").is_file() or review_of_run(folder).pool_file.is_file():
        found = open_review(folder)
        found.use_labels(scheme)
        return found
    result = open_run(folder)
    pool = make_pool(result, PoolChoice(labels=scheme), find_queries(result))
    for note in pool.notes:
        console.warn(note)
    review = review_of_run(folder)
    review.keep(pool)
    systems = count(len(pool.systems), "system")
    console.print_line(f"pooled the first {pool.k} results of {systems} in {review.folder}")
    return review


def _run(folder: Path, review: ReviewFolder) -> Path | None:
    """The run whose stored texts give a passage's context; None if it is not found."""
    near = (folder, review.folder.resolve().parent.parent / "runs" / review.folder.resolve().name)
    return next((place for place in near if (place / "run.json").is_file()), None)


def _open(address: str) -> None:
    import threading
    import webbrowser

    # a text browser in this terminal would block the server
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _welcome(session: ReviewSession, address: str) -> None:
    console.print_line(f"Review of {session.pool.run} at {address}   Ctrl-C stops it")
    if session.options.adjudicate:
        console.print_line(
            "conflicts between reviewers, with their votes; your decision is final", style="dim"
        )
    else:
        console.print_line(f"{session.pool.summary}. You don't see which system returned a passage.")
        console.print_line(f"judgments are saved in {session.review.folder / 'ledger'}", style="dim")


def _goodbye(session: ReviewSession, review: ReviewFolder) -> None:
    from bakeoff.review.outcomes import OutcomeState
    from bakeoff.review.review_folder import load_state

    settled = load_state(review).settled.values()
    open_ = sum(one.state is OutcomeState.OPEN for one in settled)
    conflicts = sum(one.state is OutcomeState.CONFLICT for one in settled)
    people = ", ".join(f"{name} {count:,}" for name, count in sorted(session.judged.items()) if count)
    console.print_line()
    console.print_line(
        f"{sum(session.judged.values()):,} judged{f' ({people})' if people else ''}; {open_:,} passages still open"
    )
    if conflicts:
        console.print_line(
            f"reviewers disagree on {conflicts:,}: bakeoff review serve {review.folder} --adjudicate"
        )
    if open_:
        console.print_line(f"Is more judging worth it?  bakeoff review next {review.folder}")
    console.print_line(f"Next     bakeoff review judgments {review.folder} --out judgments.json")
