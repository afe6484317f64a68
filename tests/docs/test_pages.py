"""What the pages say can be typed: commands exist, links lead somewhere, YAML is accepted."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
import yaml

from bakeoff.cli.app import app
from bakeoff.config import experiment
from bakeoff.config.experiment_file import ExperimentFile
from bakeoff.errors import MissingExtraError
from bakeoff.truth.queries import read_queries

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if "reference" not in path.relative_to(ROOT).parts
)
COMMANDS: Any = typer.main.get_command(app)
WRONG_USE = typer.BadParameter.__mro__[1]  # UsageError, of whichever click Typer brings
FENCE = re.compile(r"^ *(`{3,})(\w*)\n(.*?)^ *\1$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!\\)`(bakeoff [a-z-][^`]*)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def fenced(page: Path, *languages: str) -> Iterator[str]:
    """The fenced blocks of a page in these languages."""
    for _, language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield body


def commands(page: Path) -> Iterator[str]:
    """Every `bakeoff …` of a page: in blocks of commands, and within sentences."""
    for body in fenced(page, "", "sh"):
        for line in body.replace("\\\n", " ").splitlines():
            typed = line.strip().removeprefix("$ ").removeprefix("- run: ")
            if typed.startswith("bakeoff "):
                yield typed
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    yield from (" ".join(found.split()) for found in INLINE.findall(text))


def parsed(words: list[str]) -> None:
    """Follow groups down to a command and let it look at the options; an unknown one is an error."""
    group, context = COMMANDS, COMMANDS.context_class(COMMANDS)
    _, rest, _ = group.make_parser(context).parse_args(list(words))
    while hasattr(group, "commands"):
        if not rest or rest[0] == "…" or rest[0].isupper():
            return  # a mention, not a call
        assert rest[0] in group.commands, f"there is no command {rest[0]!r}"
        group, rest = group.commands[rest[0]], rest[1:]
        context = group.context_class(group, info_name="docs", parent=context)
        _, rest, _ = group.make_parser(context).parse_args(rest)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_exist(page: Path) -> None:
    for command in commands(page):
        words = shlex.split(command, comments=True)[1:]
        try:
            parsed([*words, "…"] if "…" in words else words)  # a sentence may leave out an option's value
        except (AssertionError, WRONG_USE) as exc:
            pytest.fail(f"{named(page)}: `{command}`: {exc}")


def test_an_unknown_option_is_noticed() -> None:
    with pytest.raises(WRONG_USE, match="--nonsense"):
        parsed(["run", "--nonsense"])
    with pytest.raises(AssertionError, match="no command 'walk'"):
        parsed(["walk"])


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        path = target.split("#")[0]
        if not path or re.match(r"[a-z]+:", path):
            continue
        made = path.startswith("reference/") and page.parent == ROOT / "docs"
        known = path.removeprefix("reference/") in REFERENCE if made else (page.parent / path).exists()
        assert known, f"{named(page)} links to {target}"


REFERENCE = set(re.findall(r'"(\w+\.md)"', (ROOT / "docs" / "reference.py").read_text(encoding="utf-8")))


def blocks_of_yaml() -> list[Any]:
    """Fenced YAML that is an experiment, a part of one, or a query file."""
    found = []
    for page in PAGES:
        if page.name == "plugin-guide.md":  # test_plugin_guide.py registers its plug-ins first
            continue
        for number, body in enumerate(fenced(page, "yaml"), start=1):
            found.append(pytest.param(body, id=f"{named(page)}-{number}"))
    return found


@pytest.mark.parametrize("text", blocks_of_yaml())
def test_yaml_is_accepted(text: str, tmp_path: Path) -> None:
    data = yaml.safe_load(text)
    if isinstance(data.get("queries"), list):
        file = tmp_path / "queries.yaml"
        file.write_text(text, encoding="utf-8")
        assert read_queries(file).queries
        return
    assert set(data) <= set(ExperimentFile.model_fields), "neither an experiment nor a query file"
    missing = {"corpus": "{folder: .}", "queries": "queries.yaml"}
    lines = [f"{key}: {value}\n" for key, value in missing.items() if key not in data]
    file = tmp_path / "bakeoff.yaml"
    file.write_text(text + "\n" + "".join(lines), encoding="utf-8")
    try:
        assert experiment.load(file).systems
    except MissingExtraError as exc:
        pytest.skip(str(exc))


def script(name: str) -> ModuleType:
    """A script of the docs folder."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_tutorial_and_the_readme_have_commands_to_run() -> None:
    tried = script("try_commands")
    tutorial = [block.body for block in tried.blocks("docs/tutorial.md")]
    typed = "\n".join(tutorial)
    for word in ("init", "suggest", "validate", "run", "report", "compare", "review", "gate"):
        assert f"bakeoff {word}" in typed
    readme = list(tried.blocks("README.md"))
    assert any(block.fresh and "make demo" in block.body for block in readme)
    assert any(not block.fresh and "bakeoff run" in block.body for block in readme)


def test_a_block_that_fails_is_reported(tmp_path: Path) -> None:
    tried = script("try_commands")
    assert tried._ran(tried.Block("page", 1, "true\n", ""), tmp_path)
    assert not tried._ran(tried.Block("page", 1, "false\ntrue\n", ""), tmp_path)
    assert tried._ran(tried.Block("page", 1, "exit 1\n", "may exit with 1"), tmp_path)
    assert not tried._ran(tried.Block("page", 1, "exit 2\n", "may exit with 1"), tmp_path)


WORDS = (
    "corpus document chunk vector index store ranking score comparison verdict query category difficulty intent truth "
    "judgment unit grade source system chunker embedder mode reranker experiment run measure review load "
    "embedding MRR Hit@k Parquet YAML fingerprint artifact plug-in preset prices record"
)


def test_the_glossary_has_the_words_that_are_used() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for name in WORDS.split():
        assert re.search(rf"^\| [^|]*\b{re.escape(name)}", text, re.MULTILINE), name
