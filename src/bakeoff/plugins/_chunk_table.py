"""A table of chunks made elsewhere: its columns, its rows by document, its vectors in any order of ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from bakeoff.corpus.tables import TableFile, as_text, open_table
from bakeoff.errors import DataError
from bakeoff.plugins._settings import Settings
from bakeoff.plugins.kit.server import without_secret
from bakeoff.storage.temp_dir import TempDir

BLOCK = 8_192


class ChunkTableParams(Settings):
    """Which table, and the meaning of its columns."""

    table: Path | str = Field(
        description="a table of chunks: a file, a pattern, a dataset's folder, or a URL"
    )
    id: str = Field(description="the column of chunk ids; none may be missing or occur twice")
    text: str = Field(description="the column of texts")
    document: str = Field("", description="the column of document ids; default: each chunk is a document")
    section: str = Field("", description="the column of section names; default: chunks have none")
    vector: str = Field("", description="the column of vectors; default: none, the chunks are embedded")
    model: str = Field("", description="the embedder that made the vectors, by its name in `embedders`")
    part: str = Field(
        "", description="the sheet of a workbook, table of an SQLite file, or split of a dataset"
    )
    encoding: str = Field("utf-8", description="of a CSV file")

    @field_validator("table", mode="after")
    @classmethod
    def _path_or_url(cls, value: Path | str) -> Path | str:
        return without_secret(str(value)) or "" if "://" in str(value) else Path(value)

    @model_validator(mode="after")
    def _named_model(self) -> ChunkTableParams:
        if bool(self.vector) != bool(self.model):
            raise ValueError("vector and model go together: name the embedder that made the vectors")
        return self

    @property
    def columns(self) -> list[str]:
        """Columns of ids, documents, texts and sections."""
        named = [self.id, self.document or self.id, self.text, *filter(None, [self.section])]
        return list(dict.fromkeys(named))


class ChunkTable:
    """The rows, sorted by document in order of first appearance; read on first use."""

    def __init__(self, params: ChunkTableParams) -> None:
        self._params = params

    @cached_property
    def file(self) -> TableFile:
        """The table, opened."""
        found = open_table(self._params.table, self._params.part, self._params.encoding)
        found.expect([*self._params.columns, *filter(None, [self._params.vector])])
        return found

    @cached_property
    def rows(self) -> pa.Table:
        """Columns id, document, text and section of all chunks, grouped by document."""
        params = self._params
        batches = [_texts(batch, params, self.file.where) for batch in self.file.batches(params.columns)]
        if not batches:
            raise DataError(f"{self.file.where} has no row.")
        table = pa.Table.from_batches(batches)
        _check_unique(table["id"], self.file.where)
        codes = pc.dictionary_encode(table["document"].combine_chunks()).indices.to_numpy()
        return table.take(pa.array(np.argsort(codes, kind="stable")))

    @cached_property
    def documents(self) -> dict[str, tuple[int, int]]:
        """First row and number of rows of each document."""
        counted = pc.value_counts(self.rows["document"].combine_chunks())
        names, counts = counted.field("values").to_pylist(), counted.field("counts").to_numpy()
        ends = np.cumsum(counts)
        return {name: (int(end - n), int(n)) for name, n, end in zip(names, counts, ends, strict=True)}

    def of_document(self, name: str) -> list[tuple[str, str, str]]:
        """Id, text and section of a document's chunks, in table order."""
        first, count = self.documents.get(name, (0, 0))
        part = self.rows.slice(first, count)
        columns = (part[key].to_pylist() for key in ("id", "text", "section"))
        return list(zip(*columns, strict=True))

    def vectors(self, ids: Sequence[str]) -> Iterator[np.ndarray]:
        """Yield the vectors of some chunks, in their order, some thousands at a time, in bounded memory."""
        place = {name: row for row, name in enumerate(ids)}
        with TempDir("vectors") as folder:
            matrix: np.ndarray | None = None
            for names, block in self._vector_batches():
                if matrix is None:
                    shape = (len(ids), block.shape[1])
                    matrix = np.memmap(folder / "vectors", np.float32, "w+", shape=shape)
                _expect_length(block, matrix.shape[1], self.file.where)
                known = [(place[name], row) for row, name in enumerate(names) if name in place]
                if known:
                    to, row = np.array(known).T
                    matrix[to] = block[row]
            for begin in range(0, len(ids), BLOCK):
                assert matrix is not None
                yield np.array(matrix[begin : begin + BLOCK])

    def _vector_batches(self) -> Iterator[tuple[list[str], np.ndarray]]:
        params = self._params
        for batch in self.file.batches([params.id, params.vector]):
            names = as_text(batch.column(params.id), params.id).to_pylist()
            if names:
                yield names, _matrix(batch.column(params.vector), names, params.vector, self.file.where)


