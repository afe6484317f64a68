"""embed: chunks and queries → vectors; each text is embedded once per model and role."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config.plan import PluginSpec
from bakeoff.errors import EmbedderError, SettingError
from bakeoff.fingerprint import fingerprint, text_keys
from bakeoff.pipeline import vector_file
from bakeoff.pipeline.chunk import ChunkedCorpus, embedded_texts, text_blocks
from bakeoff.pipeline.context import StageContext, stage_progress
from bakeoff.pipeline.encoded_rows import (
    EncodedRows,
    check_encoded,
    gather_encoded,
    join_encoded,
    write_encoded,
)
from bakeoff.pipeline.work_time import (
    FillTime,
    WorkTime,
    fill_timed,
    find_time,
    keep_or_find,
    store_time,
)
from bakeoff.protocols import ResourceRequest, SupportsFit, SupportsStatistics, VectorModel, vector_kind
from bakeoff.runtime.count_text import count
from bakeoff.runtime.shards import LoadedPlugin
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.row_cache import BatchRows, RemoteRunner, RowCache
from bakeoff.storage.row_keys import InputKeys
from bakeoff.types import ModelInfo, Role, SparseRows, TokenRows

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pydantic import BaseModel

VERSION = "1"
LAYOUT = "2"
BATCH = 256
TIMED = 200
WARM_UP = 5
FIRST_TEXT = "How do I reset my password?"
"""Embedded first, so that loading the model does not count towards its speed."""
TEXTS = ("id", "context", "text")
STATISTICS_FILE = "statistics"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkVectors:
    """One row per chunk, memory-mapped; `fresh` texts were embedded in this run, `reused` ones came from the cache.

    `speed` is dated unless this run measured all of it. `earlier` is the time of embedding all chunks if earlier
    runs did a part.
    """

    matrix: vector_file.VectorMatrix
    fingerprint: str
    seconds: float
    fresh: int
    reused: int
    embedder: str = ""
    chunker: str = ""
    digest: str = ""
    loss: vector_file.QuantisationError | None = None
    speed: WorkTime | None = None
    speed_is_dated: bool = True
    earlier: WorkTime | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """One row per query, and the embedding time in milliseconds (repeats × timed queries)."""

    matrix: np.ndarray | EncodedRows
    milliseconds: np.ndarray
    fingerprint: str


def vector_identity(part: PluginSpec, embedder: VectorModel, role: Role) -> str:
    """Hash of everything that shapes a vector: model, revision, weights, prompt, cut, dtype and role (F42).

    Storage is not part of it: one embedding serves every storage.
    """
    kind, name, version, params = part.identity()
    shaping = {key: value for key, value in params.items() if key != "storage"}
    return fingerprint("embed", VERSION, [kind, name, version, shaping], embedder.info, role)


def start_embedder(embedder: VectorModel) -> float | None:
    """Seconds until a model is loaded and returns its first vector; None if it rejects the text."""
    begin = time.perf_counter()
    try:
        embedder.embed([FIRST_TEXT], Role.DOCUMENT)
    except EmbedderError:
        return None
    return time.perf_counter() - begin


def fit_encoder(
    part: PluginSpec, encoder: SupportsFit, chunking: ChunkedCorpus, context: StageContext
) -> None:
    """Give an encoder the statistics of a chunking, from the cache or by reading every chunk."""
    texts = (text for block in text_blocks(chunking.chunks) for text in block)
    if not isinstance(encoder, SupportsStatistics):
        encoder.fit(texts)
        return

    def write(aside: Path) -> None:
        encoder.fit(texts)
        (aside / STATISTICS_FILE).write_bytes(encoder.save_statistics())

    name = fingerprint("statistics", VERSION, part.identity(), chunking.fingerprint)
    folder = context.cache.make("statistics", name, write)
    encoder.load_statistics((folder / STATISTICS_FILE).read_bytes())


def embed_chunks(
    part: PluginSpec, embedder: VectorModel, chunking: ChunkedCorpus, context: StageContext
) -> ChunkVectors:
    """Return the vectors of a chunking, reusing cached ones."""
    key, storage = vector_identity(part, embedder, Role.DOCUMENT), vector_file.storage_of(part)
    name = fingerprint("vectors", LAYOUT, key, storage, chunking.fingerprint)
    rows = chunking.chunks.num_rows
    with stage_progress(context, "embed", f"{part.label} · {chunking.label}", rows, "chunks") as report:
        folder = context.cache.get("vectors", name)
        filled, speed = FillTime(fresh=0, reused=rows), None
        speed_key = fingerprint("embed_speed", key, chunking.fingerprint)
        if folder is None:
            pool, keys = RowCache(context.cache, "embed", key), chunk_keys(chunking.chunks)
            spread = _spread(part, embedder, chunking, context)
            fill = partial(
                _fill, pool, keys, embedder, chunking.chunks, advance=report.advance, spread=spread
            )
            filled = fill_timed(context.cache, pool, keys, fill)
            speed = filled.known
            if speed is not None:
                store_time(context.cache, speed_key, speed)
            folder = context.cache.make(
                "vectors",
                name,
                lambda aside: _write(aside, pool, keys, embedder, storage),
            )
        else:
            report.advance(rows)
        stored = vector_file.read_vectors(folder)
        first = embedded_texts(chunking.chunks.slice(0, BATCH))
        require_direction(plain_numbers(stored.matrix[: len(first)]), first, embedder.info.name)
        report.summary = f"{rows:,} × {stored.matrix.shape[1]}" + ("" if filled.fresh else ", from the cache")
    speed = speed or find_time(context.cache, speed_key)
    return ChunkVectors(
        matrix=stored.matrix,
        fingerprint=name,
        seconds=report.seconds,
        fresh=filled.fresh,
        reused=filled.reused,
        embedder=part.label,
        chunker=chunking.label,
        digest=stored.digest,
        loss=stored.loss,
        speed=speed,
        speed_is_dated=speed is None or speed.first_measured < context.began,
        earlier=keep_or_find(context.cache, fingerprint("embed time", name), report.seconds, filled),
    )


def _write(folder: Path, pool: RowCache, keys: InputKeys, model: VectorModel, storage: str) -> None:
    """Write the vectors of all keys in the format of the model's kind."""
    kind, dims, blocks = vector_kind(model), model.info.dims, pool.gather(keys)
    if kind == "dense":
        vector_file.write_vectors(folder, map(_matrix, blocks), len(keys), dims, storage)
    else:
        write_encoded(folder, kind, blocks, pool.counts(keys), dims)


