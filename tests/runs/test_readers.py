"""Readers as a factor: systems for each, one truth for all, and what a reader lost in the waterfall."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import BaseModel

from bakeoff.config import experiment
from bakeoff.errors import ExperimentError, TruthError
from bakeoff.runs.empty_searches import HINTS, empty_search_sentences
from bakeoff.runs.run import run
from bakeoff.runs.verdict import explain_variation, with_reader
from bakeoff.types import Document, Skipped, SourceFile

PAGES = {
    "ice.odd": "# Ice\n\nThe probable cause was ice on the wings of the aircraft.\n",
    "birds.odd": "# Birds\n\nA flock of gulls entered the left engine after take-off.\n",
    "fuel.odd": "# Fuel\n\nThe tank was empty because the gauge had been set in gallons.\n",
    "shut.odd": "# Doors\n\nThe cargo door had not been locked before the flight.\n",
}
QUERIES = """\
queries:
  - {id: ice, text: wings ice cause, truth: {passage: {text: "ice on the wings"}}}
  - {id: gulls, text: gulls in the engine, truth: {passage: {text: "flock of gulls entered"}}}
  - {id: fuel, text: empty tank gallons, truth: {passage: {text: "gauge had been set in gallons"}}}
  - {id: door, text: cargo door locked, truth: {passage: {text: "door had not been locked"}}}
