"""Turns table rows into documents: the id column, text columns, and fields for filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, field_validator

from bakeoff.corpus.tables import as_text, as_text_or_codes, join_text
from bakeoff.errors import DataError
from bakeoff.types import DocumentBatch, Skipped

SEPARATOR = "\n\n"


class RecordParams(BaseModel):
    """The columns of a table and what they mean."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(description="the column of document ids; none may be missing or occur twice")
    text: list[str] = Field(min_length=1, description="the columns that make the text, joined by blank lines")
    title: str = Field("", description="the column of titles; default: the first of several text columns")
    fields: list[str] = Field([], description="columns that filters of queries may use")
    kind: Literal["text", "markdown"] = Field("text", description="what the texts are written in")
    max_mb: float = Field(20, gt=0, description="largest text of a row in megabytes; larger ones are skipped")

    @field_validator("text", "fields", mode="before")
    @classmethod
    def _as_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @property
    def title_column(self) -> str:
        """The column of titles, '' where there is none."""
        return self.title or (self.text[0] if len(self.text) > 1 else "")

    @property
    def shown_columns(self) -> list[str]:
        """The columns of ids, texts and titles."""
        return list(dict.fromkeys([self.id, *self.text, *filter(None, [self.title_column])]))

    @property
    def columns(self) -> list[str]:
        """Every column that is read."""
        return list(dict.fromkeys([*self.shown_columns, *self.fields]))


def document_batches(
    batches: Iterable[pa.RecordBatch], params: RecordParams, where: str
) -> Iterator[DocumentBatch]:
    """Yield rows of a table as documents; a row without an id is an error, one with too much text is skipped."""
    first = 1
    for batch in batches:
        if batch.num_rows:
            yield _documents(batch, params, where, first)
        first += batch.num_rows


def _documents(batch: pa.RecordBatch, params: RecordParams, where: str, first: int) -> DocumentBatch:
    columns = {name: as_text(batch.column(name), name) for name in params.shown_columns}
    fields = {name: as_text_or_codes(batch.column(name), name) for name in params.fields}
    ids = columns[params.id]
    _check_ids(ids, f'{where}, column "{params.id}"', first)
    texts = join_text([columns[name] for name in params.text], SEPARATOR)
    titles = columns.get(params.title_column)
    skipped: tuple[Skipped, ...] = ()
    limit = int(params.max_mb * 1e6)
    if texts.nbytes > limit and (pc.max(size := pc.binary_length(texts)).as_py() or 0) > limit:
        small = pc.fill_null(pc.less_equal(size, limit), True)
        skipped = _too_large(ids, size, small, params.max_mb)
        ids, texts = ids.filter(small), texts.filter(small)
        titles = titles.filter(small) if titles is not None else None
        fields = {name: column.filter(small) for name, column in fields.items()}
    return DocumentBatch(
        ids=ids, titles=titles, texts=texts, fields=fields, kind=params.kind, skipped=skipped
    )


def _check_ids(ids: pa.Array, where: str, first: int) -> None:
    """Raise DataError for the first row without an id."""
    if not ids.null_count and pc.min(pc.binary_length(ids)).as_py():
        return
    missing = pc.fill_null(pc.equal(pc.binary_length(ids), 0), True)
    if pc.any(missing).as_py():
        row = first + pc.index(missing, True).as_py()
        raise DataError(f"{where}: row {row:,} has no id. Give every row one, or choose another column.")


def _too_large(ids: pa.Array, size: pa.Array, small: pa.Array, most: float) -> tuple[Skipped, ...]:
    large = pc.invert(small)
    rows = zip(ids.filter(large).to_pylist(), size.filter(large).to_pylist(), strict=True)
    return tuple(
        Skipped(name, f"too large: {count / 1e6:.1f} MB, max_mb is {most:g}") for name, count in rows
    )
