"""Names from corpora, query files and experiments stay inside the folders they are used in."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.errors import BakeoffError
from bakeoff.report.exports.ir_formats import ExportChoice, Format, _file_name
from bakeoff.review.pool import ReturnedPassage, ReviewItem, ReviewPool, item_id
from bakeoff.review.sheet_reader import read_sheet
from bakeoff.review.sheet_writer import file_name, write_sheets
from bakeoff.runs.choose_folder import slug
from bakeoff.runs.run import run
from bakeoff.truth.queries import read_queries
from bakeoff.types import Skipped, SourceItem

HOSTILE = [
    "../../escaped",
    "/tmp/escaped",
    "..",
    "a/../../b",
    "..\\..\\escaped",
    "a\x00b",
    "~/x",
    "C:\\x",
    "-rf",
    "…/x",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_become_one_plain_file_name(name: str) -> None:
    for made in (slug(name), file_name(name, name)):
        assert Path(made).name == made and made not in ("", ".", "..")
        assert not set(made) & set("/\\\x00:~") and not made.startswith(("-", "."))


def test_systems_that_look_alike_as_file_names_stay_apart() -> None:
    taken: dict[str, str] = {}
    for system in ("a · b", "a / b", "../a-b"):
        name = _file_name(system, taken, ExportChoice(Format.TREC))
        assert name not in taken and Path(name).parent == Path("runs")
        taken[name] = ""


# --- the corpus ---------------------------------------------------------------------------------------


def test_review_files_of_queries_that_look_alike_stay_apart(tmp_path: Path) -> None:
    items = tuple(
        ReviewItem(item_id(query, "d", 0, 9), query, "what failed", "c", "d", 0, 9, "", "a passage",
                   returned=(ReturnedPassage("a", 1, "d#0", 0, 9, 0.5),))
        for query in ("q 1", "q|1", "q-1")
    )  # fmt: skip
    pool = ReviewPool("run", 1, 7, ("a",), items)
    written = write_sheets(pool, tmp_path, {})
    assert {read_sheet(path).query_id for path in written.paths} == {"q 1", "q|1", "q-1"}
    assert write_sheets(pool, tmp_path, {}).kept == written.paths


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside" / "secret.md"
    path.parent.mkdir()
    path.write_text("do-not-read-this\n")
    return path


def test_links_that_lead_out_of_the_corpus_are_not_followed(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.md").write_text("inside\n")
    (folder / "file.md").symlink_to(outside)
    (folder / "folder").symlink_to(outside.parent, target_is_directory=True)
    (folder / "device.md").symlink_to("/dev/zero")
    source = registry.load("sources", "folder")
    made = source(source.Params(folder=folder))
    items = list(made.items())
    assert [item.id for item in items if isinstance(item, SourceItem)] == ["a.md"]
    assert {item.id for item in items if isinstance(item, Skipped)} == {"file.md", "folder/", "device.md"}


def test_a_file_that_becomes_a_link_between_listing_and_reading(tmp_path: Path, outside: Path) -> None:
    """The content is named by its hash: what is not what was listed is not read as it."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.md").write_text("inside\n")
    source = registry.load("sources", "folder")
    made = source(source.Params(folder=folder))
    (item,) = made.items()
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to(outside)
    with pytest.raises(BakeoffError, match="changed"):
        made.read(item)


def test_a_pipe_in_the_corpus_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("inside\n")
    os.mkfifo(tmp_path / "pipe.md")
    source = registry.load("sources", "folder")
    items = list(source(source.Params(folder=tmp_path)).items())
    assert [(item.id, item.reason) for item in items if isinstance(item, Skipped)] == [
        ("pipe.md", "no regular file")
    ]


def test_files_that_are_none_are_named_and_keep_nobody_waiting(tmp_path: Path) -> None:
    """A pipe, a socket, a name as long as one may be, a name and a folder that are no UTF-8."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    longest = "x" * 252 + ".md"
    (folder / longest).write_text("text\n")
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "s.md"))
    (folder / os.fsdecode(b"\xff.md")).write_text("text\n")
    (folder / os.fsdecode(b"\xfe")).mkdir()
    (folder / os.fsdecode(b"\xfe") / "a.md").write_text("text\n")
    (folder / os.fsdecode(b"\xfd")).symlink_to(tmp_path, target_is_directory=True)
    source = registry.load("sources", "folder")
    items = list(source(source.Params(folder=folder)).items())
    assert [item.id for item in items if isinstance(item, SourceItem)] == [longest]
    assert {item.id: item.reason.split(":")[0].removeprefix("file name is ") for item in items if isinstance(item, Skipped)} == {
        "pipe.md": "no regular file", "s.md": "no regular file", "\\udcff.md": "not UTF-8",
        "\\udcfe/a.md": "not UTF-8", "\\udcfd/": "symbolic link",
    }  # fmt: skip


# --- whole runs ---------------------------------------------------------------------------------------


def _queries(names: list[str]) -> str:
    asked = [
        {"id": name, "text": f"question {place}", "truth": {"documents": ["guide/auth.md"]}, "category": "../../c",
         "difficulty": "medium"}
        for place, name in enumerate(names)
    ]  # fmt: skip
    return json.dumps({"queries": asked})


def _tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.fixture
def hostile(home: Path, laid_out: Callable[..., Path], tmp_path: Path) -> Path:
    """A run whose name, query ids and categories are paths that lead outside; returns its folder."""
    ids = ["../../../escaped", "/tmp/bakeoff-escaped", "a/b/../../../x", "..\\x"]
    text = 'name: "../../escaped"\ncorpus: {folder: corpus}\nqueries: queries.json\nchunkers: [line]\n'
    path = laid_out(
        Path.cwd(), text + "embedders: [{wordllama: {dims: 64}}]\nstores: [exact]\nmodes: [dense, bm25]\n"
    )
    Path("queries.json").write_text(_queries(ids))
    assert [query.id for query in read_queries(Path("queries.json")).queries] == ids
    return run(path).path


def test_a_run_and_what_is_made_of_it_stay_in_their_folders(hostile: Path, cli: Any, tmp_path: Path) -> None:
    assert hostile.resolve().parent == Path("runs").resolve()
    before = _tree(tmp_path)
    cli("report", hostile, "--format", "html,md,latex", "--out", "out/report")
    cli("export", hostile, "--format", "trec", "--out", "out/trec")
    cli("export", hostile, "--format", "beir", "--out", "out/beir")
    for preset in ("goldsql", "lineage", "code", "vectordb", "ann"):
        cli("export", hostile, "--preset", preset, "--out", f"out/{preset}", code=None)
    cli("review", "export", hostile, code=None)
    new = {path for path in _tree(tmp_path) - before if not path.startswith("home/")}
    allowed = ("work/out", "work/reviews", f"work/runs/{hostile.name}", "work/review")
    assert new and all(path.startswith(allowed) for path in new), sorted(new)
    assert not Path("/tmp/bakeoff-escaped").exists()
