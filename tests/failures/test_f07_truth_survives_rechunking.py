"""F07: truth that dies when the corpus is re-chunked. F45: byte offsets used as character offsets."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError
from bakeoff.runs.run import run
from bakeoff.storage.schemas import CHUNKS, DOCUMENTS
from bakeoff.truth.queries import query_set
from bakeoff.truth.resolve import resolve
from bakeoff.truth.units import derive_units
from bakeoff.types import Unit

TEXT = (
    '"""Größe — 😀 üöä."""\n'
    + "x = 1\n" * 30
    + 'def verify(token):\n    return "größer" + token\n'
    + "y = 2\n" * 30
)
QUERIES = """
queries:
  - {id: symbol, text: a, truth: {symbol: "auth.py::verify"}}
  - {id: lines, text: b, truth: {lines: {document: auth.py, from: 32, to: 33}}}
  - {id: passage, text: c, truth: {passage: "def verify(token)"}}
  - {id: keywords, text: d, truth: {keywords: {any: [verify]}, over: documents}}
"""


def documents() -> pa.Table:
    columns = {"id": ["auth.py"], "version": [""], "kind": ["python"], "title": [""], "fields": ["{}"]}
    return DOCUMENTS.table({**columns, "text": [TEXT]})


def chunking(size: int) -> pa.Table:
    starts = list(range(0, len(TEXT), size))
    ends = [min(start + size, len(TEXT)) for start in starts]
    ones, empty, zero = [1] * len(starts), [""] * len(starts), [0] * len(starts)
    texts = [TEXT[start:end] for start, end in zip(starts, ends, strict=True)]
    places = {"doc": zero, "start": starts, "end": ends, "line_start": ones, "line_end": ones}
    return CHUNKS.table(
        {"id": empty, **places, "section": empty, "symbol": empty, "context": empty, "text": texts}
    )


@pytest.mark.parametrize("size", [7, 20, 64, 150, 10_000])
def test_f07_one_truth_serves_every_chunking(size: int) -> None:
    queries = query_set(yaml_document.parse(QUERIES, "queries.yaml", QueryFileError))
    truth = resolve(queries, documents(), {})
    assert truth.problems == ()
    chunks = chunking(size)
    judged = derive_units(truth.judgments, chunks, f"size{size}", Unit.CHUNK)
    for query in range(3):
        texts = chunks["text"].take(pa.array(judged.item[judged.query == query])).to_pylist()
        assert "verify" in "".join(texts)
    assert (judged.query == 3).sum() == chunks.num_rows


def test_f45_spans_are_characters() -> None:
    queries = query_set(yaml_document.parse(QUERIES, "queries.yaml", QueryFileError))
    rows = resolve(queries, documents(), {}).judgments.to_pylist()
    whole = 'def verify(token):\n    return "größer" + token'
    assert [TEXT[row["start"] : row["end"]] for row in rows[:3]] == [whole, whole, "def verify(token)"]


def test_f07_one_query_file_serves_the_chunkers_of_a_run(small: Path) -> None:
    """Spans written once are found under each chunker, at the level of answers too."""
    Path("queries.yaml").write_text(
        "queries:\n"
        "  - {id: evict, text: remove the entry that was unused, truth: {symbol: 'src/cache.py::LeastRecentlyUsed.evict'}}\n"
        "  - {id: refund, text: get my money back, truth: {passage: A refund is granted within thirty days.}}\n"
        "  - {id: rollback, text: an unhealthy service, truth: {lines: {document: guide/deploy.md, from: 7, to: 7}}}\n"
    )
    text = re.sub(
        r"chunkers: .*",
        "chunkers: [{line: {doc_lines: 2, code_lines: 2}}, line, semantic, whole]",
        small.read_text(),
    )
    small.write_text(text + "measures: {primary: R@20(answer), also: [R@20(document)]}\n")
    result = run(small, out=Path("run"))
    assert len(result.done) == 4 and not result.failed
    assert result.scores["value"].null_count == 0
    assert {one.mean for one in result.summaries("R@20(document)").values()} == {1.0}
    assert {one.mean for one in result.summaries("R@20(answer)").values()} == {1.0}
