"""With --json every failure of every command is JSON on the standard output, with an exit code that is not 0."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from loopback import Loopback

from bakeoff import registry
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.errors import StoreError


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that has the option --json, with the words that name it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        elif any("--json" in option.opts for option in command.params):
            yield (*words, name), command


FOUND = dict(commands(typer.main.get_command(app)))


@pytest.fixture
def answered(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Types a command and gives its exit code and what its standard output holds as JSON."""

    def typed(*words: object) -> tuple[int, Any]:
        capsys.readouterr()
        code = console.run_guarded(lambda: app([str(word) for word in words], standalone_mode=False))
        out = capsys.readouterr().out
        return code, json.loads(out)

    return typed


def test_the_commands_with_json_are_found() -> None:
    assert len(FOUND) >= 20
    assert {("run",), ("status",), ("review", "status"), ("servers", "status")} <= {*FOUND}


@pytest.mark.parametrize("words", FOUND, ids=" ".join)
def test_an_option_that_does_not_exist(
    words: tuple[str, ...], answered: Callable[..., tuple[int, Any]]
) -> None:
    code, said = answered(*words, "--json", "--no-such-option")
    assert code == 2 and said["error"]["exit_code"] == 2 and "--no-such-option" in said["error"]["message"]


BESIDE = {"evaluate": ["--run", "nope"]}
ALWAYS = {
    ("servers", "status"),
    ("list",),
    ("models", "list"),
    ("models", "bench"),
    ("examples",),
    ("cache", "info"),
    ("data", "list"),
}


@pytest.mark.parametrize("words", FOUND, ids=" ".join)
def test_files_that_do_not_exist(words: tuple[str, ...], answered: Callable[..., tuple[int, Any]]) -> None:
    """Each argument is a name that nothing has; a command that needs nothing succeeds."""
    needed = [one for one in FOUND[words].params if one.required or one.param_type_name == "argument"]
    given: list[object] = []
    for one in needed:
        given += ["no-such-thing"] if one.param_type_name == "argument" else [one.opts[0], "no-such-thing"]
    code, said = answered(*words, *given, "--json")
    if code == 0:
        assert words in ALWAYS or not needed
    else:
        assert said.get("error", {}).get("exit_code", code) == code if isinstance(said, dict) else True


def test_status_of_nothing_is_an_error(answered: Callable[..., tuple[int, Any]]) -> None:
    code, said = answered("status", "nope", "--json")
    assert code == 2 and said["error"]["kind"] == "DataError"


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (StoreError("gone"), "StoreError", 1),
        (RuntimeError("ours"), "RuntimeError", 1),
        (PermissionError(13, "Permission denied", "/x"), "PermissionError", 2),
        (KeyboardInterrupt(), "Interrupted", 130),
    ],
)
def test_any_fault_is_json(
    fault: BaseException,
    kind: str,
    code: int,
    answered: Callable[..., tuple[int, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bakeoff.cli import status

    def fail(*_: object) -> Any:
        raise fault

    monkeypatch.setattr(status, "status_json", fail)
    ended, said = answered("status", "runs", "--json")
    assert (ended, said["error"]["kind"], said["error"]["exit_code"]) == (code, kind, code)


HOME_COMMANDS = [
    ["run", "--out", "run"], ["validate"], ["servers", "status"], ["models", "list"], ["cache", "info"],
    ["ann", "synthetic:50x4", "--stores", "exact"],
]  # fmt: skip


@pytest.mark.parametrize("words", HOME_COMMANDS, ids=" ".join)
@pytest.mark.parametrize("place", ["file/home", "/proc/no-home"])
def test_a_home_that_cannot_be_written(
    words: list[str],
    place: str,
    cli: Callable[..., str],
    laid_out: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laid_out(Path.cwd(), "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [line]\nmodes: [bm25]\n")
    Path("file").touch()
    monkeypatch.setenv("BAKEOFF_HOME", place)
    said = cli(*words, code=None)
    assert "bug in bakeoff" not in said
    if words[0] == "run":
        assert cli(*words, code=None) and not re.search(r"Traceback", said)
        assert Path(place).name in said or "home" in said


@pytest.mark.parametrize("name", ["nonsense", "P@7", "", "nDCG@10(answer)", "RBP(p=2)"])
def test_a_primary_measure_that_was_edited_by_hand(
    name: str, home: Path, cli: Callable[..., str], laid_out: Callable[..., Path]
) -> None:
    laid_out(Path.cwd(), "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [line]\nmodes: [bm25]\n")
    cli("run", "--out", "run", "-q")
    record = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps({**record, "primary": name}))
    assert "bug in bakeoff" not in cli("report", "run", code=2)
    for words in (("status", "run"), ("final-report", "run"), ("gate", "run", "run"), ("review", "export", "run"),
                  ("export", "run", "--preset", "lineage", "--out", "e"), ("history", ".")):  # fmt: skip
        assert "bug in bakeoff" not in cli(*words, code=None)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("name", ["opensearch", "elasticsearch", "weaviate"])
def test_a_redirect_of_a_store(name: str, status: int, home: Path) -> None:
    """It is named, and neither followed nor taken for an answer; the key would go along."""
    plugin = registry.load("stores", name)
    with Loopback(lambda _: (200, {})) as other:
        answer = status, "", {"Location": f"{other.url}/elsewhere"}
        with Loopback(lambda _: answer) as server, pytest.raises(StoreError, match="redirect") as caught:
            plugin(plugin.Params(url=server.url), home).engine_version()
        assert other.host in str(caught.value) and other.requests == []
