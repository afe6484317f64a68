from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from bakeoff import registry
from bakeoff.cli import console
from bakeoff.errors import BakeoffError, CacheError, SettingError, StoreError


def fails(exc: BaseException) -> Any:
    def command() -> None:
        raise exc

    return command


@pytest.fixture(autouse=True)
def plain(home: Any) -> Any:
    console.configure(debug=False, home=None)
    yield
    console.configure(debug=False, home=None)


@dataclass
class Row:
    name: str
    path: Path


def test_with_json_only_the_result_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with console.answer_in_json(True):
        console.warn("before the result")
        console.print_line("heading")
        assert console.print_json({"rows": [Row("a", Path("b"))], "counts": (1, 2)}) is True
        console.table(["name"], [["a"]])
        console.print_progress("working")
        console.warn("already in the result")
    out, err = capsys.readouterr()
    assert json.loads(out) == {"rows": [{"name": "a", "path": "b"}], "counts": [1, 2]}
    assert err.splitlines() == ["warning  before the result"]


def test_without_json_the_result_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    with console.answer_in_json(False):
        assert console.print_json(lambda: pytest.fail("not needed")) is False
        console.print_line("text")
        console.warn("note")
    assert capsys.readouterr() == ("text\n", "warning  note\n")


def test_a_command_inside_another_keeps_its_json(capsys: pytest.CaptureFixture[str]) -> None:
    with console.answer_in_json(True), console.answer_in_json(False):
        console.print_json([1])
    console.print_line("afterwards")
    assert capsys.readouterr().out == "[\n 1\n]\nafterwards\n"


@pytest.mark.parametrize(
    ("exc", "code"),
    [(SettingError("x"), 2), (StoreError("x"), 1), (CacheError("x"), 1), (BakeoffError("x"), 1)],
)
def test_each_error_has_its_code(exc: BakeoffError, code: int, capsys: Any) -> None:
    assert console.run_guarded(fails(exc)) == code
    assert capsys.readouterr() == ("", "error  x\n")


@pytest.mark.parametrize("words", [(), ("cache",)])
def test_a_command_without_arguments_prints_its_help(words: tuple[str, ...], capsys: Any) -> None:
    from bakeoff.cli.app import app

    assert console.run_guarded(lambda: app(list(words), standalone_mode=False)) == 2
    text = capsys.readouterr().err
    assert text.startswith("Usage: ") and "\n\nOptions:\n" in text and "error" not in text.splitlines()[-1]


def test_what_a_command_returns_is_the_code() -> None:
    assert console.run_guarded(lambda: 3) == 3
    assert console.run_guarded(lambda: None) == 0


def test_a_long_message_is_one_line_and_a_list_is_indented(capsys: Any) -> None:
    console.run_guarded(fails(SettingError(lines=["first " + "word " * 60, "second"])))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[1] == "       second"


def test_markup_in_a_message_is_text(capsys: Any) -> None:
    console.run_guarded(fails(SettingError("faiss[ef=16] and [bold]x[/bold] and [/]")))
    assert "faiss[ef=16] and [bold]x[/bold] and [/]" in capsys.readouterr().err


def test_a_bug_is_one_line_without_a_traceback(capsys: Any) -> None:
    assert console.run_guarded(fails(KeyError("x"))) == 1
    written = capsys.readouterr().err
    assert written.startswith("error  KeyError: 'x'. ") and "--debug" in written and written.count("\n") == 1


def test_a_bug_in_a_plug_in_is_reported_with_its_module(register: Any, capsys: Any) -> None:
    class Crashing:
        version = "1"

        def chunk(self, document: str) -> None:
            raise KeyError(document)

    register("chunkers", "crashing", Crashing)
    chunker: Any = registry.load("chunkers", "crashing")()
    assert console.run_guarded(lambda: chunker.chunk("x")) == 1
    assert f"bug in {__name__};" in capsys.readouterr().err


