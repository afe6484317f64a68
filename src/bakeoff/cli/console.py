"""The only place that prints, and the only place that turns errors into exit codes.

A command hands its result to `print_json` and then describes it with lines, tables and warnings. With --json the
console prints only the first, without it only the rest.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bakeoff.cli.views.sanitise import VisibleFormatter, one_line, show_controls, visible_json
from bakeoff.errors import BakeoffError, SettingError
from bakeoff.runtime.count_text import HARD_SPACE, keep_together
from bakeoff.runtime.events import Emit
from bakeoff.storage import plugin_output
from bakeoff.storage.redaction import redact

WIDTH_WITHOUT_TERMINAL = 110
STOPPED = 130
_LABEL = re.compile(r".{1,10}? {2,}")
NO_ARGUMENTS = "NoArgsIsHelpError"
"""What typer raises for a command without arguments: its message is the help."""
_Mistyped: Any = typer.BadParameter.__mro__[
    2
]  # ClickException comes from click or from typer's own copy of it


class _Terminal(Console):
    """A console that escapes control characters; table cells and bars use `plain`."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(
            *(show_controls(value) if isinstance(value, str) else value for value in objects), **how
        )


def _width(stream: TextIO) -> int | None:
    """None for a terminal, or if COLUMNS is set: then rich finds the width."""
    return None if stream.isatty() or "COLUMNS" in os.environ else WIDTH_WITHOUT_TERMINAL


out = _Terminal(highlight=False, emoji=False, width=_width(sys.stdout))
err = _Terminal(stderr=True, highlight=False, emoji=False, width=_width(sys.stderr))
_debug = False
_failures_in_json = False
_json = False
_answered = False
_resume_hint = ""


