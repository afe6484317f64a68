"""embed: chunks and queries → vectors, each text once for each model and role."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.config.plan import PluginSpec
from bakeoff.errors import EmbedderError, SettingError
from bakeoff.fingerprint import fingerprint, text_keys
from bakeoff.pipeline import vector_file
from bakeoff.pipeline.chunk import ChunkedCorpus, embedded_texts, text_blocks
from bakeoff.pipeline.context import StageContext, stage_progress
from bakeoff.pipeline.work_time import WorkTime, find_time, keep_or_find, measured_now, store_time
from bakeoff.protocols import Embedder, ResourceRequest
from bakeoff.runtime.shards import LoadedPlugin
from bakeoff.storage.arrow_take import ArrowTaker
from bakeoff.storage.row_cache import BatchRows, RemoteRunner, RowCache
from bakeoff.types import ModelInfo, Role

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pydantic import BaseModel

VERSION = "1"
LAYOUT = "2"
BATCH = 256
TIMED = 200
WARM_UP = 5
TEXTS = ("id", "context", "text")


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """One row for each chunk, memory-mapped; `fresh` texts were embedded now, `reused` ones before.

    `earlier` is the time of the run that embedded them all, where this one embedded none.
    """

    matrix: np.ndarray | vector_file.QuantisedMatrix
    fingerprint: str
    seconds: float
    fresh: int
    reused: int
    embedder: str = ""
    chunker: str = ""
    digest: str = ""
    loss: vector_file.QuantisationError | None = None
    speed: WorkTime | None = None
    earlier: WorkTime | None = None


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """One row for each query, and how long one query took in milliseconds, for the timed ones in each repeat."""

    matrix: np.ndarray
    milliseconds: np.ndarray
    fingerprint: str


def vector_identity(part: PluginSpec, embedder: Embedder, role: Role) -> str:
    """The name of everything that shapes a vector: model, revision, weights, prompt, cut, dtype, role (F42).

    How vectors are stored does not enter: one embedding serves every storage.
    """
    kind, name, version, params = part.identity()
    shaping = {key: value for key, value in params.items() if key != "storage"}
    return fingerprint("embed", VERSION, [kind, name, version, shaping], embedder.info, role)


def embed_chunks(
    part: PluginSpec, embedder: Embedder, chunking: ChunkedCorpus, context: StageContext
) -> ChunkVectors:
    """The vectors of a chunking; texts embedded before are taken from the cache."""
    key, storage = vector_identity(part, embedder, Role.DOCUMENT), vector_file.storage_of(part)
    name = fingerprint("vectors", LAYOUT, key, storage, chunking.fingerprint)
    rows = chunking.chunks.num_rows
    with stage_progress(context, "embed", f"{part.label} · {chunking.label}", rows, "chunks") as report:
        folder = context.cache.get("vectors", name)
        fresh, reused, speed = 0, rows, None
        speed_key = fingerprint("embed_speed", key, chunking.fingerprint)
        if folder is None:
            pool, keys = RowCache(context.cache, "embed", key), chunk_keys(chunking.chunks)
            spread = _spread(part, embedder, chunking, context)
            begin = time.perf_counter()
            fresh, reused = _fill(pool, keys, embedder, chunking.chunks, report.advance, spread)
            speed = measured_now(fresh, time.perf_counter() - begin)
            if speed is not None:
                store_time(context.cache, speed_key, speed)
            dims = embedder.info.dims
            folder = context.cache.make(
                "vectors",
                name,
                lambda aside: vector_file.write_vectors(
                    aside, map(_matrix, pool.gather(keys)), rows, dims, storage
                ),
            )
        else:
            report.advance(rows)
        kept = vector_file.read_vectors(folder)
        first = embedded_texts(chunking.chunks.slice(0, BATCH))
        require_direction(kept.matrix[: len(first)], first, embedder.info.name)
        report.summary = f"{rows:,} × {kept.matrix.shape[1]}" + ("" if fresh else ", from the cache")
    return ChunkVectors(
        kept.matrix,
        name,
        report.seconds,
        fresh,
        reused,
        part.label,
        chunking.label,
        kept.digest,
        kept.loss,
        speed or find_time(context.cache, speed_key),
        keep_or_find(context.cache, fingerprint("embed time", name), report.seconds, fresh, reused),
    )


def vector_notes(made: Iterable[ChunkVectors]) -> list[str]:
    """What a run must say about its vectors: what their storage lost, and which models gave the same ones."""
    vectors = list(made)
    lost = [
        vector_file.loss_note(one.embedder, one.chunker, one.loss) for one in vectors if one.loss is not None
    ]
    same = vector_file.same_vectors_notes([(one.embedder, one.chunker, one.digest) for one in vectors])
    return [*lost, *same]


def chunk_keys(chunks: pa.Table) -> list[str]:
    """The key of each embedded text."""
    return [key for texts in text_blocks(chunks) for key in text_keys(texts)]


def _fill(
    pool: RowCache,
    keys: list[str],
    embedder: Embedder,
    chunks: pa.Table,
    advance: Callable[[int], None],
    spread: RemoteRunner | None = None,
) -> tuple[int, int]:
    """Embed what the pool does not have, longest texts first; how many texts were fresh, and how many were not."""
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

    fresh = pool.fill(keys, work, batch=BATCH, order=longest_first, progress=advance, spread=spread)
    return fresh, len(set(keys)) - fresh


def embed_queries(
    part: PluginSpec,
    embedder: Embedder,
    texts: list[str],
    warm_up: list[str],
    repeats: int,
    context: StageContext,
) -> QueryVectors:
    """The vectors of the queries, and the time of one query at a time, after a warm-up with other texts."""
    import numpy as np

    for text in warm_up[:WARM_UP]:
        embedder.embed([text], Role.QUERY)
    timed = texts[:TIMED]
    milliseconds = np.empty((repeats, len(timed)))
    fresh: dict[str, np.ndarray] = {}
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
            made = [
                embedder.embed([texts[p]], Role.QUERY) if row is None else row
                for p, row in zip(positions, rows, strict=True)
            ]
            asked = [texts[p] for p in positions]
            return _check_rows([row for one in made for row in one], asked, asked, embedder.info)

        pool.fill(keys, work, batch=BATCH, progress=report.advance)
        matrix = np.concatenate([_matrix(block) for block in pool.gather(keys)])
        require_direction(matrix, texts, embedder.info.name)
        report.summary = f"{len(texts):,} × {matrix.shape[1]}"
    return QueryVectors(matrix, milliseconds, fingerprint(key, keys))


@dataclass(frozen=True, slots=True)
class EmbedWorkSpec:
    """Embedding chunks with a model, for workers; `info` is the model of the run."""

    plugin: type[Embedder]
    params: BaseModel
    info: ModelInfo

    def open(self) -> LoadedPlugin:
        """Load the model."""
        embedder = self.load()
        return LoadedPlugin(lambda rows: _document_rows(embedder, rows), embedder.close)

    def load(self) -> Embedder:
        """The model; another one than the run's is refused, for what it makes would be stored under that name."""
        embedder = self.plugin(self.params)  # type: ignore[call-arg]
        if embedder.info != self.info:
            raise SettingError(
                f"a worker has another model than the run: {embedder.info} instead of {self.info}. "
                "Put the same weights on every node."
            )
        return embedder