def _gather(pool: RowCache, keys: list[str], model: VectorModel) -> np.ndarray | EncodedRows:
    """Load the vectors of all keys into memory."""
    import numpy as np

    kind = vector_kind(model)
    if kind == "dense":
        return np.concatenate([_matrix(block) for block in pool.gather(keys)])
    return gather_encoded(kind, pool.gather(keys), pool.counts(keys), model.info.dims)


def plain_numbers(rows: np.ndarray | EncodedRows) -> np.ndarray:
    """Return the numeric values of rows of any kind."""
    if isinstance(rows, SparseRows):
        return rows.weights
    return rows.vectors if isinstance(rows, TokenRows) else rows


def vector_notes(every: Iterable[ChunkVectors]) -> list[str]:
    """Notes on what vector storage lost, and on models that returned identical vectors."""
    vectors = list(every)
    lost = [
        vector_file.loss_note(one.embedder, one.chunker, one.loss) for one in vectors if one.loss is not None
    ]
    same = vector_file.same_vectors_notes([(one.embedder, one.chunker, one.digest) for one in vectors])
    return [*(one.note for one in vectors if one.note), *lost, *same]


def chunk_keys(chunks: pa.Table) -> InputKeys:
    """Return the cache key of each text to embed."""
    return InputKeys.collect(key for texts in text_blocks(chunks) for key in text_keys(texts))


def _fill(
    pool: RowCache,
    keys: InputKeys,
    embedder: VectorModel,
    chunks: pa.Table,
    advance: Callable[[int], None],
    spread: RemoteRunner | None = None,
) -> int:
    """Embed the texts the row cache lacks, longest first; returns their number."""
    import numpy as np
    import pyarrow.compute as pc

    lengths = pc.add(pc.utf8_length(chunks["context"]), pc.cast(pc.utf8_length(chunks["text"]), "int32"))
    length = lengths.to_numpy()

    take = ArrowTaker(chunks.select(list(TEXTS)))

    def work(positions: list[int]) -> BatchRows:
        return _document_rows(embedder, take(positions))

    def longest_first(positions: list[int]) -> list[int]:
        places = np.asarray(positions, np.int64)
        return places[np.lexsort((places, -length[places]))].tolist()

    return pool.fill(keys, work, batch=BATCH, order=longest_first, progress=advance, spread=spread)


def embed_queries(
    part: PluginSpec,
    embedder: VectorModel,
    texts: list[str],
    warm_up: list[str],
    repeats: int,
    context: StageContext,
) -> QueryVectors:
    """Return the query vectors, and the time of embedding one query at a time after a warm-up with other
    texts."""
    import numpy as np

    for text in warm_up[:WARM_UP]:
        embedder.embed([text], Role.QUERY)
    timed = texts[:TIMED]
    milliseconds = np.empty((repeats, len(timed)))
    fresh: dict[str, np.ndarray | EncodedRows] = {}
    with stage_progress(context, "embed", f"{part.label} · queries", len(texts), "queries") as report:
        report.advance(0)
        for repeat in range(repeats):
            for i, text in enumerate(timed):
                begin = time.perf_counter_ns()
                row = embedder.embed([text], Role.QUERY)
                milliseconds[repeat, i] = (time.perf_counter_ns() - begin) / 1e6
                fresh.setdefault(text, row)
        key = vector_identity(part, embedder, Role.QUERY)
        pool = RowCache(context.cache, "embed", key)
        keys = text_keys(texts)

        def work(positions: list[int]) -> BatchRows:
            rows = [fresh.get(texts[p]) for p in positions]
            matrices = [
                embedder.embed([texts[p]], Role.QUERY) if row is None else row
                for p, row in zip(positions, rows, strict=True)
            ]
            batch = [texts[p] for p in positions]
            encoded = [one for one in matrices if isinstance(one, EncodedRows)]
            joined = join_encoded(encoded) if encoded else [row for one in matrices for row in one]
            return _check_rows(joined, batch, batch, embedder.info)

        pool.fill(keys, work, batch=BATCH, progress=report.advance)
        matrix = _gather(pool, keys, embedder)
        require_direction(plain_numbers(matrix), texts, embedder.info.name)
        report.summary = f"{len(texts):,} × {matrix.shape[1]}"
    return QueryVectors(matrix, milliseconds, fingerprint(key, keys))


