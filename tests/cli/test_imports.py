"""bakeoff import and export as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bakeoff.cli import console, imports
from bakeoff.cli.app import app as bakeoff_app
from bakeoff.errors import SettingError
from bakeoff.runs.analysis import open_run
from bakeoff.truth.queries import read_queries

CASES = [
    {"query": "what is a", "relevant_doc_ids": ["doc_001"], "owner": "Ann"},
    {"query": "b", "relevant_doc_ids": []},
]


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    imports.register(made)
    return made


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "test_cases.json"
    path.write_text(json.dumps(CASES), encoding="utf-8")
    return path


def test_import_writes_a_query_file_and_says_where_fields_went(app, cases, tmp_path):
    out = tmp_path / "new" / "queries.yaml"
    done = CliRunner().invoke(app, ["import", "vectordb", str(cases), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert [query.text for query in read_queries(out).queries] == ["what is a", "b"]
    printed = " ".join(done.stdout.split())
    assert "relevant_doc_ids truth.documents 1" in printed
    assert "owner tags.owner 1" in printed
    assert printed.endswith(str(out))


CODE = {
    "queries": [
        {
            "query": "drop the oldest entry",
            "expected_files": ["src/cache.py"],
            "answer_keywords": ["def evict"],
        },
        {
            "query": "pause between attempts",
            "expected_files": ["src/retry.py"],
            "answer_keywords": ["time.sleep"],
        },
        {"query": "make an address of a heading", "expected_files": ["src/slug.py"], "answer_lines": [7, 10]},
    ]
}


def test_imported_code_queries_compare_chunkers(small: Path) -> None:
    """Import, validate and run: files are judged, and lines that hold a keyword are answers under every chunker."""
    Path("code.json").write_text(json.dumps(CODE), encoding="utf-8")
    text = small.read_text()
    chunkers = text[text.index("chunkers:") :].split("\n", 1)[0]
    small.write_text(text.replace(chunkers, "chunkers: [line, semantic]") + "preset: code\n")
    done = [
        typed("import", "code", "code.json", "--force"),
        typed("validate", "--quiet"),
        typed("run", "--quiet", "--out", "run"),
    ]
    assert done == [0, 0, 0]
    result = open_run(Path("run"))
    assert len(result.done) == 2 and result.record.truth_fingerprint
    hits = result.matrix("Hit@5(answer)")
    assert hits.values.shape == (2, 3) and set(hits.values.ravel()) <= {0.0, 1.0} and hits.values.any()
    assert {hit.chunking for hit in result.record.truth_hits} == {""}


def typed(*words: str) -> int:
    """The exit code of a command."""
    return console.run_guarded(lambda: bakeoff_app(list(words), standalone_mode=False))


def test_import_account_as_json(app, cases, tmp_path):
    out = tmp_path / "queries.yaml"
    done = CliRunner().invoke(app, ["import", "vectordb", str(cases), "--out", str(out), "--json"])
    account = json.loads(done.stdout)
    assert account["queries"] == 2
    assert {"from": "owner", "to": "tags.owner", "count": 1, "kept": True} in account["fields"]
    assert len(account["attention"]) == 1


def test_import_replaces_nothing_without_force(app, cases, tmp_path):
    out = tmp_path / "queries.yaml"
    out.write_text("mine")
    done = CliRunner().invoke(app, ["import", "vectordb", str(cases), "--out", str(out)])
    assert isinstance(done.exception, SettingError)
    assert out.read_text() == "mine"
    assert (
        CliRunner().invoke(app, ["import", "vectordb", str(cases), "--out", str(out), "--force"]).exit_code
        == 0
    )


def test_a_failed_import_writes_nothing(app, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("[{}]")
    done = CliRunner().invoke(app, ["import", "vectordb", str(bad), "--out", str(tmp_path / "queries.yaml")])
    assert done.exception is not None
    assert not (tmp_path / "queries.yaml").exists()


def test_export_writes_topics_and_qrels(app, cases, tmp_path, monkeypatch):
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/doc_001").write_text("some text")
    (tmp_path / "docs/doc_001.md").write_text("some text")
    row = {"query": "what is a", "relevant_doc_ids": ["doc_001.md"]}
    cases.write_text(json.dumps([{"id": "q", **row}]), encoding="utf-8")
    runner = CliRunner()
    assert (
        runner.invoke(
            app, ["import", "vectordb", str(cases), "--out", str(tmp_path / "queries.yaml")]
        ).exit_code
        == 0
    )
    (tmp_path / "bakeoff.yaml").write_text("corpus: {folder: docs}\nqueries: queries.yaml\nmodes: [bm25]\n")
    done = runner.invoke(app, ["export", str(tmp_path), "--format", "trec", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out/qrels.txt").read_text() == "q 0 doc_001.md 1\n"
    assert "<title> what is a" in (tmp_path / "out/topics.txt").read_text()


def test_unknown_words_say_which_there_are(app, tmp_path):
    done = CliRunner().invoke(app, ["export", str(tmp_path), "--format", "xml", "--out", str(tmp_path / "o")])
    assert isinstance(done.exception, SettingError)
    assert "'xml'" in str(done.exception) and "beir, trec" in str(done.exception)


def test_commands_import_nothing_heavy():
    code = (
        "import sys, bakeoff.cli.imports; print({'numpy', 'pyarrow', 'duckdb', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
