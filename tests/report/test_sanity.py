"""Sanity notes of a whole run: none for a sound one, and a fault where stored scores cannot be."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape

import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.report.render.html import write_html
from bakeoff.report.render.markdown import write_markdown
from bakeoff.report.sections.provenance import describe_provenance
from bakeoff.report.sections.sanity import sanity_notes
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.score_grid import read_grid

MEASURES = ("nDCG@10(document)", "Hit@5(document)", "Hit@10(document)")


def test_a_sound_run_and_one_whose_hits_fall_with_k(make_run: Callable[..., Result]) -> None:
    """S3-26: with the value, in the report's notes too."""
    run = make_run(systems=2, measures=MEASURES)
    assert sanity_notes(run, read_grid(run)) == []
    path = run.path / "scores.parquet"
    rows = pq.read_table(path)
    pairs = zip(rows["measure"].to_pylist(), rows["value"].to_pylist(), strict=True)
    values = [0.0 if name == MEASURES[2] and value is not None else value for name, value in pairs]
    at = rows.schema.get_field_index("value")
    pq.write_table(rows.set_column(at, rows.schema.field(at), [values]), path)
    changed = open_run(run.path)
    notes = sanity_notes(changed, read_grid(changed))
    assert len(notes) == 2 and all(note.startswith("Fault: ") and "@10 0.000" in note for note in notes)
    assert set(notes) <= set(describe_provenance(changed, read_grid(changed), None).notes)


def test_the_page_says_what_the_terminal_says(make_run: Callable[..., Result]) -> None:
    """Rankings cut at the depth whose chunks come from one document: k documents cannot be counted."""
    run = make_run(systems=2)
    path = run.path / "rankings.parquet"
    rows = pq.read_table(path)
    kept, same = rows.slice(0, 0), ["doc/00000.py"] * run.record.depth
    chunks = [f"chunk-{number}" for number in range(run.record.depth)]
    for system in run.done:
        first = {
            "run": "made-up",
            "system": system,
            "query_id": "q-01",
            "start": 0,
            "end": 27,
            "section": "top",
        }
        table = [
            {**first, "rank": rank, "chunk_id": chunk, "document_id": document, "score": 1 / rank}
            for rank, (chunk, document) in enumerate(zip(chunks, same, strict=True), start=1)
        ]
        kept = pa.concat_tables([kept, pa.Table.from_pylist(table, rows.schema)])
    pq.write_table(kept, path)
    changed = open_run(run.path)
    (note,) = sanity_notes(changed, read_grid(changed))
    assert "20 documents that R@20(document) counts" in note and "1 of 45" in note and "1 more" in note
    assert note in write_markdown(changed).read_text(encoding="utf-8").replace("\\", "")
    assert note in unescape(write_html(changed).read_text(encoding="utf-8"))
