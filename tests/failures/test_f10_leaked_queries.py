"""F10: near-duplicate or leaked queries, warned about while the run went on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bakeoff.validation.checking import validate
from bakeoff.validation.findings import Finding

LAID = Callable[..., Path]
SENTENCE = "a refund is granted within thirty days"
LONGER = "is it so that an invoice is issued on the first day of each month"


def checked(laid_out: LAID, folder: Path, *lines: str) -> list[Finding]:
    experiment = laid_out(folder)
    queries = folder / "queries.yaml"
    queries.write_text(queries.read_text(encoding="utf-8") + "".join(f"  - {{{line}}}\n" for line in lines))
    report = validate(experiment, home=folder / "home")
    kinds = ("leak", "leak-run", "leak-synthetic", "duplicate", "near-duplicate")
    return [finding for finding in report.findings if finding.code in kinds]


def test_f10_a_query_that_stands_in_a_document_is_an_error(laid_out: LAID, tmp_path: Path) -> None:
    (found,) = checked(laid_out, tmp_path, f"id: copied, text: {SENTENCE}, truth: {{file: billing.md}}")
    assert (found.level, found.code) == ("error", "leak")
    assert found.where.endswith("query copied") and "word for word in guide/billing.md" in found.message


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
