"""The only place that prints, and the only place that turns errors into exit codes."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bakeoff.cli.visible import VisibleFormatter, visible, visible_json
from bakeoff.environment import masked
from bakeoff.errors import BakeoffError
from bakeoff.events import Emit

WIDTH_WITHOUT_TERMINAL = 110
STOPPED = 130
_Mistyped: Any = typer.BadParameter.__mro__[2]  # ClickException: of click, or of typer's own copy of it


class _Terminal(Console):
    """A console on which no printed text can steer the terminal; cells and bars go through `marked`."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **how)


out = _Terminal(highlight=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
err = _Terminal(stderr=True, highlight=False, width=None if sys.stderr.isatty() else WIDTH_WITHOUT_TERMINAL)
_debug = False


def configure(*, debug: bool, home: Path | None) -> None:
    """Set what holds for all commands."""
    global _debug  # noqa: PLW0603 - one process, one command
    _debug = debug
    if home is not None:
        os.environ["BAKEOFF_HOME"] = str(home)
    level = logging.DEBUG if debug else logging.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    for noisy in ("httpx", "httpcore", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def guarded(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code; an error becomes one paragraph, a traceback only with --debug."""
    try:
        code = command()
    except typer.Exit as exc:
        code = exc.exit_code
    except typer.Abort as exc:
        return _stopped() if isinstance(exc.__cause__, KeyboardInterrupt) else STOPPED
    except _Mistyped as exc:
        exc.show()
        return int(exc.exit_code)
    except KeyboardInterrupt:
        return _stopped()
    except BakeoffError as exc:
        return _failed(str(exc), exc.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as exc:  # noqa: BLE001 - the last resort: a fault of ours is said, not dumped
        return _failed(f"{type(exc).__name__}: {exc}. This is a fault in bakeoff; --debug shows where.", 1)
    if code == STOPPED:  # how typer says that it was interrupted
        return _stopped()
    return code if isinstance(code, int) else 0


def _stopped() -> int:
    err.print("stopped. What was finished is kept; `bakeoff run` goes on from there.")
    return STOPPED


def _failed(message: str, code: int) -> int:
    if _debug:
        err.print(masked(traceback.format_exc()), markup=False, soft_wrap=True)
    first, *rest = masked(message).splitlines() or [""]
    err.print(f"[bold red]error[/]  {escape(first)}", soft_wrap=True)
    for line in rest:
        err.print(f"       {escape(line)}", soft_wrap=True)
    return code


def marked(text: str) -> str:
    """A text from outside as a part of something rich draws: neither markup nor control characters do anything."""
    return escape(visible(text))


def say(text: str = "", style: str | None = None) -> None:
    """Print a line of plain text."""
    out.print(escape(text), style=style, soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning to the error stream."""
    err.print(f"[yellow]warning[/]  {escape(text)}", soft_wrap=True)


def say_json(value: object) -> None:
    """Print a value as JSON for a script."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=str)
    sys.stdout.write(visible_json(text) + "\n")


def table(headers: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
    """Print a plain table; the columns in `right` are right-aligned."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for i, header in enumerate(headers):
        grid.add_column(
            header, justify="right" if i in right else "left", overflow="fold", no_wrap=i in right
        )
    for row in rows:
        grid.add_row(*(marked(cell) for cell in row))
    out.print(grid)


def listener(quiet: bool = False) -> Emit:
    """Who shows a run's events: bars on a terminal, lines elsewhere, nothing if quiet."""
    from bakeoff.cli.progress import Bars, Lines
    from bakeoff.events import ignore

    if quiet:
        return ignore
    return Bars(err) if err.is_terminal else Lines(err)


def finish(listening: Emit) -> None:
    """Take the bars off the screen's end before other text is printed."""
    close = getattr(listening, "close", None)
    if close is not None:
        close()