def test_debug_shows_the_traceback(capsys: Any) -> None:
    console.configure(debug=True, home=None)
    assert console.run_guarded(fails(SettingError("no"))) == 2
    said = capsys.readouterr().err
    assert "Traceback" in said and "raise exc" in said and "error  no" in said


def test_an_interrupt_prints_how_to_resume(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    app.command()(fails(KeyboardInterrupt()))
    monkeypatch.setattr(console, "_resume_hint", "")
    assert console.run_guarded(lambda: app([], standalone_mode=False)) == 130
    assert capsys.readouterr().err == "stopped\n"
    console.on_interrupt("What was finished is kept.")
    assert console.run_guarded(lambda: app([], standalone_mode=False)) == 130
    assert capsys.readouterr().err == "stopped  What was finished is kept.\n"


def test_declining_a_confirmation_is_not_an_error(capsys: Any) -> None:
    assert console.run_guarded(fails(typer.Abort())) == 130
    assert capsys.readouterr().err == ""


def test_lines_without_a_terminal(capsys: Any) -> None:
    from bakeoff.cli.views.progress import ProgressLines
    from bakeoff.runtime.events import no_listener

    assert isinstance(console.listener(), ProgressLines)
    assert console.listener(quiet=True) is no_listener


def test_tables_keep_brackets(capsys: Any) -> None:
    console.table(["a", "b"], [["faiss[ef=16]", "1"]], right=(1,))
    assert "faiss[ef=16]" in capsys.readouterr().out


class Screen:
    """A terminal of so many characters that keeps what was printed on it."""

    def __init__(self, width: int) -> None:
        self.text = io.StringIO()
        self.console = console._Terminal(file=self.text, width=width, force_terminal=True, color_system=None)

    @property
    def lines(self) -> list[str]:
        return self.text.getvalue().splitlines()


def test_on_a_terminal_an_error_is_wrapped_at_words_below_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(60)
    monkeypatch.setattr(console, "err", screen.console)
    text = "queries.yaml, line 2: unknown key. " + "Known keys: category, difficulty, filter, id. " * 2
    console.run_guarded(fails(SettingError(lines=[text, "second"])))
    first, *rest = screen.lines
    assert first.startswith("error  queries.yaml") and len(rest) > 1
    assert all(len(line) <= 60 for line in screen.lines)
    assert all(line.startswith("       ") and line[7] != " " for line in rest) and rest[-1] == "       second"
    assert " ".join(line.split("  ")[-1].strip() for line in screen.lines[:-1]).split() == text.split()


def test_a_long_line_goes_on_below_its_text_not_below_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(50)
    monkeypatch.setattr(console, "out", screen.console)
    console.print_line("left out  300 files of other kinds (136 .Debian, 129 without an ending and 35 more)")
    console.print_line("Next      bakeoff run")
    first, *rest, last = screen.lines
    assert first.startswith("left out  300 files") and rest and last == "Next      bakeoff run"
    assert all(line.startswith(" " * 10) and line[10] != " " and len(line) <= 50 for line in rest)


def test_a_path_is_not_cut_so_that_it_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(40)
    monkeypatch.setattr(console, "err", screen.console)
    path = "a/very/long/path/that/does/not/fit/on/this/narrow/terminal.yaml"
    console.run_guarded(fails(SettingError(f"cannot read {path}")))
    assert path in screen.text.getvalue()


@pytest.mark.parametrize("debug", [False, True])
def test_warnings_of_libraries_are_shown_with_debug_only(debug: bool) -> None:
    console.configure(debug=debug, home=None)
    assert logging.getLogger("py.warnings").isEnabledFor(logging.WARNING) is debug


@pytest.mark.parametrize("columns", [60, 90])
def test_without_a_terminal_columns_sets_the_width(columns: int) -> None:
    command = [sys.executable, "-m", "bakeoff", "list", "stores"]
    env = os.environ | {"COLUMNS": str(columns)}
    shown = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
    assert columns * 0.8 < max(map(len, shown.splitlines())) <= columns