def _spread(
    part: PluginSpec, embedder: Embedder, chunking: ChunkedCorpus, context: StageContext
) -> RemoteRunner | None:
    order = EmbedWorkSpec(type(embedder), part.params, embedder.info)
    label = f"embed {part.label} · {chunking.label}"
    return context.spread(
        order, ArrowTaker(chunking.chunks.select(list(TEXTS))), label, ResourceRequest(gpu=True, apart=True)
    )


def _document_rows(embedder: Embedder, rows: pa.Table) -> BatchRows:
    """The vectors of chunks given by the columns TEXTS."""
    return _rows(embedder, embedded_texts(rows), rows["id"].to_pylist())


def _rows(embedder: Embedder, texts: list[str], names: list[str]) -> BatchRows:
    """The vectors of one batch of chunks, longest first; a refusal says which chunks were asked for."""
    try:
        made = embedder.embed(texts, Role.DOCUMENT)
    except EmbedderError as exc:
        more = f" and {len(names) - 1:,} shorter chunks" if len(names) > 1 else ""
        raise EmbedderError(f"{exc} (asked for {names[0]}{more}; batches before this one are kept)") from exc
    return _check_rows(made, names, texts, embedder.info)


def _check_rows(made: object, names: list[str], texts: list[str], model: ModelInfo) -> BatchRows:
    """The rows as a table; shape, type and finiteness are checked here for every embedder."""
    import numpy as np
    import pyarrow as pa

    try:
        matrix = np.asarray(made)
    except ValueError as exc:
        raise EmbedderError(f"{model.name} gave vectors of different lengths in one batch.") from exc
    if matrix.dtype.kind != "f":
        raise EmbedderError(
            f"{model.name} gave vectors of {matrix.dtype} values, not of floating-point numbers. "
            "Nothing of this batch is kept."
        )
    if matrix.shape != (len(names), model.dims):
        raise EmbedderError(
            f"{model.name}: {len(names)} texts gave vectors of shape {matrix.shape}, not ({len(names)}, {model.dims}). "
            "The model changed its dimension, or dropped a text; nothing of this batch is kept."
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise EmbedderError(
            f"{model.name}: the vector of {names[bad[0]]} is not finite ({bad.size} of {len(names)} in its batch)."
        )
    if len(texts) > 1:  # one text may hold nothing the model knows; the whole set is checked at the end
        require_direction(matrix, texts, model.name)
    flat = pa.array(np.ascontiguousarray(matrix, np.float32).ravel())
    return BatchRows(
        [1] * len(names), pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, model.dims)})
    )


def require_direction(matrix: np.ndarray, texts: list[str], model: str) -> None:
    """Refuse vectors that are all zero although the texts have words: every one is then as near as any other."""
    if matrix.any() or not any(character.isalnum() for text in texts for character in text):
        return
    raise EmbedderError(
        f"{model} gave only zeros for {len(texts):,} texts (the first: {texts[0][:60]!r}), so no search can rank by "
        "them. Check the model and its input, or leave it out."
    )


def _matrix(block: object) -> np.ndarray:
    column = block["vector"].combine_chunks()  # type: ignore[index]
    array = column.chunk(0) if hasattr(column, "num_chunks") else column
    return array.flatten().to_numpy().reshape(len(array), -1)
