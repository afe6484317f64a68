"""chunk: documents → the table of chunks, each a true character span of its document."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import ChunkerError
from bakeoff.fingerprint import fingerprint
from bakeoff.plan import Part
from bakeoff.pool import Pool, Rows, read_arrow, write_arrow
from bakeoff.protocols import Chunker
from bakeoff.stages.read import Corpus
from bakeoff.stages.work import Workshop, stage
from bakeoff.types import CHUNKS, Document, Piece, Schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

VERSION = "1"
BATCH = 32
TOKEN = re.compile(r"\w+|[^\w\s]")
CUT = Schema("cut", tuple(column for column in CHUNKS.columns if column[0] != "doc"))


@dataclass(frozen=True, slots=True)
class Chunking:
    """All chunks of a corpus under one chunker, and their name; `fresh` documents were cut now, others before."""

    label: str
    chunks: pa.Table
    fingerprint: str
    seconds: float
    fresh: int
    reused: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """How long the chunks are, in characters."""

    chunks: int
    mean: float
    quantiles: tuple[int, int, int, int, int]


def chunk(part: Part, chunker: Chunker, corpus: Corpus, shop: Workshop) -> Chunking:
    """Every chunk of the corpus; documents cut before, unchanged, are taken from the cache."""
    name = fingerprint("chunks", VERSION, part.identity(), corpus.fingerprint)
    documents = corpus.documents
    with stage(shop, "chunk", part.label, documents.num_rows, "documents") as report:
        folder = shop.cache.get("chunks", name)
        fresh = 0
        if folder is None:
            fresh, folder = _make(part, chunker, documents, name, shop, report.advance)
        else:
            report.advance(documents.num_rows)
        table = read_arrow(folder / "chunks.arrow")
        report.summary = f"{table.num_rows:,} chunks"
    return Chunking(part.label, table, name, report.seconds, fresh, documents.num_rows - fresh)


def sizes(chunking: Chunking) -> Sizes:
    """The distribution of chunk lengths: minimum, quartiles and maximum."""
    import numpy as np

    length = chunking.chunks["end"].to_numpy() - chunking.chunks["start"].to_numpy()
    low, q1, median, q3, high = (
        int(v) for v in np.quantile(length, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    )
    return Sizes(len(length), float(length.mean()), (low, q1, median, q3, high))


def token_counts(chunking: Chunking) -> np.ndarray:
    """Words and marks of each chunk: what tokens@k counts, the same whatever a model's tokenizer does."""
    import numpy as np

    texts = chunking.chunks["text"].to_pylist()
    return np.fromiter((len(TOKEN.findall(text)) for text in texts), np.int64, len(texts))


def embedded_texts(chunks: pa.Table) -> list[str]:
    """What is embedded of each chunk: the injected context, then the text."""
    contexts, texts = chunks["context"].to_pylist(), chunks["text"].to_pylist()
    return [context + text for context, text in zip(contexts, texts, strict=True)]


def _make(
    part: Part, chunker: Chunker, documents: pa.Table, name: str, shop: Workshop, advance: Any
) -> tuple[int, Path]:
    pool = Pool(shop.cache, "chunk", fingerprint("chunk", VERSION, part.identity()))
    columns = [documents[c].to_pylist() for c in ("id", "version", "kind", "title", "text")]
    rows = list(zip(*columns, strict=True))
    keys = [fingerprint(i, version, kind) for i, version, kind, _, _ in rows]

    def work(positions: list[int]) -> Rows:
        made = [_cut(chunker, Document(rows[p][0], rows[p][4], rows[p][2], rows[p][3])) for p in positions]
        flat = [row for cut in made for row in cut]
        names = [column for column, _ in CUT.columns]
        table = CUT.table({n: [row[i] for row in flat] for i, n in enumerate(names)})
        return Rows([len(cut) for cut in made], table)

    fresh = pool.fill(keys, work, batch=BATCH, progress=advance)
    counts = pool.counts(keys)
    if counts.sum() == 0:
        raise ChunkerError(f"{part.label} made no chunk of {len(keys)} documents: they hold no text.")
    return fresh, shop.cache.make("chunks", name, lambda folder: _assemble(folder, pool, keys, counts))


def _assemble(folder: Path, pool: Pool, keys: list[str], counts: np.ndarray) -> None:
    import numpy as np
    import pyarrow as pa

    doc = np.repeat(np.arange(len(keys), dtype=np.int32), counts)

    def tables() -> Iterator[pa.Table]:
        done = 0
        for block in pool.gather(keys):
            part = pa.array(doc[done : done + block.num_rows])
            done += block.num_rows
            yield block.add_column(1, "doc", part).select([n for n, _ in CHUNKS.columns]).cast(CHUNKS.arrow())

    write_arrow(folder / "chunks.arrow", tables())


def _cut(chunker: Chunker, document: Document) -> list[tuple[Any, ...]]:
    """The rows of one document, in the order of CUT's columns."""
    pieces = list(chunker.chunk(document))
    _check(document, pieces)
    text = document.text
    breaks = [match.start() for match in re.finditer("\n", text)]
    rows = []
    for piece in pieces:
        body = text[piece.start : piece.end]
        first = bisect.bisect_left(breaks, piece.start) + 1
        last = bisect.bisect_left(breaks, piece.end - 1) + 1
        name = f"{document.id}#{piece.start}-{piece.end}.{fingerprint(body)[:8]}"
        rows.append(
            (name, piece.start, piece.end, first, last, piece.section, piece.symbol, piece.context, body)
        )
    return rows


def _check(document: Document, pieces: list[Piece]) -> None:
    """Every non-blank character is in a piece, and every piece is inside the document (F44)."""
    covered, before = 0, 0
    for piece in pieces:
        if not 0 <= piece.start < piece.end <= len(document.text) or piece.start < before:
            raise ChunkerError(
                f"{document.id}: piece {piece.start}–{piece.end} is outside the text or out of order. "
                "The chunker is at fault; leave it out, or exclude the document."
            )
        _covers(document, covered, piece.start)
        covered, before = max(covered, piece.end), piece.start
    _covers(document, covered, len(document.text))


def _covers(document: Document, covered: int, until: int) -> None:
    if until > covered and document.text[covered:until].strip():
        raise ChunkerError(
            f"{document.id}: characters {covered}–{until} are in no piece. "
            "The chunker is at fault; leave it out, or exclude the document."
        )