@dataclass(frozen=True, slots=True)
class EmbedWorkSpec:
    """Serialisable description of embedding work, for worker processes; `info` is the model of the run."""

    plugin: type[VectorModel]
    params: BaseModel
    info: ModelInfo

    def open(self) -> LoadedPlugin:
        """Load the model and warm it up."""
        embedder = self.load()
        start_embedder(embedder)
        return LoadedPlugin(lambda rows: _document_rows(embedder, rows), embedder.close)

    def load(self) -> VectorModel:
        """Load the model; raise if it differs from the run's, since its vectors would be cached under that
        name."""
        embedder = self.plugin(self.params)
        if embedder.info != self.info:
            raise SettingError(
                f"a worker loaded a different model: {embedder.info} instead of {self.info}. "
                "Put the same weights on every node."
            )
        return embedder


def _spread(
    part: PluginSpec, embedder: VectorModel, chunking: ChunkedCorpus, context: StageContext
) -> RemoteRunner | None:
    if isinstance(embedder, SupportsFit):
        return None  # workers have not read the corpus
    order = EmbedWorkSpec(type(embedder), part.params, embedder.info)
    label = f"embed {part.label} · {chunking.label}"
    return context.spread(
        order, ArrowTaker(chunking.chunks.select(list(TEXTS))), label, ResourceRequest(gpu=True, apart=True)
    )


def _document_rows(embedder: VectorModel, rows: pa.Table) -> BatchRows:
    """Embed the chunks in a table with the columns TEXTS."""
    return _rows(embedder, embedded_texts(rows), rows["id"].to_pylist())


def _rows(embedder: VectorModel, texts: list[str], names: list[str]) -> BatchRows:
    """Embed one batch of chunks, longest first; errors name the chunks concerned."""
    try:
        vectors = embedder.embed(texts, Role.DOCUMENT)
    except EmbedderError as exc:
        more = f" and {len(names) - 1:,} shorter chunks" if len(names) > 1 else ""
        raise EmbedderError(f"{exc} (texts: {names[0]}{more}; batches before this one are kept)") from exc
    return _check_rows(vectors, names, texts, embedder.info)


def _check_rows(vectors: object, names: list[str], texts: list[str], model: ModelInfo) -> BatchRows:
    """Return the rows as a table after checking shape, type and finiteness."""
    import numpy as np
    import pyarrow as pa

    if isinstance(vectors, EncodedRows):
        return check_encoded(vectors, names, model)
    try:
        matrix = np.asarray(vectors)
    except ValueError as exc:
        raise EmbedderError(f"{model.name} returned vectors of different lengths in one batch.") from exc
    if matrix.dtype.kind != "f":
        raise EmbedderError(
            f"{model.name} returned vectors of type {matrix.dtype}, not floating point. The batch was "
            "discarded."
        )
    if matrix.shape != (len(names), model.dims):
        raise EmbedderError(
            f"{model.name}: {len(names)} texts gave vectors of shape {matrix.shape}, not ({len(names)}, {model.dims}). "
            "The model changed its dimension, or dropped a text; the batch was discarded."
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise EmbedderError(
            f"{model.name}: the vector of {names[bad[0]]} is not finite ({bad.size} of {len(names)} in its batch). "
            "The weights are damaged, or the model overflows: try it with `bakeoff test model`."
        )
    if len(texts) > 1:  # one text may contain nothing the model knows; the whole set is checked at the end
        require_direction(matrix, texts, model.name)
    flat = pa.array(np.ascontiguousarray(matrix, np.float32).ravel())
    return BatchRows(
        [1] * len(names), pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, model.dims)})
    )


def require_direction(matrix: np.ndarray, texts: list[str], model: str) -> None:
    """Raise if all vectors are zero although the texts contain words: every result would tie."""
    if matrix.any() or not any(character.isalnum() for text in texts for character in text):
        return
    raise EmbedderError(
        f"{model} returned only zero vectors for {count(len(texts), 'text')} (the first: "
        f"{texts[0][:60]!r}), so search results would be arbitrary. Check the model and its input, or "
        "remove it."
    )


def _matrix(block: object) -> np.ndarray:
    column = block["vector"].combine_chunks()  # type: ignore[index]
    array = column.chunk(0) if hasattr(column, "num_chunks") else column
    return array.flatten().to_numpy().reshape(len(array), -1)