def _texts(batch: pa.RecordBatch, params: ChunkTableParams, where: str) -> pa.RecordBatch:
    columns = {
        "id": (params.id, "id"),
        "document": (params.document or params.id, "document"),
        "text": (params.text, "text"),
    }
    found = {}
    for name, (column, what) in columns.items():
        texts = as_text(batch.column(column), column).cast(pa.large_string())
        blank = pc.fill_null(pc.equal(pc.binary_length(pc.utf8_trim_whitespace(texts)), 0), True)
        if pc.any(blank).as_py():
            row = pc.index(blank, True).as_py()
            chunk = as_text(batch.column(params.id), params.id)[row].as_py()
            raise DataError(
                f'{where}, column "{column}": chunk {chunk!r} has no {what}. Fill it, or remove the row.'
            )
        found[name] = texts
    found["section"] = _sections(batch, params.section)
    return pa.record_batch(found)


def _sections(batch: pa.RecordBatch, column: str) -> pa.Array:
    """Section of each row, '' if it has none."""
    if not column:
        return pa.array([""] * len(batch), pa.large_string())
    return pc.fill_null(as_text(batch.column(column), column).cast(pa.large_string()), "")


def _check_unique(ids: pa.ChunkedArray, where: str) -> None:
    if pc.count_distinct(ids).as_py() < len(ids):
        counted = pc.value_counts(ids)
        twice = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
        others = f", and {len(twice) - 1:,} more ids do" if len(twice) > 1 else ""
        raise DataError(
            f"{where}: chunk id {twice[0].as_py()!r} occurs more than once{others}. Choose a column whose values "
            "are unique."
        )


def _matrix(column: pa.Array, names: Sequence[str], name: str, where: str) -> np.ndarray:
    """Vectors as rows; a missing one, or one of another length, is an error."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _parse_vectors(column, name, where)
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise DataError(f'{where}, column "{name}": chunk {names[row]!r} has no vector.')
    if not (
        pa.types.is_list(column.type)
        or pa.types.is_large_list(column.type)
        or pa.types.is_fixed_size_list(column.type)
    ):
        raise DataError(f'{where}, column "{name}" holds {column.type}, not lists of numbers.')
    lengths = pc.list_value_length(column)
    if pc.count_distinct(lengths).as_py() != 1:
        raise DataError(
            f'{where}, column "{name}": vectors have different lengths ({pc.unique(lengths).to_pylist()[:5]}).'
        )
    flat = column.flatten().cast(pa.float32()).to_numpy(zero_copy_only=False)
    matrix: np.ndarray = flat.reshape(len(column), -1)
    broken = ~np.isfinite(matrix).all(axis=1)
    if broken.any():
        raise DataError(
            f'{where}, column "{name}": the vector of chunk {names[int(broken.argmax())]!r} is not finite.'
        )
    return matrix


def _parse_vectors(column: pa.Array, name: str, where: str) -> pa.Array:
    """Parse vectors written as text, such as [0.1, 0.2]."""
    try:
        rows = [None if text is None else json.loads(text) for text in column.to_pylist()]
        return pa.array(rows, pa.list_(pa.float32()))
    except (ValueError, pa.ArrowInvalid, pa.ArrowTypeError) as exc:
        raise DataError(
            f'{where}, column "{name}" holds texts that are not vectors such as [0.1, 0.2]: {exc}'
        ) from exc


def _expect_length(block: np.ndarray, dims: int, where: str) -> None:
    if block.shape[1] != dims:
        raise DataError(f"{where}: vectors have different lengths ({dims} and {block.shape[1]}).")
