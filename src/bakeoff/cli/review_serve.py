"""bakeoff review serve: judge passages in the browser, blind and by keyboard."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.review import group

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


def serve(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN_OR_REVIEW", help="A run's folder, or the folder of a review.")
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 for any free one.")
    ] = 8765,
    reviewer: Annotated[str, typer.Option(help="Your name. [default: the page asks]")] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    graded: Annotated[
        bool, typer.Option("--graded", help="Also grade how relevant a match is, 1 to 3.")
    ] = False,
    order: Annotated[
        ServeOrder,
        typer.Option(help="shuffled: question by question. next: the most decisive passages first."),
    ] = ServeOrder.SHUFFLED,
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="Settle conflicts between reviewers; shows their votes.")
    ] = False,
    filled: Annotated[
        bool,
        typer.Option("--filled", help="Also judge passages that rules filled in, mixed with the others."),
    ] = False,
    repeats: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of passages shown again at the end, to measure consistency."),
    ] = 0.05,
) -> None:
    """Judge passages in the browser, blind and by keyboard.

    Every answer is on disk before the next passage is shown.
    """
    from urllib.parse import quote

    from bakeoff.cli import console
    from bakeoff.errors import SettingError
    from bakeoff.review.web.server import ReviewServer
    from bakeoff.review.web.session import ReviewOptions, ReviewSession, checked_name

    if adjudicate and order is ServeOrder.NEXT:
        raise SettingError("--adjudicate can't be combined with --order next.")
    name = checked_name(reviewer) if reviewer else ""
    desk = _desk(folder)
    manner = ReviewOptions(graded, order is ServeOrder.NEXT, adjudicate, filled, repeats)
    for note in desk.ledger.read().notes:
        console.warn(note)
    room = ReviewSession(desk, manner, _run(folder, desk))
    with ReviewServer(room, port, name) as server:
        address = f"{server.address}?reviewer={quote(name)}" if name else server.address
        _welcome(room, address)
        if browser:
            _open(address)
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            room.close()
    _goodbye(room, desk)


def _desk(folder: Path) -> ReviewFolder:
    """The review of a run; a new one if there is none."""
    from bakeoff.cli import console
    from bakeoff.review.pooling import PoolChoice, find_queries, make_pool
    from bakeoff.review.review_folder import desk_for, open_desk
    from bakeoff.runs.analysis import open_run

    if not (folder / "run.json").is_file() or desk_for(folder).pool_file.is_file():
        return open_desk(folder)
    result = open_run(folder)
    pool = make_pool(result, PoolChoice(), find_queries(result))
    for note in pool.notes:
        console.warn(note)
    desk = desk_for(folder)
    desk.keep(pool)
    console.print_line(f"{len(pool.items):,} passages of {len(pool.systems)} systems pooled in {desk.folder}")
    return desk


def _run(folder: Path, desk: ReviewFolder) -> Path | None:
    """The run whose stored texts give a passage's context; None if it is not found."""
    near = (folder, desk.folder.resolve().parent.parent / "runs" / desk.folder.resolve().name)
    return next((one for one in near if (one / "run.json").is_file()), None)


def _open(address: str) -> None:
    import threading
    import webbrowser

    # a text browser in this terminal would block the server it connects to
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _welcome(room: ReviewSession, address: str) -> None:
    from bakeoff.cli import console

    items = room.pool.items if room.manner.filled else room.pool.open
    console.print_line(f"Review of {room.pool.run} at {address}   Ctrl-C stops it")
    if room.manner.adjudicate:
        console.print_line(
            "conflicts between reviewers, with their votes; your decision is final", style="dim"
        )
    else:
        passages = f"{len(items):,} passages of {len(room.pool.queries)} questions, blind"
        console.print_line(f"{passages}; judgments are saved in {room.desk.folder / 'ledger'}", style="dim")


def _goodbye(room: ReviewSession, desk: ReviewFolder) -> None:
    from bakeoff.cli import console
    from bakeoff.review.outcomes import OutcomeState
    from bakeoff.review.review_folder import load_state

    settled = load_state(desk).settled.values()
    open_ = sum(one.state is OutcomeState.OPEN for one in settled)
    conflicts = sum(one.state is OutcomeState.CONFLICT for one in settled)
    people = ", ".join(f"{name} {count:,}" for name, count in sorted(room.judged.items()) if count)
    console.print_line()
    console.print_line(
        f"{sum(room.judged.values()):,} judged{f' ({people})' if people else ''}; {open_:,} passages still open"
    )
    if conflicts:
        console.print_line(
            f"reviewers disagree on {conflicts:,}: bakeoff review serve {desk.folder} --adjudicate"
        )
    if open_:
        console.print_line(f"Is more judging worth it?  bakeoff review next {desk.folder}")
    console.print_line(f"Next     bakeoff review judgments {desk.folder} --out judgments.json")
