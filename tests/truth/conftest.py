"""A small corpus with everything rules point at, and query sets from YAML text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pytest

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError
from bakeoff.storage.schemas import CHUNKS, DOCUMENTS
from bakeoff.truth.queries import QuerySet, query_set
from bakeoff.truth.resolve import Truth, resolve

DECODER = '''"""Größe: Zeichen, nicht Bytes — üöä 😀."""

LIMIT = 10


def plain(text):
    return "ü", text


class JSONDecoder:
    """Decodes."""

    @property
    @cached("😀")
    def raw_decode(self, s):
        return "größer" + s  # Ende

    async def stream(self): pass


if LIMIT:
    def hidden(): return "é"
'''

REPORT = """1. SYNOPSIS
The airplane crashed. Pilot fatigue was found.
1.7 METEOROLOGICAL INFORMATION
Weather was clear. Wind calm.
(b) PROBABLE CAUSE
A fatigue crack in the wing spar grew over 1,200 flights.
2. RECOMMENDATIONS
Inspect the wing spar. Limit duty time and rest.
"""

MANUAL = """# Setup
Install it with care.

## Options
The option --über sets the rest time.

```
# not a heading
```

# Use
Über alles: duty
time counts. Install it with care.
"""

TEXTS = {
    "src/json/decoder.py": DECODER,
    "src/simple/decoder.py": "x = 1\n",
    "reports/AAR1401.pdf": REPORT,
    "reports/AAR1410.pdf": "SUMMARY\nNothing about the topic here.\n",
    "docs/manual.md": MANUAL,
    "src/main.go": "package main\nfunc main() {}\n",
}
KINDS = {"py": "python", "md": "markdown", "pdf": "pdf", "go": "go"}


def _make_documents(texts: Mapping[str, str]) -> pa.Table:
    kinds = [KINDS.get(name.rsplit(".", 1)[-1], "text") for name in texts]
    empty = [""] * len(texts)
    columns = {
        "id": list(texts),
        "version": empty,
        "kind": kinds,
        "title": empty,
        "text": list(texts.values()),
    }
    return DOCUMENTS.table({**columns, "fields": ["{}"] * len(texts)})


def _make_chunks(texts: Mapping[str, str], size: int, step: int | None = None) -> pa.Table:
    """Windows of `size` characters, one every `step`; the section is the last line in capitals before the start."""
    rows = [
        (
            f"{name}#{start}",
            doc,
            start,
            min(start + size, len(text)),
            _label(text, start),
            text[start : start + size],
        )
        for doc, (name, text) in enumerate(texts.items())
        for start in range(0, max(len(text), 1), step or size)
    ]
    ids, docs, starts, ends, sections, parts = zip(*rows, strict=True)
    ones, empty = [1] * len(rows), [""] * len(rows)
    return CHUNKS.table(
        {
            "id": ids,
            "doc": docs,
            "start": starts,
            "end": ends,
            "line_start": ones,
            "line_end": ones,
            "section": sections,
            "symbol": empty,
            "context": empty,
            "text": parts,
        }
    )


def _label(text: str, start: int) -> str:
    lines = [line for line in text[: start + 1].split("\n") if line and line.upper() == line]
    return lines[-1] if lines else ""


def _make_queries(text: str) -> QuerySet:
    return query_set(yaml_document.parse(text, "queries.yaml", QueryFileError))


def _one_query(truth: str) -> QuerySet:
    return _make_queries(f"queries:\n  - id: q-1\n    text: a question\n    truth: {truth}\n")


@pytest.fixture(scope="session")
def make_documents() -> Callable[[Mapping[str, str]], pa.Table]:
    return _make_documents


@pytest.fixture(scope="session")
def make_chunks() -> Callable[..., pa.Table]:
    return _make_chunks


@pytest.fixture(scope="session")
def make_queries() -> Callable[[str], QuerySet]:
    return _make_queries


@pytest.fixture(scope="session")
def one_query() -> Callable[[str], QuerySet]:
    """A set of one query `q-1` with this truth, which stands in line 4."""
    return _one_query


@pytest.fixture(scope="session")
def documents() -> pa.Table:
    return _make_documents(TEXTS)


@pytest.fixture(scope="session")
def chunks() -> pa.Table:
    return _make_chunks(TEXTS, 60)


@pytest.fixture
def resolved(documents: pa.Table, chunks: pa.Table) -> Callable[[str], Truth]:
    """The truth of one rule over the small corpus."""
    return lambda truth: resolve(_one_query(truth), documents, {"c60": chunks})


@pytest.fixture
def found(
    documents: pa.Table, resolved: Callable[[str], Truth]
) -> Callable[[str], list[tuple[str, str | None]]]:
    """(document id, text of the span or None) of every judgment of one rule, which must have no problems."""

    def texts(truth: str) -> list[tuple[str, str | None]]:
        result = resolved(truth)
        assert result.problems == ()
        names, bodies = documents["id"].to_pylist(), documents["text"].to_pylist()
        return [
            (
                names[row["doc"]],
                None if row["start"] is None else bodies[row["doc"]][row["start"] : row["end"]],
            )
            for row in result.judgments.to_pylist()
        ]

    return texts


@pytest.fixture
def problem(resolved: Callable[[str], Truth]) -> Callable[[str], str]:
    """The one problem of one rule, which must be an error with file, line and query."""

    def message(truth: str) -> str:
        result = resolved(truth)
        (error,) = result.errors
        assert error.message.startswith("queries.yaml, line 4, query q-1: ")
        assert error.query_id == "q-1"
        return error.message

    return message
