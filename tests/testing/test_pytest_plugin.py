"""The pytest plug-in in a session of its own, as a team uses it; and results as a notebook shows them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

TESTS = """
import pytest

def test_equal(bakeoff_run, assert_not_worse, assert_recall):
    result = bakeoff_run("bakeoff.yaml")
    assert bakeoff_run("bakeoff.yaml") is result
    assert_recall(result, "Hit@1(document)", 1.0)
    assert_recall(result, "Hit@1(document)", 0.54, sure=True)  # .025 ** (1 / 6) = .541
    assert_not_worse(result, "base")
    with pytest.raises(AssertionError):
        assert_recall(result, "Hit@1(document)", 0.55, sure=True)
    with pytest.raises(AssertionError):
        assert_recall(result, "P@5(document)", 0.9)

def test_worse(bakeoff_run, assert_not_worse):
    with pytest.raises(AssertionError):
        assert_not_worse(bakeoff_run("worse.yaml"), "base", margin=0.02)
"""


def lay_out(folder: Path) -> None:
    """Six pages, and an experiment whose second version searches another folder."""
    words = ["amber", "birch", "cobalt", "dune", "ember", "fjord"]
    for name, text in (("docs", "This page is about {}."), ("moved", "Nothing is here.")):
        (folder / name).mkdir()
        for word in words:
            (folder / name / f"{word}.md").write_text(text.format(word))
    for word in words[:3]:
        (folder / "moved" / f"{word}-2.md").write_text(f"about {word} about {word}")
    queries = [
        {"id": word, "text": f"about {word}", "truth": {"documents": [f"{word}.md"]}} for word in words
    ]
    (folder / "queries.yaml").write_text(yaml.safe_dump({"queries": queries}))
    for file, documents in (("bakeoff.yaml", "docs"), ("worse.yaml", "moved")):
        experiment = {
            "corpus": {"folder": documents},
            "queries": "queries.yaml",
            "allow": ["leak", "duplicate"],
            "chunkers": ["whole"],
            "modes": ["bm25"],
            "measures": {"primary": "Hit@1(document)", "also": ["P@5(document)"]},
        }
        (folder / file).write_text(yaml.safe_dump(experiment))


@pytest.mark.slow
def test_a_team_uses_the_fixtures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import bakeoff

    lay_out(tmp_path)
    (tmp_path / "test_search.py").write_text(TESTS)
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    bakeoff.run(tmp_path / "bakeoff.yaml", out=tmp_path / "base")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_search.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_a_notebook_shows_the_recommendation_the_verdict_and_the_table(ran: Any) -> None:
    shown = ran.result._repr_html_()
    assert shown.count("<tr>") == len(ran.result.comparison.systems) + 1
    assert ran.result.verdict._repr_html_().startswith("<p><strong>")
    assert "<table>" in ran.result.comparison._repr_html_()
    pair = ran.result.comparison.pairs[0]
    assert f"{pair.mean_a:.3f}" in pair._repr_html_() and f"<td>{pair.n}</td>" in pair._repr_html_()


def test_names_are_text_in_a_notebook() -> None:
    from bakeoff.runtime.notebook import html_table, lines_html

    assert "<script>" not in html_table(["<script>"], [["<script>"]]) + lines_html("<script>", ["<script>"])
