"""Speed of resolving truth: SQL rules against DuckDB alone, query files against PyYAML, units against a loop.

All figures are CPU seconds, the median of runs that take turns. Run with: python benchmarks/truth.py
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Mapping

import duckdb
import numpy as np
import pyarrow as pa
import yaml

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError
from bakeoff.storage.schemas import CHUNKS, DOCUMENTS
from bakeoff.truth.queries import QuerySet, query_set
from bakeoff.truth.resolve import Truth, resolve
from bakeoff.truth.rules import Sql
from bakeoff.truth.units import derive_units
from bakeoff.types import Query, Unit
from common import Row, show

CHUNK_COUNT, WORDS, RULES, REPEATS = 28_321, 600, 50, 3
CHUNKS_A_DOCUMENT = 50
VOCABULARY = 20_000


def main() -> int:
    """Measure everything and print the rows."""
    rng = np.random.default_rng(7)
    words = np.array([_word(rng) for _ in range(VOCABULARY)])
    texts = _texts(rng, words)
    documents, chunks = _documents(texts), _chunks(texts)
    conditions = _conditions(rng, words)
    queries = QuerySet(
        tuple(Query(f"q{i}", "x") for i in range(RULES)), tuple(Sql(where=text) for text in conditions)
    )
    own = duckdb.connect()
    own.register("given", chunks)
    own.execute("CREATE TABLE loaded AS SELECT row_number() OVER () - 1 AS n, text AS chunk_text FROM given")
    seconds = _interleaved(
        {
            "ours": lambda: resolve(queries, documents, {"c": chunks}),
            "per rule": lambda: [_rows(own, text) for text in conditions],
        }
    )
    truth = resolve(queries, documents, {"c": chunks})
    _same(truth, [_rows(own, text) for text in conditions])
    return show(
        [
            Row("sql: 50 rules over 28,321 chunks, s", seconds["ours"], seconds["per rule"], "<= 1.2"),
            _reading(),
            _units(truth, chunks),
        ]
    )


def _word(rng: np.random.Generator) -> str:
    return "".join(rng.choice(list("abcdefghijklmnoprstu"), rng.integers(3, 10)))


def _texts(rng: np.random.Generator, words: np.ndarray) -> list[str]:
    """Chunks of 600 words whose frequencies fall as in natural text."""
    weights = 1 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(words, size=(2_000, WORDS), p=weights / weights.sum())
    lines = [" ".join(row) for row in drawn]
    halves = rng.integers(0, len(lines), size=(CHUNK_COUNT, 2))
    return [lines[a][: len(lines[a]) // 2] + " " + lines[b][len(lines[b]) // 2 :] for a, b in halves]


def _conditions(rng: np.random.Generator, words: np.ndarray) -> list[str]:
    a, b, c = (rng.choice(words[20:5_000], RULES) for _ in range(3))
    like = "lower(chunk_text) LIKE '%{}%'"
    return [
        f"{like.format(x)} AND ({like.format(y)} OR {like.format(f'{z}%{y}')})"
        for x, y, z in zip(a, b, c, strict=True)
    ]


def _documents(texts: list[str]) -> pa.Table:
    parts = ["\n".join(texts[i : i + CHUNKS_A_DOCUMENT]) for i in range(0, len(texts), CHUNKS_A_DOCUMENT)]
    empty = [""] * len(parts)
    names = [f"r{i}.txt" for i in range(len(parts))]
    columns = {"id": names, "version": empty, "kind": ["text"] * len(parts), "title": empty}
    return DOCUMENTS.table({**columns, "fields": ["{}"] * len(parts), "text": parts})


def _chunks(texts: list[str]) -> pa.Table:
    lengths = np.array([len(text) + 1 for text in texts])
    doc = np.arange(len(texts)) // CHUNKS_A_DOCUMENT
    ends = np.cumsum(lengths)
    start = ends - lengths - (ends - lengths)[doc * CHUNKS_A_DOCUMENT]
    ones, empty = np.ones(len(texts)), [""] * len(texts)
    places = {"doc": doc, "start": start, "end": start + lengths - 1, "line_start": ones, "line_end": ones}
    named = {"id": [f"c{i}" for i in range(len(texts))], "section": empty, "symbol": empty, "context": empty}
    return CHUNKS.table(
        {**{key: np.asarray(column, np.int32) for key, column in places.items()}, **named, "text": texts}
    )


def _rows(own: duckdb.DuckDBPyConnection, condition: str) -> np.ndarray:
    return own.execute(f"SELECT n FROM loaded WHERE {condition}").fetchnumpy()["n"]


def _same(truth: Truth, expected: list[np.ndarray]) -> None:
    """Stop unless both found the same chunks."""
    counted = np.bincount(truth.judgments["query"].to_numpy(), minlength=RULES).tolist()
    if counted != [len(rows) for rows in expected]:
        raise SystemExit(f"hits differ: {counted} against {[len(rows) for rows in expected]}")


def _reading() -> Row:
    text = "queries:\n" + "".join(
        f"  - id: q{i}\n    text: what is number {i} of the list\n    category: howto\n    difficulty: easy\n"
        f"    truth: {{any: [{{documents: [a/b{i}.py]}}, {{lines: {{document: c.py, from: 1, to: 9}}}}]}}\n"
        for i in range(10_000)
    )
    seconds = _interleaved(
        {
            "ours": lambda: query_set(yaml_document.parse(text, "q", QueryFileError)),
            "yaml": lambda: yaml.load(text, yaml.CSafeLoader),
        }
    )
    return Row(
        "read and check 10,000 queries, PyYAML reads only, s", seconds["ours"], seconds["yaml"], "<= 1"
    )


def _units(truth: Truth, chunks: pa.Table) -> Row:
    """Spans to chunks, against one pass over the chunks of each judged document."""
    spans = truth.judgments.set_column(6, "chunking", pa.array([""] * truth.judgments.num_rows))
    seconds = _interleaved(
        {"ours": lambda: derive_units(spans, chunks, "c", Unit.CHUNK), "loop": lambda: _loop(spans, chunks)}
    )
    return Row(f"{spans.num_rows:,} spans to chunks, a loop, s", seconds["ours"], seconds["loop"], "<= 0.1")


def _loop(spans: pa.Table, chunks: pa.Table) -> int:
    by_doc: dict[int, list[tuple[int, int]]] = {}
    for doc, start, end in zip(*(chunks[key].to_pylist() for key in ("doc", "start", "end")), strict=True):
        by_doc.setdefault(doc, []).append((start, end))
    found = 0
    for doc, start, end in zip(*(spans[key].to_pylist() for key in ("doc", "start", "end")), strict=True):
        found += sum(min(end, b) - max(start, a) >= 0.5 * min(end - start, b - a) for a, b in by_doc[doc])
    return found


def _interleaved(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Median CPU seconds of each work; the works take turns so that a busy machine is fair to all."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            start = _cpu_seconds()
            work()
            seconds[name].append(_cpu_seconds() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def _cpu_seconds() -> float:
    """Of this process and of those it waited for: conditions are computed in one of them."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())
