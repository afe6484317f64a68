"""F64: a finished run replaced by another experiment's without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import SettingError
from bakeoff.runs.analysis import open_run
from bakeoff.runs.run import run


@pytest.fixture
def two(small: Path) -> tuple[Path, Path]:
    """The small experiment, finished in the folder r, and another of the same corpus and name beside it."""
    other = small.with_name("b.yaml")
    other.write_text(small.read_text().replace("modes: [dense]", "modes: [bm25]"))
    run(small, out="r")
    return small, other


def test_f64_the_run_of_another_experiment_is_refused_and_named(two: tuple[Path, Path], cli: Any) -> None:
    before = {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()}
    done = cli("run", two[1], "--out", "r", "--quiet")
    told = " ".join(done.err.split())
    assert done.code == 2 and "small (bakeoff.yaml)" in told and "--force" in told
    assert {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()} == before


def test_f64_force_moves_the_old_run_aside_whole(two: tuple[Path, Path], cli: Any) -> None:
    before = {path.relative_to("r"): path.read_bytes() for path in Path("r").rglob("*") if path.is_file()}
    assert cli("run", two[1], "--out", "r", "--quiet", "--force").code == 0
    (aside,) = Path().glob("r.replaced-*")
    assert {
        path.relative_to(aside): path.read_bytes() for path in aside.rglob("*") if path.is_file()
    } == before
    assert [row["mode"] for row in open_run(Path("r")).systems.to_pylist()] == ["bm25"]
    assert [row["mode"] for row in open_run(aside).systems.to_pylist()] == ["dense"]


def test_f64_the_same_experiment_resumes_and_a_changed_one_keeps_its_systems(small: Path, cli: Any) -> None:
    run(small, out="r")
    cells = sorted(path.name for path in Path("r/cells").iterdir())
    assert cli("run", "--out", "r", "--quiet").code == 0
    assert sorted(path.name for path in Path("r/cells").iterdir()) == cells
    small.write_text(small.read_text().replace("modes: [dense]", "modes: [dense, bm25]"))
    events: list[Any] = []
    run(small, out="r", emit=events.append)
    assert set(cells) < {path.name for path in Path("r/cells").iterdir()}
    assert any("of bakeoff.yaml" in getattr(event, "message", "") for event in events)
    assert not list(Path().glob("r.replaced-*"))


def test_f64_a_project_that_moved_with_its_run_goes_on(small: Path, tmp_path: Path) -> None:
    run(small, out="r")
    moved = Path.cwd().rename(tmp_path / "moved")
    (moved / "bakeoff.yaml").write_text((moved / "bakeoff.yaml").read_text() + "seed: 8\n")
    assert run(moved / "bakeoff.yaml", out=moved / "r").record.status == "done"


def test_f64_a_project_of_the_same_name_elsewhere_is_another(
    small: Path, laid_out: Any, tmp_path: Path
) -> None:
    run(small, out="r")
    other = laid_out(tmp_path / "elsewhere", small.read_text() + "seed: 8\n")
    with pytest.raises(SettingError, match="another experiment"):
        run(other, out="r")


def test_f64_a_record_that_cannot_be_read_is_somebodys_run(small: Path) -> None:
    Path("r").mkdir()
    Path("r/run.json").write_text(json.dumps({"schema_version": 99}))
    with pytest.raises(SettingError, match="99"):
        run(small, out="r")
    assert run(small, out="r", force=True).record.status == "done"