"""
YAML = """\
corpus: {folder: corpus, include: ["*.odd"]}
queries: queries.yaml
readers: {odd: [whole_page, lossy]}
chunkers: [line]
modes: [bm25]
measures: {primary: R@5(answer), also: [R@5(document)]}
"""


class _NoSettings(BaseModel):
    """Nothing to set."""


class WholePage:
    """Reads all of a page."""

    version: ClassVar[str] = "1"
    kinds: ClassVar[tuple[str, ...]] = ("odd",)
    packed: ClassVar[bool] = False  # another process cannot import this file
    Params = _NoSettings

    def __init__(self, params: _NoSettings) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        return Document(file.id, file.data.decode(), "markdown")


class Lossy(WholePage):
    """Puts a line before the text, loses a passage of one page, and cannot read another."""

    def read(self, file: SourceFile) -> Document | Skipped:
        if file.id == "shut.odd":
            return Skipped(file.id, "not for this reader")
        text = "Page header\n\n" + file.data.decode()
        return Document(file.id, text.replace("gauge had been set in gallons", "***"), "markdown")


class Splitting(WholePage):
    """Puts blanks into words, as OCR does."""

    def read(self, file: SourceFile) -> Document | Skipped:
        return Document(
            file.id, file.data.decode().replace("ice on", "i ce on").replace("gauge", "ga uge"), "markdown"
        )


@pytest.fixture
def project(home: Path, register: object, tmp_path: Path) -> Path:
    register("readers", "whole_page", WholePage)  # type: ignore[operator]
    register("readers", "lossy", Lossy)  # type: ignore[operator]
    (tmp_path / "corpus").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "corpus" / name).write_text(text)
    (tmp_path / "queries.yaml").write_text(QUERIES)
    (tmp_path / "bakeoff.yaml").write_text(YAML)
    return tmp_path


def test_what_a_reader_lost_is_a_step_of_the_waterfall(project: Path) -> None:
    result = run(project, out=project / "run")
    whole, lossy = "whole_page · line · bm25", "lossy · line · bm25"
    assert set(result.done) == {whole, lossy} and not result.failed
    losses = {
        (row["system"], row["query_id"], row["step"]): row["reachable"] for row in result.losses.to_pylist()
    }
    assert losses[lossy, "ice", "not in the text"] == losses[whole, "fuel", "not in the text"] == 1
    assert losses[lossy, "fuel", "not in the text"] == losses[lossy, "door", "not in the text"] == 0
    scores = {
        (row["system"], row["query_id"], row["measure"]): row["value"] for row in result.scores.to_pylist()
    }
    assert [scores[whole, one, "R@5(answer)"] for one in ("ice", "gulls", "fuel", "door")] == [1, 1, 1, 1]
    assert [scores[lossy, one, "R@5(answer)"] for one in ("ice", "gulls", "fuel", "door")] == [1, 1, 0, 0]
    # the document with the lost passage is still found; the one that was not read is not
    assert [scores[lossy, one, "R@5(document)"] for one in ("fuel", "door")] == [1, 0]
    assert any(
        "lossy" in note and "1 document" in note and "shut.odd" in note for note in result.record.notes
    )


def test_a_search_without_results_is_blamed_on_the_reader_that_lost_the_answer(project: Path) -> None:
    result = run(project, out=project / "run")
    (found,) = result.record.empty_searches
    assert (found.system, found.queries, found.lost) == ("lossy · line · bm25", 1, 1)
    (sentence,) = empty_search_sentences([found])
    (other,) = empty_search_sentences([found.model_copy(update={"lost": 0})])
    assert HINTS["keywords"] in other and HINTS["keywords"] not in sentence


def test_a_quote_that_the_first_reader_lost_is_taken_from_another(project: Path) -> None:
    (project / "bakeoff.yaml").write_text(YAML.replace("[whole_page, lossy]", "[lossy, whole_page]"))
    result = run(project, out=project / "run")
    assert not result.failed
    scores = {
        (row["system"], row["query_id"]): row["value"]
        for row in result.scores.to_pylist()
        if row["measure"] == "R@5(answer)"
    }
    names = ("ice", "gulls", "fuel", "door")
    assert [scores["lossy · line · bm25", one] for one in names] == [1, 1, 0, 0]
    assert [scores["whole_page · line · bm25", one] for one in names] == [1, 1, 1, 1]


def answers(project: Path, readers: str) -> tuple[dict[str, list[float]], tuple[str, ...]]:
    """R@5 of the questions of every system, and the notes of the run."""
    (project / "bakeoff.yaml").write_text(YAML.replace("[whole_page, lossy]", readers))
    result = run(project, out=project / "run")
    assert not result.failed
    rows = [row for row in result.scores.to_pylist() if row["measure"] == "R@5(answer)"]
    return {
        label: [row["value"] for row in rows if row["system"] == label] for label in result.done
    }, result.record.notes


@pytest.mark.parametrize("readers", ["[splitting, lossy]", "[lossy, splitting]"])
def test_a_quote_whose_words_every_reader_splits_is_found(
    project: Path, register: Callable[..., None], readers: str
) -> None:
    register("readers", "splitting", Splitting)
    quoted = QUERIES.replace("{text: ", "{document: fuel.odd, text: ", 3).replace(
        'fuel.odd, text: "ice', 'ice.odd, text: "ice'
    )
    (project / "queries.yaml").write_text(quoted.replace('fuel.odd, text: "flock', 'birds.odd, text: "flock'))
    found, notes = answers(project, readers)
    assert found["splitting · line · bm25"] == [1, 1, 1, 1]
    assert found["lossy · line · bm25"] == [1, 1, 0, 0]
    assert not any("of no reader" in note for note in notes)


def test_a_quote_that_no_reader_has_is_lost_and_noted(project: Path) -> None:
    with_one_more = QUERIES + (
        "  - {id: snow, text: ice and snow, truth: {passage: {document: ice.odd, text: deep snow lay on the runway}}}\n"
    )
    (project / "queries.yaml").write_text(with_one_more)
    found, notes = answers(project, "[whole_page, lossy]")
    assert found["whole_page · line · bm25"] == [1, 1, 1, 1, 0]
    assert any("1 question" in note and "snow" in note for note in notes)
    (project / "queries.yaml").write_text(with_one_more.replace("document: ice.odd, ", ""))
    with pytest.raises(TruthError, match="any document"):
        run(project, out=project / "other")


def test_the_reader_is_a_factor(project: Path) -> None:
    result = run(project, out=project / "run")
    rows = [with_reader(row) for row in result.systems.to_pylist()]
    assert {(row["reader"], row["chunker"]) for row in rows} == {("whole_page", "line"), ("lossy", "line")}
    found = explain_variation(result)
    assert found is not None and found.factors[0].factor == "reader"


@pytest.mark.parametrize(
    ("readers", "message"),
    [
        ("{odd: []}", "has no reader"),
        ("{odd: [lossy, lossy]}", "listed twice"),
        ("{odd: pdfium}", "pdfium does not read odd. It reads: pdf"),
        ("{odd: wholepage}", "Did you mean 'whole_page'"),
    ],
)
def test_readers_that_cannot_be_used_are_refused(project: Path, readers: str, message: str) -> None:
    (project / "bakeoff.yaml").write_text(YAML.replace("{odd: [whole_page, lossy]}", readers))
    with pytest.raises(Exception, match=message.replace("[", r"\[")):
        experiment.load(project)


def test_chunks_and_sections_of_different_texts_are_not_compared(project: Path) -> None:
    (project / "bakeoff.yaml").write_text(YAML.replace("R@5(answer)", "R@5(chunk)"))
    with pytest.raises(ExperimentError):
        experiment.load(project)


def test_one_reader_is_no_factor_and_changes_no_label(project: Path) -> None:
    (project / "bakeoff.yaml").write_text(YAML.replace("[whole_page, lossy]", "whole_page"))
    (system,) = experiment.load(project).systems
    assert system.label == "line · bm25" and len(experiment.load(project).readings) == 1
