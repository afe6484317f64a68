"""take and ask: a measured system opened again gives the rankings of its run, or says where it does not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bakeoff
from bakeoff.errors import DataError, SettingError
from bakeoff.runs.live.replay import EXPECTED, MEASURED, read_expected, replay

FRAMEWORKS = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}


@pytest.fixture
def home(ran: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of the finished run."""
    folder = ran.result.path.parent / "home"
    monkeypatch.setenv("BAKEOFF_HOME", str(folder))
    return folder


@pytest.fixture
def taken(ran: Any, home: Path, cli: Callable[..., Any], tmp_path: Path) -> Path:
    """Every system is tested by itself; this is the first of the run."""
    out = tmp_path / "mysearch"
    assert cli("take", ran.result.path, ran.result.done[0], "--out", out).code == 0
    return out


@pytest.mark.slow
def test_every_system_of_a_run_gives_its_rankings_bit_for_bit(
    ran: Any, home: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    for place, label in enumerate(ran.result.done):
        done = cli("take", ran.result.path, label, "--out", tmp_path / str(place), "--json")
        assert (done.code, json.loads(done.out).get("passed")) == (0, True), done.out


def test_the_project_is_an_experiment_with_scripts_versions_and_a_self_test(taken: Path) -> None:
    names = {path.name for path in taken.iterdir()}
    assert names >= {
        "system.yaml", "queries.yaml", "requirements.txt", "search.py", "ingest.py", "selftest.py", "Dockerfile",
        "README.md", EXPECTED, MEASURED,
    }  # fmt: skip
    first = (taken / "requirements.txt").read_text().splitlines()[0]
    assert first.startswith("bakeoff") and first.endswith(f"=={bakeoff.__version__}")


def test_the_self_test_fails_where_a_ranking_differs(taken: Path, home: Path) -> None:
    lines = (taken / EXPECTED).read_text().splitlines()
    first = json.loads(lines[0])
    first["results"] = first["results"][::-1]
    (taken / EXPECTED).write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    with bakeoff.open_system(taken / "system.yaml", as_measured=True) as system:
        report = bakeoff.self_test(taken, system)
    assert (report.passed, report.equal, report.questions) == (False, len(lines) - 1, len(lines))
    assert first["query_id"] in report.differences[0]


def test_other_documents_are_refused_by_the_self_test(taken: Path, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# Another text\n\nOf another folder.\n")
    with bakeoff.open_system(taken / "system.yaml", documents=other) as system, pytest.raises(DataError):
        bakeoff.self_test(taken, system)


def test_ties_are_no_difference_but_other_results_are() -> None:
    expected = bakeoff_expected([("a", 1.0), ("b", 1.0), ("c", 0.5)])
    assert replay([expected], lambda _: found([("b", 1.0), ("a", 1.0), ("c", 0.5)])).tied == 1
    assert not replay([expected], lambda _: found([("b", 1.0), ("d", 1.0), ("c", 0.5)])).passed
    assert not replay([expected], lambda _: found([("a", 1.0)])).passed


def bakeoff_expected(results: list[tuple[str, float]]) -> Any:
    from bakeoff.runs.live.replay import ExpectedRanking, ExpectedResult

    rows = tuple(ExpectedResult(name, 0, 1, score) for name, score in results)
    return ExpectedRanking(query_id="q", text="t", results=rows)


def found(results: list[tuple[str, float]]) -> list[bakeoff.FoundPassage]:
    return [
        bakeoff.FoundPassage(rank=rank, document=name, start=0, end=1, text="", score=score)
        for rank, (name, score) in enumerate(results, 1)
    ]


def test_a_folder_that_is_in_use_an_unknown_system_and_an_unknown_framework_write_nothing(
    ran: Any, home: Path, taken: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    before = (taken / "system.yaml").read_bytes()
    assert cli("take", ran.result.path, ran.result.done[0], "--out", taken).code == 2
    assert (taken / "system.yaml").read_bytes() == before
    assert cli("take", ran.result.path, "no such system", "--out", tmp_path / "x").code == 2
    assert cli("take", ran.result.path, "--as", "cobol", "--out", tmp_path / "x").code == 2
    assert not list(tmp_path.glob("x*"))


def test_ask_prints_passages_of_each_system(ran: Any, home: Path, cli: Callable[..., Any]) -> None:
    question = ran.result.queries["text"][0].as_py()
    names = ",".join(ran.result.done[:2])
    answer = json.loads(cli("ask", ran.result.path, question, "--systems", names, "-k", 2, "--json").out)
    first = ran.result.queries["query_id"][0].as_py()
    stored = [
        row["document_id"]
        for row in ran.result.rankings.to_pylist()
        if (row["system"], row["query_id"]) == (ran.result.done[0], first) and row["rank"] <= 2
    ]
    assert set(answer) == set(ran.result.done[:2])
    assert [one["document"] for one in answer[ran.result.done[0]]] == stored
    shown = cli("ask", ran.result.path, question, "--systems", names, "-k", 2).out.splitlines()
    labels = [line for line in shown if all(name in line for name in ran.result.done[:2])]
    places = [line for line in shown if line.count("characters") == 2]
    assert (len(labels), len(places)) == (1, 2)  # one column per system, one row per rank


def test_a_letter_of_the_table_names_a_system(
    ran: Any, home: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    order = ran.result.ordered
    taken = cli("take", ran.result.path, "B", "--out", tmp_path / "b", "--no-test", "--json")
    assert json.loads(taken.out)["system"] == order[1]
    asked = cli("ask", ran.result.path, "anything", "--systems", "C,A", "--json")
    assert list(json.loads(asked.out)) == [order[2], order[0]]
    pair = json.loads(cli("compare", ran.result.path, "A", "B", "--json").out)
    assert (pair["a"], pair["b"]) == order[:2]


def test_load_system_searches_in_python_and_refuses_k_0(ran: Any, home: Path) -> None:
    with bakeoff.load_system(ran.result.path, ran.result.done[0]) as system:
        assert len(system.search("anything", 1)) <= 1
        with pytest.raises(SettingError):
            system.search("anything", 0)


def test_damaged_rankings_are_an_error(tmp_path: Path) -> None:
    (tmp_path / EXPECTED).write_text('{"query_id": 1}\n')
    with pytest.raises(DataError):
        read_expected(tmp_path / EXPECTED)


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_project_for_a_framework_passes_its_own_self_test(
    ran: Any, home: Path, cli: Callable[..., Any], tmp_path: Path, framework: str
) -> None:
    pytest.importorskip(FRAMEWORKS[framework])
    out = tmp_path / framework
    done = cli("take", ran.result.path, ran.result.done[0], "--as", framework, "--out", out, "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["passed"]) == (0, True)
    assert framework in answer["self_test"]
    itself = subprocess.run(
        [sys.executable, "selftest.py"], cwd=out, capture_output=True, text=True, check=False
    )
    assert itself.returncode == 0, itself.stderr
    shutil.rmtree(out)


def test_a_label_with_a_comma_names_its_system(ran: Any) -> None:
    from dataclasses import replace
    from types import SimpleNamespace

    from bakeoff.runs.live.plan_of_run import choose_systems, plan_of_run

    first, second, *_ = plan_of_run(ran.result.path, None)[0].systems
    odd = SimpleNamespace(systems=(replace(first, label='it\'s, a "line"'), second))
    assert choose_systems(odd, 'it\'s, a "line"') == odd.systems[:1]  # type: ignore[arg-type]


def test_a_run_finds_its_experiment_under_another_name_than_the_usual(
    home: Path, cli: Callable[..., Any], laid_out: Callable[..., Path], tmp_path: Path
) -> None:
    other = laid_out(tmp_path).rename(tmp_path / "other.yaml")
    assert cli("run", other, "--out", other.parent / "run", "--quiet").code == 0
    assert cli("take", other.parent / "run", "--out", tmp_path / "mine").code == 0


def test_a_system_whose_package_is_not_installed_is_named_and_nothing_is_written(
    home: Path,
    cli: Callable[..., Any],
    laid_out: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = "chunkers: [line]\nembedders: [wordllama]\nstores: [faiss]\nmodes: [dense]\n"
    experiment = laid_out(tmp_path, f"corpus: {{folder: corpus}}\nqueries: queries.yaml\n{parts}")
    run = tmp_path / "run"
    assert cli("run", experiment, "--out", run, "--quiet").code == 0
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.delitem(sys.modules, "bakeoff.plugins.stores.faiss")
    for words in (("take", run, "--out", tmp_path / "mine"), ("ask", run, "where?"), ("watch", run)):
        done = cli(*words, "--json")
        error = json.loads(done.out)["error"]
        assert (done.code, error["kind"]) == (2, "MissingExtraError")
        assert "pip install 'bakeoff[faiss]'" in error["message"]
    assert not (tmp_path / "mine").exists()


def test_a_self_test_that_cannot_run_leaves_nothing(
    ran: Any, home: Path, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise DataError("the store is gone.")

    monkeypatch.setattr("bakeoff.runs.live.live_system.open_system", gone)
    assert cli("take", ran.result.path, ran.result.done[0], "--out", tmp_path / "x").code in (1, 2)
    assert not (tmp_path / "x").exists()


def test_an_empty_question_is_refused(ran: Any, cli: Any) -> None:
    asked = cli("ask", ran.result.path, " ", "--json")
    assert asked.code == 2 and json.loads(asked.out)["error"]["kind"] == "SettingError"
