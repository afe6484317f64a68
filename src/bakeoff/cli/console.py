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
from rich.table import Table
from rich.text import Text

from bakeoff.cli.views.sanitise import VisibleFormatter, one_line, show_controls, visible_json
from bakeoff.errors import BakeoffError, SettingError
from bakeoff.runtime.events import Emit
from bakeoff.storage.redaction import redact

WIDTH_WITHOUT_TERMINAL = 110
STOPPED = 130
_LABEL = re.compile(r".{1,10}? {2,}")
_Mistyped: Any = typer.BadParameter.__mro__[2]  # ClickException: of click, or of typer's own copy of it


class _Terminal(Console):
    """A console on which no printed text can steer the terminal; cells and bars go through `plain`."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(show_controls(one) if isinstance(one, str) else one for one in objects), **how)


out = _Terminal(highlight=False, emoji=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
err = _Terminal(
    stderr=True, highlight=False, emoji=False, width=None if sys.stderr.isatty() else WIDTH_WITHOUT_TERMINAL
)
_debug = False
_json = False
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
    logging.captureWarnings(True)  # a client's warning may repeat what a server says
    for noisy in ("httpx", "httpcore", "urllib3", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def answer_in_json(yes: bool) -> None:
    """Whether a script reads the standard output: then a failure is JSON there too."""
    global _json  # noqa: PLW0603 - one process, one command
    _json = yes


def on_interrupt(kept: str) -> None:
    """What Ctrl-C leaves behind, for a command that can go on from there."""
    global _kept  # noqa: PLW0603 - one process, one command
    _kept = kept


def run_guarded(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code; an error becomes one paragraph, a traceback only with --debug."""
    try:
        code = command()
    except typer.Exit as exc:
        code = exc.exit_code
    except typer.Abort as exc:
        return _report_interrupt() if isinstance(exc.__cause__, KeyboardInterrupt) else STOPPED
    except _Mistyped as exc:
        if exc.ctx is not None:
            err.print(show_controls(exc.ctx.get_usage()), markup=False, soft_wrap=True)
        return _report_failure((exc.format_message(),), int(exc.exit_code), "UsageError")
    except KeyboardInterrupt:
        return _report_interrupt()
    except BakeoffError as exc:
        return _report_failure(exc.lines, exc.exit_code, type(exc).__name__)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as exc:
        return _report_failure((_os_failure(exc),), SettingError.exit_code, type(exc).__name__)
    except Exception as exc:  # noqa: BLE001 - the last resort: a fault of ours is reported, not dumped
        text = f"{type(exc).__name__}: {exc}. This is a fault in bakeoff; --debug shows where."
        return _report_failure((text,), 1, type(exc).__name__)
    if code == STOPPED:  # how typer says that it was interrupted
        return _report_interrupt()
    return code if isinstance(code, int) else 0


def _os_failure(exc: OSError) -> str:
    """The refusal of the operating system with the file it is about."""
    where = f"{exc.filename}: " if exc.filename is not None else ""
    return (
        f"{where}{exc.strerror or exc or type(exc).__name__}. Check the path, its permissions and the free space; "
        "BAKEOFF_HOME, --home and --out name the folders that are written to."
    )


def _report_interrupt() -> int:
    if _json:
        say_json({"error": {"kind": "Interrupted", "message": _kept, "exit_code": STOPPED}})
    _complain("stopped", "bold", (_kept,))
    return STOPPED


def _report_failure(lines: tuple[str, ...], code: int, kind: str) -> int:
    """Report a failure on the error stream, and as JSON to a script."""
    shown = tuple(redact(line) for line in lines)
    if _debug:
        err.print(_indent(redact(traceback.format_exc())), markup=False, soft_wrap=True)
    if _json:
        say_json({"error": {"kind": kind, "message": "\n".join(shown), "exit_code": code}})
    _complain("error", "bold red", shown)
    return code


def _indent(text: str) -> str:
    return "".join(f"  {line}" for line in text.splitlines(keepends=True))


def _complain(label: str, style: str, lines: tuple[str, ...]) -> None:
    """A label and lines on the error stream, further lines below the first; wrapped at words on a terminal only."""
    indent = " " * (len(label) + 2)
    room = max(err.width - len(indent), 30) if err.is_terminal else None
    first, *rest = [piece for line in lines for piece in _pieces(one_line(line), room)]
    err.print(Text.assemble((label, style), f"  {first}".rstrip()), soft_wrap=True)
    for line in rest:
        err.print(Text(f"{indent}{line}"), soft_wrap=True)


def _pieces(line: str, room: int | None) -> list[str]:
    """A line cut at words to so many characters; paths and names stay whole, to be copied."""
    import textwrap

    if room is None:
        return [line]
    return textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]


def plain(text: str) -> Text:
    """A text from outside as a part of something rich draws: no markup, emoji code or control character works."""
    return Text(one_line(text))


def print_line(text: str = "", style: str | None = None) -> None:
    """Print a line of plain text; on a terminal one that is too long goes on below its text, not below its label."""
    text = one_line(text)
    lines = [text]
    if out.is_terminal and len(text) > out.width and not text.startswith(" "):
        label = _LABEL.match(text)
        first, rest = (label.group(), text[label.end() :]) if label else ("", text)
        pieces = _pieces(rest, max(out.width - len(first), 30))
        lines = [f"{' ' * len(first) if i else first}{piece}" for i, piece in enumerate(pieces)]
    for line in lines:
        out.print(Text(line, style or ""), soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning to the error stream."""
    _complain("warning", "yellow", (redact(text),))


def say_json(value: object) -> None:
    """Print a value as JSON for a script."""
    text = json.dumps(value, indent=1, ensure_ascii=False, default=str)
    sys.stdout.write(visible_json(text) + "\n")


def table(headers: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
    """Print a plain table; the columns in `right` are right-aligned."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for i, header in enumerate(headers):
        grid.add_column(
            Text(show_controls(header)),
            justify="right" if i in right else "left",
            overflow="fold",
            no_wrap=i in right,
        )
    for row in rows:
        grid.add_row(*(plain(cell) for cell in row))
    out.print(grid)


def listener(quiet: bool = False) -> Emit:
    """Who shows a run's events: bars on a terminal, lines elsewhere, nothing if quiet."""
    from bakeoff.cli.views.progress import ProgressBars, ProgressLines
    from bakeoff.runtime.events import no_listener

    if quiet:
        return no_listener
    return ProgressBars(err) if err.is_terminal else ProgressLines(err)


def finish(listening: Emit) -> None:
    """Take the bars off the screen's end before other text is printed."""
    close = getattr(listening, "close", None)
    if close is not None:
        close()
