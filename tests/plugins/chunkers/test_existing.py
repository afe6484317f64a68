"""Chunks made elsewhere: placed in their documents, with their ids and vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakeoff
from bakeoff import registry
from bakeoff.config.experiment import load
from bakeoff.errors import ChunkerError, DataError, ExperimentError
from bakeoff.plugins._chunk_table import ChunkTable, ChunkTableParams
from bakeoff.plugins.chunkers.existing import ExistingChunker
from bakeoff.plugins.sources.chunks import ChunksSource
from bakeoff.runs.checks.checking import validate
from bakeoff.types import Document, Piece, Role

ROWS: list[dict[str, Any]] = [
    {"id": "b2", "doc": "b", "text": "second of b", "v": [0.0, 1.0]},
    {"id": "a1", "doc": "a", "text": "first of a", "v": [1.0, 0.0]},
    {"id": "b1", "doc": "b", "text": "second", "v": [0.5, 0.5]},
]


def params(folder: Path, rows: list[dict[str, Any]] = ROWS, **more: Any) -> ChunkTableParams:
    path = folder / "chunks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ChunkTableParams(table=path, id="id", text="text", **{"document": "doc", **more})


def with_vectors(folder: Path, rows: list[dict[str, Any]]) -> ChunkTable:
    return ChunkTable(params(folder, rows, vector="v", model="m"))


def test_documents_are_made_of_chunks_and_chunks_found_in_them(tmp_path: Path) -> None:
    (batch,) = ChunksSource(params(tmp_path)).batches()
    texts = dict(zip(batch.ids.to_pylist(), batch.texts.to_pylist(), strict=True))
    assert texts == {"b": "second of b\n\nsecond", "a": "first of a"}
    chunker = ExistingChunker(params(tmp_path))
    assert list(chunker.chunk(Document("b", texts["b"]))) == [Piece(0, 11, id="b2"), Piece(13, 19, id="b1")]


def test_chunks_keep_the_section_of_their_row(tmp_path: Path) -> None:
    rows = [{**row, "part": {"b2": "PROBABLE CAUSE", "a1": None}.get(row["id"], "FIRE")} for row in ROWS]
    chunker = ExistingChunker(params(tmp_path, rows, section="part"))
    text = "second of b\n\nsecond"
    assert [piece.section for piece in chunker.chunk(Document("b", text))] == ["PROBABLE CAUSE", "FIRE"]
    assert [piece.section for piece in chunker.chunk(Document("a", "first of a"))] == [""]


def test_a_chunk_is_found_with_other_blanks_and_case(tmp_path: Path) -> None:
    chunker = ExistingChunker(params(tmp_path))
    assert list(chunker.chunk(Document("a", "# A\n\nFirst\n  of a. More."))) == [Piece(5, 17, id="a1")]
    with pytest.raises(ChunkerError, match=r"1.*1.*a1"):
        chunker.chunk(Document("a", "something else"))
    with pytest.raises(ChunkerError, match=r"2.*1"):
        chunker.check_documents({"a", "c"})


def test_vectors_come_in_the_order_of_the_ids(tmp_path: Path) -> None:
    table = with_vectors(tmp_path, ROWS)
    assert np.concatenate(list(table.vectors(["b1", "b2", "a1"]))).tolist() == [[0.5, 0.5], [0, 1], [1, 0]]
    written = [{**row, "v": json.dumps(row["v"])} for row in ROWS]
    assert next(with_vectors(tmp_path, written).vectors(["a1"])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": None}, "chunk 'x' has no vector"),
        ({"v": [1.0]}, "different lengths"),
        ({"v": [1.0, float("nan")]}, "the vector of chunk 'x' is not finite"),
    ],
)
def test_vectors_that_are_none(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = [*ROWS, {"id": "x", "doc": "b", "text": "t", **change}]
    with pytest.raises(DataError, match=message):
        list(with_vectors(tmp_path, rows).vectors(["a1"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "a1"}, "chunk id 'a1' occurs more than once"),
        ({"text": " "}, "chunk 'x' has no text"),
        ({"doc": None}, "chunk 'x' has no document"),
    ],
)
def test_rows_that_are_not_chunks(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ChunkTable(params(tmp_path, [*ROWS, {"id": "x", "doc": "b", "text": "t", **change}])).of_document("a")


# --- an experiment over chunks ----------------------------------------------------------------------

TEXTS = {
    "wifi/1": "The router loses its wifi at night.",
    "wifi/2": "A new channel helps.",
    "cable/1": "The cable of the modem is too short.",
    "cable/2": "Order a longer one from the shop.",
}
QUERIES = """\
queries:
  - {id: q1, text: router loses wifi, truth: {documents: [wifi]}}
  - {id: q2, text: short modem cable, truth: {chunks: [cable/1]}}
  - {id: q3, text: which shop sells a longer one, truth: {passage: {text: Order a longer one}}}
"""


@pytest.fixture
def experiment(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes the chunks with vectors of wordllama, or others, and an experiment over them."""
    plugin = registry.load("embedders", "wordllama")
    vectors = plugin(plugin.Params()).embed(list(TEXTS.values()), Role.DOCUMENT)
    monkeypatch.chdir(tmp_path)

    def write(vectors: np.ndarray = vectors, more: str = "") -> Path:
        rows = [
            {"id": name, "doc": name.split("/")[0], "text": text, "v": vector.tolist()}
            for (name, text), vector in zip(TEXTS.items(), vectors, strict=True)
        ]
        params(tmp_path, rows)
        (tmp_path / "queries.yaml").write_text(QUERIES)
        path = tmp_path / "bakeoff.yaml"
        path.write_text(
            "chunks: {table: chunks.jsonl, id: id, text: text, document: doc, vector: v, model: wordllama}\n"
            f"queries: queries.yaml\nmodes: [dense]\nmeasures: {{primary: nDCG@10(answer), also: []}}\n{more}"
        )
        return path

    return write


def test_chunks_with_vectors_are_evaluated_as_they_are(experiment: Any) -> None:
    result = bakeoff.run(load(experiment()))
    rankings = result.rankings
    best = {row["query_id"]: row["chunk_id"] for row in rankings.to_pylist() if row["rank"] == 1}
    assert best == {"q1": "wifi/1", "q2": "cable/1", "q3": "cable/2"}
    assert not [note for note in result.record.notes if "median cosine" in note]


def test_vectors_of_another_model_are_reported(experiment: Any) -> None:
    other = np.random.default_rng(7).normal(size=(len(TEXTS), 256)).astype(np.float32)
    result = bakeoff.run(load(experiment(other)))
    assert [note for note in result.record.notes if "wordllama" in note and "cosine" in note]


def test_vectors_of_another_length_fail_their_systems_only(experiment: Any) -> None:
    path = experiment(np.ones((len(TEXTS), 3), np.float32), "chunkers: [whole]\n")
    assert [found.code for found in validate(path).of("error")] == ["vectors"]
    result = bakeoff.run(load(path))
    failed = [one for one in result.systems.to_pylist() if one["status"] == "failed"]
    assert [one["chunker"] for one in failed] == ["chunks"]
    assert "have 3 dimensions, but wordllama makes 256" in failed[0]["reason"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("model: wordllama", "model: e5", "'e5' made the vectors"),
        (", model: wordllama", "", "vector and model go together"),
        ("chunks: {", "x: {", 'unknown key "x"'),
    ],
)
def test_experiments_that_are_wrong(experiment: Any, old: str, new: str, message: str) -> None:
    path = experiment()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ExperimentError, match=message):
        load(path)
