from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from bakeoff.errors import MissingExtraError
from bakeoff.report.build import build_report
from bakeoff.report.render import brief
from bakeoff.report.sections.sanity import sanity_notes
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import read_grid
from bakeoff.stats.recommendation import Strength

Make = Callable[..., Result]


def test_page_and_text_say_the_recommendation(make_run: Make) -> None:
    result = make_run(systems=12)
    page, text = (
        path.read_text(encoding="utf-8") for path in brief.write_brief(result, result.path, ["html", "md"])
    )
    advice = result.recommendation
    assert advice is not None and advice.sentence.replace("·", "·") in text
    assert "<script" not in page and page.count('class="chosen"') == 1
    assert ('class="verdict open"' in page) == (advice.strength is Strength.START)
    assert text.count("\n| ") >= brief.SHOWN


def test_the_recommended_system_is_on_the_page_wherever_it_ranks(make_run: Make) -> None:
    report = build_report(make_run(systems=12))
    shown = brief._rows_shown(report.systems)
    assert any(row.chosen for row in shown) and len(shown) <= brief.SHOWN + 1


def test_a_pdf_needs_a_browser(make_run: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    result = make_run(systems=2)
    assert brief.usual_formats() == ["html", "md"]
    with pytest.raises(MissingExtraError, match="browser"):
        brief.write_brief(result, result.path, ["pdf"])
    assert not (result.path / "brief.pdf").exists()


def test_recall_over_all_documents_says_nothing(make_run: Make) -> None:
    result = make_run(systems=2)
    corpus = result.record.corpus
    assert corpus is not None
    few = corpus.model_copy(update={"documents": 20})
    result.record = result.record.model_copy(update={"corpus": few})
    notes = sanity_notes(result, read_grid(result))
    assert any(note.startswith("R@20(document) ") for note in notes)
    assert not any("larger depth" in note for note in notes)
