from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow.compute as pc

from bakeoff.pipeline.system_tables import SystemResult
from bakeoff.runs.recording import identical_rankings


def test_identical_rankings_are_found_whatever_the_scores(ran: Any) -> None:
    rankings = ran.result.rankings
    cells = []
    for system in ran.result.done:
        mine = rankings.filter(pc.equal(rankings["system"], system))
        empty = {field.name: mine.slice(0, 0) for field in dataclasses.fields(SystemResult)}
        cells.append(SystemResult(**{**empty, "rankings": mine}))
    notes = identical_rankings(cells)
    assert notes == [note for note in ran.result.record.notes if "identical" in note] and len(notes) == 4
    assert all("exact" in note and "faiss" in note for note in notes)
