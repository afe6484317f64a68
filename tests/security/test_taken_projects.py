"""A project of `take` is made of names from an experiment: they are text in it, never code, YAML or Markdown."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from bakeoff.report.exports.project import plain_text
from bakeoff.runs.live.replay import ExpectedRanking, ExpectedResult, read_expected

HOSTILE = (
    'x"""; __import__("os").system("touch PWNED"); """ `touch PWNED` $(id) | <script> \\\nevil: 1\n# ${{ x }}'
)
EXPERIMENT = """\
corpus: {{folder: corpus}}
queries: queries.yaml
chunkers: [{{whole: {{as: {label}}}}}]
modes: [bm25]
"""


@pytest.mark.parametrize("framework", ["python", "langchain"])
def test_a_hostile_label_is_text_in_every_file(
    framework: str, home: Path, laid_out: Callable[..., Path], cli: Callable[..., str]
) -> None:

    laid_out(Path(), EXPERIMENT.format(label=json.dumps(HOSTILE)))
    cli("run", ".", "--out", "run")
    cli("take", "run", "--out", "project", "--as", framework, "--no-test")
    project = Path("project")
    for path in project.glob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert "__import__" not in {getattr(call.func, "id", "") for call in calls}, path
        assert "PWNED" not in path.read_text().partition('"""')[2].partition('"""')[2], path
    settings = yaml.safe_load((project / "system.yaml").read_text())
    assert "evil" not in settings
    assert settings["chunkers"] == [{"whole": {}}] or HOSTILE in str(settings["chunkers"])
    readme = (project / "README.md").read_text()
    assert readme.splitlines()[0].startswith("# x___")
    assert "<script>" not in readme and "`touch" not in readme
    assert not list(Path().rglob("PWNED*"))


@pytest.mark.parametrize("separator", ["\u2028", "\x85"])
def test_a_question_with_a_line_separator_is_replayed(separator: str, tmp_path: Path) -> None:
    found = ExpectedResult(document=f"c{separator}.md", start=0, end=1, score=0.5)
    ranking = ExpectedRanking(query_id="q", text=f"a{separator}b", results=(found,))
    row = json.dumps(asdict(ranking), ensure_ascii=False)
    (tmp_path / "expected.jsonl").write_text(f"{row}\n{row}\n", encoding="utf-8")
    assert read_expected(tmp_path / "expected.jsonl") == [ranking, ranking]


def test_ordinary_labels_stay_as_they_are() -> None:
    for label in (
        "tokens 256/32 · bge-small@384 · hybrid rrf k=60 (faiss)",
        "línea · modèle · 0,5",
        "a_b-c.d",
    ):
        assert plain_text(label) == label
