"""bakeoff review serve: judge passages in the browser, blind, by key."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.review import group

if TYPE_CHECKING:
    from bakeoff.review.desk import Desk
    from bakeoff.review.serving.room import Room


class Order(StrEnum):
    """What comes first."""

    SHUFFLED = "shuffled"
    NEXT = "next"


def register(app: typer.Typer) -> None:  # noqa: ARG001 - the command is part of a group that is added by another module
    """Add this command."""
    group.command("serve")(serve)


def serve(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN_OR_REVIEW", help="A run's folder, or the folder of a review.")
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")
    ] = 8765,
    reviewer: Annotated[str, typer.Option(help="Your name. [default: the page asks]")] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    graded: Annotated[
        bool, typer.Option("--graded", help="Also say how relevant a match is, 1 to 3.")
    ] = False,
    order: Annotated[
        Order,
        typer.Option(help="shuffled: query by query. next: what could move the decision most comes first."),
    ] = Order.SHUFFLED,
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="Decide where reviewers differ; shows what they said.")
    ] = False,
    filled: Annotated[
        bool, typer.Option("--filled", help="Also judge what rules filled in, without being told which.")
    ] = False,
    repeats: Annotated[
        float, typer.Option(min=0, max=1, help="Show this share once more, unannounced, at the end.")
    ] = 0.05,
) -> None:
    """Judge passages in the browser: one at a time, blind, by key; every answer is on disk before the next is shown."""
    from urllib.parse import quote

    from bakeoff.cli import console
    from bakeoff.errors import SettingError
    from bakeoff.review.serving.room import Manner, Room, checked_name
    from bakeoff.review.serving.server import ReviewServer

    if adjudicate and order is Order.NEXT:
        raise SettingError("--adjudicate shows what reviewers differ on; leave --order out.")
    name = checked_name(reviewer) if reviewer else ""
    desk = _desk(folder)
    manner = Manner(graded, order is Order.NEXT, adjudicate, filled, repeats)
    for note in desk.ledger.read().notes:
        console.warn(note)
    room = Room(desk, manner, _run(folder, desk))
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


def _desk(folder: Path) -> Desk:
    """The review of a run, begun where there is none yet."""
    from bakeoff.analysis import open_run
    from bakeoff.cli import console
    from bakeoff.review.desk import desk_for, open_desk
    from bakeoff.review.pooling import Choice, find_queries, make_pool

    if not (folder / "run.json").is_file() or desk_for(folder).pool_file.is_file():
        return open_desk(folder)
    result = open_run(folder)
    pool = make_pool(result, Choice(), find_queries(result))
    for note in pool.notes:
        console.warn(note)
    desk = desk_for(folder)
    desk.keep(pool)
    console.say(f"{len(pool.items):,} passages of {len(pool.systems)} systems pooled in {desk.folder}")
    return desk


def _run(folder: Path, desk: Desk) -> Path | None:
    """The run whose stored texts give the context of a passage, where it is at hand."""
    near = (folder, desk.folder.resolve().parent.parent / "runs" / desk.folder.resolve().name)
    return next((one for one in near if (one / "run.json").is_file()), None)


def _open(address: str) -> None:
    import threading
    import webbrowser

    # a browser in the terminal would hold up the server it is to ask
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _welcome(room: Room, address: str) -> None:
    from bakeoff.cli import console

    items = room.pool.items if room.manner.filled else room.pool.open
    console.say(f"Review of {room.pool.run} at {address}   Ctrl-C ends it")
    if room.manner.adjudicate:
        console.say("where reviewers differ, with what they said; your decision holds", style="dim")
    else:
        said = f"{len(items):,} passages of {len(room.pool.queries)} queries, blind"
        console.say(f"{said}; judgments go to {room.desk.folder / 'ledger'}", style="dim")


def _goodbye(room: Room, desk: Desk) -> None:
    from bakeoff.cli import console
    from bakeoff.review.desk import stands
    from bakeoff.review.settle import State

    settled = stands(desk).settled.values()
    open_ = sum(one.state is State.OPEN for one in settled)
    conflicts = sum(one.state is State.CONFLICT for one in settled)
    people = ", ".join(f"{name} {count:,}" for name, count in sorted(room.judged.items()) if count)
    console.say()
    console.say(
        f"{sum(room.judged.values()):,} judged{f' ({people})' if people else ''}; {open_:,} passages are open"
    )
    if conflicts:
        console.say(f"reviewers differ on {conflicts:,}: bakeoff review serve {desk.folder} --adjudicate")
    if open_:
        console.say(f"Is more judging worth it?  bakeoff review next {desk.folder}")
    console.say(f"Next     bakeoff review judgments {desk.folder} --out judgments.json")
