"""F10: near-duplicate or leaked queries, warned about while the run went on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.report.render.html import write_html
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.checks.findings import Finding

LAID = Callable[..., Path]
SENTENCE = "the money goes back to the card that was charged"
SHORT = "a refund is granted within thirty days"
LONGER = "is it so that an invoice is issued on the first day of each month"


def checked(laid_out: LAID, folder: Path, *lines: str) -> list[Finding]:
    experiment = laid_out(folder)
    queries = folder / "queries.yaml"
    queries.write_text(queries.read_text(encoding="utf-8") + "".join(f"  - {{{line}}}\n" for line in lines))
    report = validate(experiment, home=folder / "home")
    kinds = ("leak", "leak-run", "leak-share", "leak-synthetic", "duplicate", "near-duplicate")
    return [finding for finding in report.findings if finding.code in kinds]


def test_f10_a_query_that_stands_in_a_document_is_an_error(laid_out: LAID, tmp_path: Path) -> None:
    (found,) = checked(laid_out, tmp_path, f"id: copied, text: {SENTENCE}, truth: {{file: billing.md}}")
    assert (found.level, found.code) == ("error", "leak")
    assert found.where.endswith("query copied") and "guide/billing.md" in found.message


def test_f10_eight_words_of_it_are_a_warning(laid_out: LAID, tmp_path: Path) -> None:
    (found,) = checked(laid_out, tmp_path, f"id: half, text: {LONGER}, truth: {{file: billing.md}}")
    assert (found.level, found.code) == ("warning", "leak-run")
    assert '"an invoice is issued on the first day"' in found.message


def test_f10_a_synthetic_query_must_be_marked(laid_out: LAID, tmp_path: Path) -> None:
    line = f"id: made, text: {SENTENCE}, synthetic: true, truth: {{file: billing.md}}"
    (found,) = checked(laid_out, tmp_path, line)
    assert (found.level, found.code) == ("warning", "leak-synthetic") and "made" in found.message


def test_f10_a_query_that_is_there_twice_is_an_error(laid_out: LAID, tmp_path: Path) -> None:
    line = "id: again, text: Which algorithm hashes passwords?, truth: {file: auth.md}"
    (found,) = checked(laid_out, tmp_path, line)
    assert (found.level, found.code) == ("error", "duplicate") and "hashing" in found.message


def test_f10_the_tiny_experiment_itself_is_clean(laid_out: LAID, tmp_path: Path) -> None:
    assert checked(laid_out, tmp_path) == []


def test_f10_nearly_the_same_words_are_a_warning(laid_out: LAID, tmp_path: Path) -> None:
    line = "id: near, text: which good algorithm hashes the passwords, truth: {file: auth.md}"
    again = "id: nearer, text: which algorithm hashes the passwords, truth: {file: auth.md}"
    (found,) = checked(laid_out, tmp_path, line, again)
    assert (found.level, found.code) == ("warning", "near-duplicate")
    assert found.where.endswith("query nearer") and "83%" in found.message


def test_f10_case_and_marks_hide_no_leak(laid_out: LAID, tmp_path: Path) -> None:
    line = 'id: copied, text: "The MONEY, goes back... to the Card, that was charged?", truth: {file: billing.md}'
    (found,) = checked(laid_out, tmp_path, line)
    assert (found.level, found.code) == ("error", "leak")


LEAKED = f"  - {{id: copied, text: {SENTENCE}, truth: {{file: billing.md}}}}\n"
TWICE = "  - {id: again, text: Which algorithm hashes passwords?, truth: {file: auth.md}}\n"


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        (LEAKED, "leak", "copied from guide/billing.md word for word"),
        (TWICE, "duplicate", "has the words of hashing"),
    ],
)
def test_f10_a_run_does_not_go_on(small: Path, cli: Any, line: str, code: str, text: str) -> None:
    """Nobody has to remember to validate first; who wants it all the same says so, and every report repeats it."""
    queries = Path("queries.yaml")
    queries.write_text(queries.read_text(encoding="utf-8") + line, encoding="utf-8")
    for command in (("validate", "--quiet"), ("run", "--quiet", "--out", "run")):
        done = cli(*command)
        assert done.code == 2 and text in " ".join((done.out + done.err).split())
    assert not Path("run/scores.parquet").exists() and not Path("run/report.html").exists()
    small.write_text(small.read_text() + f"allow: [{code}]\n")
    assert cli("validate", "--quiet").code == 0
    done = cli("run", "--quiet", "--verbose", "--out", "run")
    assert done.code == 0 and text in " ".join(done.out.split())
    page = write_markdown(open_run(Path("run"))).read_text(encoding="utf-8")
    assert text in re.sub(r"\s+", " ", page)


IMPORTED = "metadata: {extra: {imported: {format: csv, files: [log.csv]}}}\n"


def test_f10_leaks_that_nobody_need_have_copied_are_a_share(laid_out: LAID, tmp_path: Path) -> None:
    """Short queries, and all of an imported set, occur in documents without being taken from them."""
    (found,) = checked(laid_out, tmp_path, f"id: short, text: {SHORT}, truth: {{file: billing.md}}")
    assert (found.level, found.code) == ("warning", "leak-share")
    queries = tmp_path / "queries.yaml"
    queries.write_text(IMPORTED + queries.read_text(encoding="utf-8") + LEAKED, encoding="utf-8")
    found = validate(tmp_path / "bakeoff.yaml", home=tmp_path / "home").findings
    (share,) = [one for one in found if one.code.startswith("leak")]
    assert (share.level, share.code) == ("warning", "leak-share")
    assert "2 of 16 queries (12%)" in share.message and "short, copied" in share.message


def test_f10_the_verdict_is_given_with_and_without_leaked_queries(small: Path, cli: Any) -> None:
    queries = Path("queries.yaml")
    queries.write_text(IMPORTED + queries.read_text(encoding="utf-8") + LEAKED, encoding="utf-8")
    small.write_text(small.read_text().replace("modes: [dense]", "modes: [dense, bm25]"))
    done = cli("run", "--quiet", "--json", "--out", "run")
    assert done.code == 0
    verdict = json.loads(done.out)["verdict"]
    assert verdict["without_leaks"]["leaked"] == ["copied"]
    result = open_run(Path("run"))
    assert result.record.leaked == ["copied"]
    other = result.without(["copied"])
    assert verdict["without_leaks"]["sentence"] == other.verdict.sentence
    kept, every = other.summaries(other.record.primary), result.summaries(result.record.primary)
    for system in result.done:
        scores = dict(zip(result.matrix(result.record.primary).queries, _row(result, system), strict=True))
        assert kept[system].n == every[system].n - 1
        wanted = np.nanmean([value for query, value in scores.items() if query != "copied"])
        assert kept[system].mean == pytest.approx(wanted)
    shown = re.sub(r"\s+", " ", cli("run", "--quiet", "--verbose", "--out", "run").out)
    page = re.sub(r"\s+", " ", write_markdown(result).read_text(encoding="utf-8"))
    html = re.sub(r"\s+", " ", write_html(result).read_text(encoding="utf-8"))
    for text in (shown, page, html):
        assert "Without the 1 of 15 questions (7%)" in text
    assert 'id="without-leaks"' in html


def _row(result: Result, system: str) -> Any:
    """A system's scores on the primary measure; NaN where a query is negative."""
    matrix = result.matrix(result.record.primary)
    return matrix.without_structural()[matrix.systems.index(system)]


