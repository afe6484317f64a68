"""chunk: documents → the table of chunks, each a true character span of its document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.config.plan import PluginSpec
from bakeoff.corpus.segmentation import count_tokens
from bakeoff.errors import ChunkerError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.chunk_parallel import ParallelChunker
from bakeoff.pipeline.chunk_worker import READ, ChunkWorkSpec
from bakeoff.pipeline.context import StageContext, batch_of, stage_progress
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.work_time import WorkTime, keep_or_find
from bakeoff.protocols import Chunker, ResourceRequest
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.row_cache import RowCache, read_arrow, write_arrow
from bakeoff.types import CHUNKS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

VERSION = "1"
BATCH = 128
BLOCK = 16_384


@dataclass(frozen=True, slots=True)
class ChunkedCorpus:
    """All chunks of a corpus under one chunker, and their name; `fresh` documents were cut now, others before.

    `earlier` is the time of the run that cut them all, where this one cut none.
    """

    label: str
    chunks: pa.Table
    fingerprint: str
    seconds: float
    fresh: int
    reused: int
    earlier: WorkTime | None = None


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """How long the chunks are, in characters."""

    chunks: int
    mean: float
    quantiles: tuple[int, int, int, int, int]


def chunk_corpus(
    part: PluginSpec, chunker: Chunker, corpus: ReadCorpus, context: StageContext
) -> ChunkedCorpus:
    """Every chunk of the corpus; documents cut before, unchanged, are taken from the cache."""
    name = fingerprint("chunks", VERSION, part.identity(), corpus.fingerprint)
    documents = corpus.documents
    with stage_progress(context, "chunk", part.label, documents.num_rows, "documents") as report:
        folder = context.cache.get("chunks", name)
        fresh = 0
        if folder is None:
            fresh, folder = _make(part, chunker, documents, name, context, report.advance)
        else:
            report.advance(documents.num_rows)
        table = read_arrow(folder / "chunks.arrow")
        report.summary = f"{table.num_rows:,} chunks"
    reused = documents.num_rows - fresh
    earlier = keep_or_find(context.cache, fingerprint("chunk time", name), report.seconds, fresh, reused)
    return ChunkedCorpus(part.label, table, name, report.seconds, fresh, reused, earlier)


def chunk_sizes(chunking: ChunkedCorpus) -> ChunkSizes:
    """The distribution of chunk lengths: minimum, quartiles and maximum."""
    import numpy as np

    length = chunking.chunks["end"].to_numpy() - chunking.chunks["start"].to_numpy()
    low, q1, median, q3, high = (
        int(v) for v in np.quantile(length, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    )
    return ChunkSizes(len(length), float(length.mean()), (low, q1, median, q3, high))


def token_counts(chunking: ChunkedCorpus) -> np.ndarray:
    """Words and marks of each chunk: what tokens@k counts, the same whatever a model's tokenizer does."""
    import numpy as np

    blocks = text_blocks(chunking.chunks.select(["text"]))
    counts = (count_tokens(text) for texts in blocks for text in texts)
    return np.fromiter(counts, np.int64, chunking.chunks.num_rows)


def embedded_texts(chunks: pa.Table) -> list[str]:
    """What is embedded of each chunk: the injected context, then the text."""
    contexts, texts = chunks["context"].to_pylist(), chunks["text"].to_pylist()
    return [context + text for context, text in zip(contexts, texts, strict=True)]


def text_blocks(chunks: pa.Table) -> Iterator[list[str]]:
    """What is embedded of each chunk, or the bare text where there is no context, some thousands at a time."""
    for begin in range(0, chunks.num_rows, BLOCK):
        rows = chunks.slice(begin, BLOCK)
        yield embedded_texts(rows) if "context" in rows.column_names else rows["text"].to_pylist()


def _make(
    part: PluginSpec, chunker: Chunker, documents: pa.Table, name: str, context: StageContext, advance: Any
) -> tuple[int, Path]:
    pool = RowCache(context.cache, "chunk", fingerprint("chunk", VERSION, part.identity()))
    named = [documents[c].to_pylist() for c in ("id", "version", "kind")]
    keys = [fingerprint(*row) for row in zip(*named, strict=True)]

    rows = ArrowTaker(documents.select(list(READ)))
    spread = context.spread(
        ChunkWorkSpec(type(chunker), part.params), rows, f"chunk {part.label}", ResourceRequest(apart=True)
    )
    batch = batch_of(BATCH, documents.num_rows, documents["text"].nbytes)
    with ParallelChunker(chunker, part.params, documents) as work:
        fresh = pool.fill(keys, work, batch=batch, progress=advance, spread=spread)
    counts = pool.counts(keys)
    if counts.sum() == 0:
        raise ChunkerError(f"{part.label} made no chunk of {len(keys)} documents: they hold no text.")
    return fresh, context.cache.make("chunks", name, lambda folder: _assemble(folder, pool, keys, counts))


def _assemble(folder: Path, pool: RowCache, keys: list[str], counts: np.ndarray) -> None:
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
