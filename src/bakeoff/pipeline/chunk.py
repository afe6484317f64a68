"""chunk: documents → the table of chunks, each an exact character span of its document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.corpus.segmentation import count_tokens
from bakeoff.errors import ChunkerError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.chunking.parallel import ParallelChunker
from bakeoff.pipeline.chunking.worker import READ, ChunkWorkSpec
from bakeoff.pipeline.context import StageContext, batch_of, stage_progress
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.work_time import FillTime, WorkTime, fill_timed, keep_or_find
from bakeoff.protocols import Chunker, ResourceRequest, SuppliesChunks
from bakeoff.runtime.count_text import count
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.row_cache import RowCache, read_arrow, write_arrow
from bakeoff.storage.row_keys import InputKeys
from bakeoff.storage.schemas import CHUNKS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

VERSION = "1"
BATCH = 128
BLOCK = 16_384
UNCOUNTED = -1


@dataclass(frozen=True, slots=True)
class ChunkedCorpus:
    """All chunks of a corpus under one chunker; `fresh` documents were chunked in this run, the rest came
    from the cache. `earlier` is the time of chunking all of them if earlier runs did a part. If `whole` is
    false, these are only the chunks that a retriever returned, and some may belong to documents `outside` the
    corpus, numbered after its own."""

    label: str
    chunks: pa.Table
    fingerprint: str
    seconds: float
    fresh: int
    reused: int
    earlier: WorkTime | None = None
    whole: bool = True
    outside: tuple[str, ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Distribution of chunk lengths, in characters."""

    chunks: int
    mean: float
    quantiles: tuple[int, int, int, int, int]


def chunk_corpus(part: PluginSpec, corpus: ReadCorpus, context: StageContext) -> ChunkedCorpus:
    """Return every chunk of the corpus, reusing cached chunks of unchanged documents."""
    part = part.in_language(corpus.language)
    chunker = registry.load("chunkers", part.name)(part.params)
    identity = _identity(part, chunker)
    name = fingerprint("chunks", VERSION, identity, corpus.fingerprint)
    documents = corpus.documents
    with stage_progress(context, "chunk", part.label, documents.num_rows, "documents") as report:
        folder = context.cache.get("chunks", name)
        filled = FillTime(fresh=0, reused=documents.num_rows)
        if folder is None:
            filled, folder = _make(
                part=part,
                identity=identity,
                chunker=chunker,
                documents=documents,
                name=name,
                context=context,
                advance=report.advance,
            )
        else:
            report.advance(documents.num_rows)
        table = read_arrow(folder / "chunks.arrow")
        report.summary = count(table.num_rows, "chunk")
    earlier = keep_or_find(context.cache, fingerprint("chunk time", name), report.seconds, filled)
    return ChunkedCorpus(
        label=part.label,
        chunks=table,
        fingerprint=name,
        seconds=report.seconds,
        fresh=filled.fresh,
        reused=filled.reused,
        earlier=earlier,
        language=corpus.language,
    )


def chunk_sizes(chunking: ChunkedCorpus) -> ChunkSizes:
    """Return minimum, quartiles and maximum of the chunk lengths, in characters."""
    import numpy as np

    length = chunking.chunks["end"].to_numpy() - chunking.chunks["start"].to_numpy()
    low, q1, median, q3, high = (
        int(v) for v in np.quantile(length, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    )
    return ChunkSizes(len(length), float(length.mean()), (low, q1, median, q3, high))


class TokenCounts:
    """Words and punctuation marks of chunks: what tokens@k counts, independent of any model's tokenizer.

    A chunk is counted when it is first asked for: few of a corpus's chunks are ever retrieved.
    """

    def __init__(self, chunking: ChunkedCorpus) -> None:
        import numpy as np

        self._rows = ArrowTaker(chunking.chunks.select(["text"]))
        self._counts = np.full(chunking.chunks.num_rows, UNCOUNTED, np.int64)

    def __getitem__(self, chunks: np.ndarray) -> np.ndarray:
        """The counts of some chunks, by their numbers."""
        import numpy as np

        missing = np.unique(chunks[self._counts[chunks] == UNCOUNTED])
        for begin in range(0, len(missing), BLOCK):
            block = missing[begin : begin + BLOCK]
            self._counts[block] = [count_tokens(text) for text in self._rows(block)["text"].to_pylist()]
        found: np.ndarray = self._counts[chunks]
        return found


def embedded_texts(chunks: pa.Table) -> list[str]:
    """Return the text to embed for each chunk: the injected context, then the chunk's own text."""
    contexts, texts = chunks["context"].to_pylist(), chunks["text"].to_pylist()
    return [context + text for context, text in zip(contexts, texts, strict=True)]


def text_blocks(chunks: pa.Table) -> Iterator[list[str]]:
    """Yield the texts to embed, some thousands at a time; the chunk's own text if it has no context."""
    for begin in range(0, chunks.num_rows, BLOCK):
        rows = chunks.slice(begin, BLOCK)
        yield embedded_texts(rows) if "context" in rows.column_names else rows["text"].to_pylist()


def _identity(part: PluginSpec, chunker: Chunker) -> list[object]:
    """Everything that shapes the chunks; for imported chunks this includes their content."""
    own = part.identity()
    return [*own, chunker.content_version()] if isinstance(chunker, SuppliesChunks) else own


def _make(
    part: PluginSpec,
    identity: list[object],
    chunker: Chunker,
    documents: pa.Table,
    name: str,
    context: StageContext,
    advance: Callable[[int], None],
) -> tuple[FillTime, Path]:
    pool = RowCache(context.cache, "chunk", fingerprint("chunk", VERSION, identity))
    if isinstance(chunker, SuppliesChunks):
        chunker.check_documents(set(documents["id"].to_pylist()))
    keys = InputKeys.collect(_document_keys(documents))
    rows = ArrowTaker(documents.select(list(READ)))
    spread = context.spread(
        ChunkWorkSpec(type(chunker), part.params), rows, f"chunk {part.label}", ResourceRequest(apart=True)
    )
    batch = batch_of(BATCH, documents.num_rows, documents["text"].nbytes)
    with ParallelChunker(chunker, part.params, documents) as work:
        fill = partial(pool.fill, keys, work, batch=batch, progress=advance, spread=spread)
        filled = fill_timed(context.cache, pool, keys, fill)
    counts = pool.counts(keys)
    if counts.sum() == 0:
        raise ChunkerError(f"{part.label} made no chunks: the {len(keys)} documents contain no text.")
    return filled, context.cache.make("chunks", name, lambda folder: _assemble(folder, pool, keys, counts))


def _document_keys(documents: pa.Table) -> Iterator[str]:
    """What the chunks of each document are kept by."""
    for begin in range(0, documents.num_rows, BLOCK):
        rows = documents.slice(begin, BLOCK)
        named = (rows[column].to_pylist() for column in ("id", "version", "kind"))
        yield from (fingerprint(*row) for row in zip(*named, strict=True))


def _assemble(folder: Path, pool: RowCache, keys: InputKeys, counts: np.ndarray) -> None:
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
