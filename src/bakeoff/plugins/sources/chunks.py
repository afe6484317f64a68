"""Builds documents from a table of chunks, for experiments that have only chunks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import ClassVar

import pyarrow as pa

from bakeoff.corpus.tables import table_version
from bakeoff.plugins._chunk_table import ChunkTable, ChunkTableParams
from bakeoff.types import DocumentBatch

BATCH_DOCUMENTS = 1_024


class ChunksSource:
    """Joins the chunks of each document with a blank line, in table order."""

    version: ClassVar[str] = "1"
    Params = ChunkTableParams

    def __init__(self, params: ChunkTableParams) -> None:
        self._params, self._table = params, ChunkTable(params)

    def content_version(self) -> str:
        """Fingerprint of the table's bytes."""
        return table_version(self._params.table)

    def count_rows(self) -> int | None:
        """None: unknown before the table is read."""
        return None

    def batches(self) -> Iterator[DocumentBatch]:
        """Yield the documents in order of their first chunks."""
        names = iter(self._table.documents)
        while some := list(islice(names, BATCH_DOCUMENTS)):
            texts = ["\n\n".join(text for _, text, _ in self._table.of_document(name)) for name in some]
            yield DocumentBatch(
                ids=pa.array(some, pa.large_string()), titles=None, texts=pa.array(texts, pa.large_string())
            )
