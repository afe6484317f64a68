"""Pages of a run with a review: people's judgments reach the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("streamlit", reason="streamlit is not installed: pip install 'bakeoff[dashboard]'")

from streamlit.testing.v1 import AppTest

import bakeoff.report.dashboard
from bakeoff import run
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.measures.labels import Label
from bakeoff.report.dashboard import folder, frames
from bakeoff.report.dashboard.folder import VARIABLE
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.review_folder import open_review

NOT_YET = "Human review not yet completed"


def overview() -> Any:
    """The first page, with no exception on it."""
    script = Path(bakeoff.report.dashboard.__file__).with_name("app.py")
    shown = AppTest.from_file(str(script), default_timeout=60).run()
    assert not shown.exception
    return shown


def test_lift_is_there_once_people_have_judged(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small.write_text(small.read_text().replace("[dense]", "[dense, bm25]") + "preset: goldsql\n")
    result = run(small, out=Path("run"))
    monkeypatch.setenv(VARIABLE, str(result.path))
    assert any(NOT_YET in one.value for one in overview().info)
    words = ["review", "export", str(result.path)]
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 0
    review = open_review(result.path)
    for item in review.pool().items:
        label = Label.SEMANTIC_MATCH if item.returned[0].rank == 1 else Label.FALSE_POSITIVE
        review.ledger.append(
            LedgerEntry(LedgerKind.JUDGE, item.id, item.query_id, "ann", item.text_hash, judgment=label)
        )
    shown = overview()
    assert not any(NOT_YET in one.value for one in shown.info)
    assert any("judged completely" in one.value for one in shown.caption)
    assert any("ann" in one.value for one in shown.caption)
    assert {"By kind of question", "Key measure by category"} & {one.value for one in shown.header}


def test_the_recommended_system_is_marked_and_unscored_columns_have_a_format(ran: Any) -> None:
    quick = folder.glance(*folder.key(ran.result))
    chosen = quick.rows[1].system
    frame = frames.systems(quick, chosen)
    assert [name for name in frame["system"] if name.endswith(" (recommended)")] == [
        f"{chosen} (recommended)"
    ]
    assert frames.score_format(frame, quick.primary) == "%.3f"
    assert frames.score_format(frame.assign(tokens=[2368.0] * len(frame)), "tokens") == "%.0f"
    assert frames.score_format(frame.assign(none=[None] * len(frame)), "none") == "%.0f"
