from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.errors import ChunkerError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline import chunk
from bakeoff.pipeline.chunk import TokenCounts, chunk_sizes, embedded_texts


@pytest.mark.parametrize("name", ["line", "semantic", "whole", "sentences", "recursive"])
def test_chunks_are_spans_of_their_documents(bench: Any, name: str) -> None:
    texts = bench.corpus().documents["text"].to_pylist()
    ids = bench.corpus().documents["id"].to_pylist()
    rows = bench.chunking(name).chunks.to_pylist()
    for row in rows:
        text = texts[row["doc"]]
        assert text[row["start"] : row["end"]] == row["text"]
        assert row["line_start"] == text[: row["start"]].count("\n") + 1
        assert row["line_end"] == text[: row["end"] - 1].count("\n") + 1
        body = fingerprint(row["text"])[:8]
        assert row["id"] == f"{ids[row['doc']]}#{row['start']}-{row['end']}.{body}"
    assert [row["doc"] for row in rows] == sorted(row["doc"] for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)


def test_counts_of_what_was_done(bench: Any) -> None:
    first = bench.chunking("line")
    assert (first.fresh, first.reused) == (7, 0)
    again = bench.chunking("line")
    assert (again.fresh, again.reused) == (0, 7)
    assert again.chunks.equals(first.chunks) and again.fingerprint == first.fingerprint
    Path("corpus/new.md").write_text("# New\n\nText.\n")
    more = bench.chunking("line")
    assert (more.fresh, more.reused) == (1, 7)


def test_other_parameters_are_another_chunking(bench: Any) -> None:
    assert bench.chunking("line").fingerprint != bench.chunking("line", doc_lines=3).fingerprint


def test_sizes_in_characters(bench: Any) -> None:
    chunking = bench.chunking("line", doc_lines=4, code_lines=6)
    lengths = sorted(row["end"] - row["start"] for row in chunking.chunks.to_pylist())
    size = chunk_sizes(chunking)
    assert size.chunks == len(lengths) and size.mean == pytest.approx(sum(lengths) / len(lengths))
    assert (size.quantiles[0], size.quantiles[4]) == (lengths[0], lengths[-1])
    assert list(size.quantiles) == sorted(size.quantiles)


def test_tokens_are_words_and_marks(bench: Any) -> None:
    chunking = bench.chunking("whole")
    texts = chunking.chunks["text"].to_pylist()
    expected = [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]
    assert TokenCounts(chunking)[np.arange(len(texts))].tolist() == expected


def test_only_chunks_that_are_asked_for_are_counted(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    monkeypatch.setattr(chunk, "count_tokens", lambda text: counted.append(text) or len(text))
    chunking = bench.chunking("whole")
    texts, counts = chunking.chunks["text"].to_pylist(), TokenCounts(chunking)
    wanted = np.array([2, 0, 2])
    assert counts[wanted].tolist() == [len(texts[2]), len(texts[0]), len(texts[2])]
    assert counts[np.array([0])].tolist() == [len(texts[0])]
    assert counted == [texts[0], texts[2]]


def test_the_context_is_embedded_and_not_part_of_the_text(bench: Any) -> None:
    chunks = bench.chunking("line").chunks
    assert embedded_texts(chunks)[0].startswith("[file: guide/auth.md]")
    assert chunks["text"].to_pylist()[0].startswith("# Authentication")


def test_documents_without_text_make_no_chunks(bench: Any, register: Any) -> None:
    from bakeoff import registry

    class Silent(registry.load("chunkers", "whole")):
        def chunk(self, document: Any) -> list[Any]:
            return []

    register("chunkers", "silent", Silent)
    with pytest.raises(ChunkerError):
        bench.chunking("silent")
