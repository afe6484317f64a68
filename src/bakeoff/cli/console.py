"""The only place that prints, and the only place that turns errors into exit codes."""

from __future__ import annotations

import json
import logging
import os
import re
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
from bakeoff.errors import BakeoffError
from bakeoff.events import Emit
from bakeoff.redaction import redact

WIDTH_WITHOUT_TERMINAL = 110
STOPPED = 130
_LABEL = re.compile(r".{1,10}? {2,}")
_Mistyped: Any = typer.BadParameter.__mro__[2]  # ClickException: of click, or of typer's own copy of it


class _Terminal(Console):
    """A console on which no printed text can steer the terminal; cells and bars go through `marked`."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **how)


out = _Terminal(highlight=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
err = _Terminal(stderr=True, highlight=False, width=None if sys.stderr.isatty() else WIDTH_WITHOUT_TERMINAL)
_debug = False
_kept = ""


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
    for noisy in ("httpx", "httpcore", "urllib3", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def if_stopped(kept: str) -> None:
    """What Ctrl-C leaves behind, for a command that can go on from there."""
    global _kept  # noqa: PLW0603 - one process, one command
    _kept = kept


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
    _complain("stopped", "bold", _kept)
    return STOPPED


def _failed(message: str, code: int) -> int:
    if _debug:
        err.print(redact(traceback.format_exc()), markup=False, soft_wrap=True)
    _complain("error", "bold red", redact(message))
    return code


def _complain(label: str, style: str, text: str) -> None:
    """A label and a text on the error stream, further lines below the first; wrapped at words on a terminal only."""
    indent = " " * (len(label) + 2)
    room = max(err.width - len(indent), 30) if err.is_terminal else None
    first, *rest = [piece for line in text.splitlines() or [""] for piece in _pieces(line, room)]
    err.print(f"[{style}]{label}[/]  {escape(first)}".rstrip(), soft_wrap=True)
    for line in rest:
        err.print(f"{indent}{escape(line)}", soft_wrap=True)


def _pieces(line: str, room: int | None) -> list[str]:
    """A line cut at words to so many characters; paths and names stay whole, to be copied."""
    import textwrap

    if room is None:
        return [line]
    return textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]


def marked(text: str) -> str:
    """A text from outside as a part of something rich draws: neither markup nor control characters do anything."""
    return escape(visible(text))


def say(text: str = "", style: str | None = None) -> None:
    """Print a line of plain text; on a terminal one that is too long goes on below its text, not below its label."""
    lines = [text]
    if out.is_terminal and len(text) > out.width and not text.startswith(" "):
        label = _LABEL.match(text)
        first, rest = (label.group(), text[label.end() :]) if label else ("", text)
        pieces = _pieces(rest, max(out.width - len(first), 30))
        lines = [f"{' ' * len(first) if i else first}{piece}" for i, piece in enumerate(pieces)]
    for line in lines:
        out.print(escape(line), style=style, soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning to the error stream."""
    _complain("warning", "yellow", text)


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
