"""F01: truth ids that match nothing in the corpus, and every measure 0.0 in the published rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.errors import TruthError
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.run import run


@pytest.fixture
def renamed(laid_out: Callable[..., Path], tmp_path: Path) -> Path:
    """The tiny experiment whose truth names documents by the md5 of their path."""
    experiment = laid_out(tmp_path)
    queries = tmp_path / "queries.yaml"
    text = queries.read_text(encoding="utf-8")
    for name in ("guide/auth.md", "guide/billing.md"):
        text = text.replace(f"[{name}]", f"[{hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()}]")
    queries.write_text(text, encoding="utf-8")
    return experiment


def test_f01_validate_names_every_query_whose_ids_are_unknown(renamed: Path, tmp_path: Path) -> None:
    report = validate(renamed, home=tmp_path / "home")
    wrong = [finding for finding in report.of("error") if finding.code == "truth"]
    assert [finding.where.rpartition(" ")[2] for finding in wrong] == [
        "expiry",
        "hashing",
        "sso",
        "refund",
        "tax",
    ]
    assert all("no document matches" in finding.message for finding in wrong)
    assert report.faults() == 5


def test_f01_run_refuses_before_anything_is_embedded(renamed: Path, tmp_path: Path) -> None:
    with pytest.raises(TruthError, match="query expiry: no document matches"):
        run(renamed, out=tmp_path / "run", home=tmp_path / "home")
    assert not (tmp_path / "home" / "cache" / "embed").exists()


def test_f01_a_system_that_scores_zero_everywhere_has_failed(
    laid_out: Callable[..., Path], tmp_path: Path
) -> None:
    experiment = laid_out(tmp_path)
    experiment.write_text(
        "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [whole]\nmodes: [bm25]\n"
        "measures: {primary: P@1(document), also: []}\n"
    )
    # no word of this query is in its document, and all its words are in another one
    (tmp_path / "queries.yaml").write_text(
        "queries:\n  - {id: q, text: rolling update of containers, truth: {documents: [guide/billing.md]}}\n"
    )
    result = run(experiment, out=tmp_path / "run", home=tmp_path / "home")
    ((_, reason),) = result.failed.items()
    assert "P@1(document) is 0 for every query (1 query)" in reason and result.done == ()


def test_f01_both_commands_say_so_with_their_exit_code(
    renamed: Path, cli: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(renamed.parent)
    for command in (("validate",), ("run", "--out", "run")):
        done = cli(*command)
        assert done.code == 2 and "no document matches" in done.out + done.err