def configure(*, debug: bool, home: Path | None) -> None:
    """Apply the options of all commands."""
    global _debug  # noqa: PLW0603 - one process, one command
    _debug = debug
    if home is not None:
        os.environ["BAKEOFF_HOME"] = str(home)
    level = logging.DEBUG if debug else logging.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    logging.captureWarnings(True)  # a client's warning may quote text from a server
    # library warnings, here and in worker processes, are shown only with --debug
    logging.getLogger("py.warnings").setLevel(logging.DEBUG if debug else logging.ERROR)
    if not debug:
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
    for noisy in ("httpx", "httpcore", "urllib3", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def report_failures_in_json(yes: bool) -> None:
    """Print failures as JSON too, for a script that reads standard output."""
    global _failures_in_json  # noqa: PLW0603 - one process, one command
    _failures_in_json = yes


@contextmanager
def answer_in_json(yes: bool) -> Iterator[None]:
    """While a command runs with --json, `print_json` prints and lines, tables and progress do not."""
    global _json, _answered  # noqa: PLW0603 - one process, one command
    before = _json
    _json = before or yes
    try:
        yield
    finally:
        _json, _answered = before, False


def on_interrupt(hint: str) -> None:
    """Set what to print after Ctrl-C, for a command that can be resumed."""
    global _resume_hint  # noqa: PLW0603 - one process, one command
    _resume_hint = hint


def run_guarded(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code; an error becomes one paragraph, a traceback only with --debug."""
    try:
        code = command()
    except typer.Exit as exc:
        code = exc.exit_code
    except typer.Abort as exc:
        return _report_interrupt() if isinstance(exc.__cause__, KeyboardInterrupt) else STOPPED
    except _Mistyped as exc:
        if type(exc).__name__ == NO_ARGUMENTS:
            err.print(show_controls(exc.format_message()), markup=False, highlight=False, soft_wrap=True)
            return int(exc.exit_code)
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
    except Exception as exc:  # noqa: BLE001 - last resort: a bug is reported in one line, without a traceback
        text = f"{type(exc).__name__}: {exc}. This is a bug in {_module_at_fault(exc)}; --debug shows where."
        return _report_failure((text,), 1, type(exc).__name__)
    if code == STOPPED:  # typer's exit code after an interrupt
        return _report_interrupt()
    return code if isinstance(code, int) else 0


def _module_at_fault(exc: Exception) -> str:
    """The module of the plug-in that raised an error, or bakeoff."""
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(exc.__traceback__)]
    called = [after for before, after in pairwise(modules) if before == plugin_output.__name__]
    return next((name for name in called if name.split(".")[0] != "bakeoff"), "bakeoff")


def _os_failure(exc: OSError) -> str:
    """An error of the operating system with its file and what to check."""
    where = f"{exc.filename}: " if exc.filename is not None else ""
    return (
        f"{where}{exc.strerror or exc or type(exc).__name__}. Check the path, its permissions and the free space; "
        "BAKEOFF_HOME, --home and --out choose the folders to write to."
    )


def _report_interrupt() -> int:
    if _failures_in_json:
        _write_json({"error": {"kind": "Interrupted", "message": _resume_hint, "exit_code": STOPPED}})
    _complain("stopped", "bold", (_resume_hint,))
    return STOPPED


def _report_failure(lines: tuple[str, ...], code: int, kind: str) -> int:
    """Report a failure on the error stream, and as JSON to a script."""
    shown = tuple(redact(line) for line in lines)
    if _debug:
        err.print(_indent(redact(traceback.format_exc())), markup=False, soft_wrap=True)
    if _failures_in_json:
        _write_json({"error": {"kind": kind, "message": "\n".join(shown), "exit_code": code}})
    _complain("error", "bold red", shown)
    return code


def _indent(text: str) -> str:
    return "".join(f"  {line}" for line in text.splitlines(keepends=True))


def _complain(label: str, style: str, lines: tuple[str, ...]) -> None:
    """Print a label and lines to the error stream; a terminal wraps them at words."""
    indent = " " * (len(label) + 2)
    room = max(err.width - len(indent), 30) if err.is_terminal else None
    first, *rest = [piece for line in lines for piece in _pieces(one_line(line), room)]
    err.print(Text.assemble((label, style), f"  {first}".rstrip()), soft_wrap=True)
    for line in rest:
        err.print(Text(f"{indent}{line}"), soft_wrap=True)


def _pieces(line: str, room: int | None) -> list[str]:
    """A line wrapped at words; paths and names stay whole, so that they can be copied."""
    if room is None:
        return [line]
    return textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]


def plain(text: str) -> Text:
    """Untrusted text for rich: markup, emoji codes and control characters have no effect."""
    return Text(one_line(text))


def print_line(text: str = "", style: str | None = None) -> None:
    """Print a line of plain text; on a terminal, a long one wraps below its text, not below its label."""
    if _json:
        return
    text = one_line(text)
    lines = [text]
    if out.is_terminal and len(text) > out.width and not text.startswith(" "):
        label = _LABEL.match(text)
        first, rest = (label.group(), text[label.end() :]) if label else ("", text)
        pieces = _pieces(rest, max(out.width - len(first), 30))
        lines = [f"{' ' * len(first) if i else first}{piece}" for i, piece in enumerate(pieces)]
    for line in lines:
        out.print(Text(line, style or ""), soft_wrap=True)


def print_paragraph(text: str, first: str = "", rest: str | None = None) -> None:
    """Print text wrapped to the width, after `first`; further lines begin with `rest`, by default as many blanks."""
    indent = " " * len(first) if rest is None else rest
    room = max(out.width, len(indent) + 40)
    lines = textwrap.wrap(
        keep_together(one_line(text)),
        room,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines or [first]:
        print_line(line.replace(HARD_SPACE, " "))


def print_excerpt(text: str, words: list[str], indent: int) -> None:
    """Print a piece of a document wrapped to the width, with some words in bold."""
    if _json:
        return
    for line in textwrap.wrap(one_line(text), max(min(out.width, 100) - indent, 30)):
        shown = Text(" " * indent + line)
        shown.highlight_words(words, "bold", case_sensitive=False)
        out.print(shown, soft_wrap=True)


def has_room(columns: int, each: int) -> bool:
    """Whether this many columns of at least `each` characters fit side by side."""
    return columns > 1 and out.width // columns >= each


def print_side_by_side(rows: list[list[str]], words: list[str]) -> None:
    """Print rows of cells in columns of equal width, the first row in bold, with some words in bold."""
    if _json:
        return
    grid = Table.grid(padding=(0, 2, 1, 0), expand=True)
    for _ in rows[0]:
        grid.add_column(ratio=1, overflow="fold")
    for number, row in enumerate(rows):
        cells = [Text(show_controls(cell), "" if number else "bold") for cell in row]
        for cell in cells:
            cell.highlight_words(words, "bold", case_sensitive=False)
        grid.add_row(*cells)
    out.print(grid)


def warn(text: str) -> None:
    """Print a warning to the error stream, unless the JSON that was printed already has it."""
    if not _answered:
        _complain("warning", "yellow", (redact(text),))


def print_progress(text: str) -> None:
    """Print what a command is doing to the error stream; nothing with --json."""
    if not _json:
        err.print(text, style="dim", markup=False)


def print_json(value: object | Callable[[], object]) -> bool:
    """With --json, print a command's result, or what a function returns for it; whether it did."""
    global _answered  # noqa: PLW0603 - one process, one command
    if _json:
        _write_json(value() if callable(value) else value)
        _answered = True
    return _json


def _write_json(value: object) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, default=_plain_value)
    sys.stdout.write(visible_json(text) + "\n")


def _plain_value(value: object) -> object:
    """What JSON has no type for: fields of a dataclass, else text."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def print_paths(label: str, paths: Iterable[Path]) -> None:
    """Print paths, one per line, the first with a label."""
    for number, path in enumerate(paths):
        print_line(f"{'' if number else label:<9}{path}")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Container[int] = ()) -> None:
    """Print a plain table; the columns in `right` are right-aligned."""
    if _json:
        return
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
    """The listener that shows a run's progress: bars on a terminal, lines elsewhere, nothing if quiet."""
    from bakeoff.cli.views.progress import ProgressBars, ProgressLines
    from bakeoff.runtime.events import no_listener

    if quiet or _json:
        return no_listener
    return ProgressBars(err) if err.is_terminal else ProgressLines(err)


def finish(listening: Emit) -> None:
    """Stop the progress bars before other text is printed."""
    close = getattr(listening, "close", None)
    if close is not None:
        close()
