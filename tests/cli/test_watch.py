"""watch: an unchanged experiment passes, a changed one does not, and questions of another kind are found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import bakeoff
from bakeoff.runs.gate import GateRules, run_gate
from bakeoff.runs.live.watch import WatchRules, watch_runs

WORDS = ["amber", "birch", "cobalt", "dune", "ember", "fjord", "grove", "harbor"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight pages, a question for each, and a finished run of two systems."""
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for word in WORDS:
        (tmp_path / "docs" / f"{word}.md").write_text(
            f"# {word}\n\nThis page describes the {word} and its use.\n"
        )
    queries = [
        {"id": one, "text": f"what is the use of {one}", "truth": {"documents": [f"{one}.md"]}}
        for one in WORDS
    ]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"queries": queries}))
    write(tmp_path, "bm25")
    bakeoff.run("bakeoff.yaml", out="base")
    return tmp_path


def write(folder: Path, name: str) -> None:
    experiment = {
        "corpus": {"folder": "docs"},
        "queries": "queries.yaml",
        "chunkers": ["whole"],
        "embedders": ["wordllama"],
        "modes": ["dense", {"bm25": {"as": name}} if name != "bm25" else "bm25"],
        "measures": {"primary": "RR@10(document)", "also": []},
    }
    (folder / "bakeoff.yaml").write_text(yaml.safe_dump(experiment))


def test_an_unchanged_experiment_passes(place: Path, cli: Callable[..., Any]) -> None:
    done = cli("watch", "base", "--out", "again", "--slower", 1000, "--summary", "w.md", "--json")
    found = json.loads(done.out)
    assert (done.code, found["passed"]) == (0, True)
    assert {one["check"] for one in found["findings"]} == {"quality", "models", "results", "latency"}
    assert (place / "w.md").read_text().startswith("# Watch of base\n")


def test_a_store_that_is_gone_fails_the_watch_and_is_named(place: Path, cli: Callable[..., Any]) -> None:
    experiment = yaml.safe_load((place / "bakeoff.yaml").read_text())
    gone = {"qdrant": {"url": "http://127.0.0.1:9"}}
    (place / "bakeoff.yaml").write_text(yaml.safe_dump({**experiment, "stores": ["exact", gone]}))
    assert cli("run", "bakeoff.yaml", "--out", "partial", "--quiet").code == 1
    done = cli("watch", "partial", "--out", "again", "--slower", 1000, "--json")
    found = json.loads(done.out)
    assert (done.code, found["passed"]) == (1, False)
    (one,) = [one for one in found["findings"] if one["level"] == "failed"]
    assert one["check"] == "systems" and "http://127.0.0.1:9" in one["text"]


def test_a_model_without_vectors_in_the_new_run_is_not_called_unchanged(place: Path) -> None:
    before, after = bakeoff.open_run("base"), bakeoff.run("bakeoff.yaml", out="again")
    levels = []
    for canaries in (after.record.canaries, []):
        after.record = after.record.model_copy(update={"canaries": canaries})
        report = watch_runs(before, after, WatchRules(margin=0.02, overlap=0.8, slower=2))
        levels += [one.level.value for one in report.findings if one.check == "models"]
    assert levels == ["fine", "warning"]


def test_lost_documents_fail_and_moved_results_warn(place: Path, cli: Callable[..., Any]) -> None:
    for word in WORDS[:5]:
        (place / "docs" / f"{word}.md").write_text("# Empty\n\nNothing.\n")
        (place / "docs" / f"{word}-copy.md").write_text(f"what is the use of {word}")
    done = cli("watch", "base", "--out", "worse", "--slower", 1000, "--json")
    levels = {(one["check"], one["level"]) for one in json.loads(done.out)["findings"]}
    assert done.code == 1
    assert {("quality", "failed"), ("results", "warning")} <= levels


def test_new_questions_of_another_kind_are_a_warning(place: Path, cli: Callable[..., Any]) -> None:
    (place / "new.txt").write_text(
        "best pasta recipe\nlearn guitar chords\nhow tall is everest\nwho won the cup\nbake bread\n"
        "cheap flights to rome\nfix a flat tire\nnews of today\nplant tomatoes\n"
    )
    done = cli(
        "watch", "base", "--out", "q", "--slower", 1000, "--questions", "new.txt", "--strict", "--json"
    )
    drift = [one for one in json.loads(done.out)["findings"] if one["check"] == "questions"]
    assert (done.code, [one["level"] for one in drift]) == (1, ["warning"])


def test_a_renamed_system_is_found_by_its_parts_or_by_the_map(place: Path, cli: Callable[..., Any]) -> None:
    write(place, "words")
    bakeoff.run("bakeoff.yaml", out="renamed")
    before, after = bakeoff.open_run("base"), bakeoff.open_run("renamed")
    assert run_gate(before, after, GateRules(0.02)).passed
    assert cli("gate", "base", "renamed", "--map", "bm25=words").code == 0
    assert cli("gate", "base", "renamed", "--map", "bm25").code == 2
    assert cli("gate", "base", "renamed", "--map", "bm25=dense").code == 2