def test_f10_without_leaks_there_is_one_verdict(small: Path, cli: Any) -> None:
    done = cli("run", "--quiet", "--json", "--out", "run")
    assert json.loads(done.out)["verdict"]["without_leaks"] is None


def test_f10_what_is_near_goes_with_the_numbers(small: Path, cli: Any) -> None:
    queries = Path("queries.yaml")
    line = f"  - {{id: half, text: {LONGER}, truth: {{file: billing.md}}}}\n"
    queries.write_text(queries.read_text(encoding="utf-8") + line, encoding="utf-8")
    done = cli("run", "--quiet", "--verbose", "--out", "run")
    assert done.code == 0 and "8 consecutive words" in " ".join(done.out.split())
    assert any("query half" in note for note in open_run(Path("run")).record.notes)


def test_f10_query_vectors_inside_the_index_are_counted_and_said(
    tmp_path: Path, cli: Any, home: Path
) -> None:
    rows = np.random.default_rng(3).normal(size=(300, 8)).astype(np.float32)
    asked = np.vstack([rows[[5, 17, 200]], rows[:27] + 0.01])
    np.savez(tmp_path / "set.npz", base=rows, queries=asked)
    found = open_dataset(str(tmp_path / "set.npz"))
    assert found.leaked == 3
    assert any("3 of 30 query vectors" in note for note in found.notes)
