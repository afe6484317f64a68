"""embed, for chunks that come with vectors: checks them against the model that embeds the questions, then
stores them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.errors import EmbedderError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline import vector_file
from bakeoff.pipeline.chunk import ChunkedCorpus, embedded_texts
from bakeoff.pipeline.context import StageContext, stage_progress
from bakeoff.pipeline.embed import ChunkVectors, plain_numbers, require_direction
from bakeoff.protocols import Embedder, SuppliesChunks
from bakeoff.types import Role

if TYPE_CHECKING:
    import numpy as np

VERSION = "1"
COMPARED = 16
"""Number of chunks the model embeds itself, to check that the vectors are its own."""
SAME_MODEL = 0.98
"""Vectors of the same text above this cosine count as the same model's; quantised and truncated ones pass."""


def chunk_supplier(chunker: PluginSpec) -> SuppliesChunks | None:
    """Return the chunker if its chunks were made elsewhere."""
    plugin = registry.load("chunkers", chunker.name)(chunker.params)
    return plugin if isinstance(plugin, SuppliesChunks) else None


def vector_supplier(chunker: PluginSpec, embedder: PluginSpec) -> SuppliesChunks | None:
    """Return the chunker if its chunks come with vectors of this model."""
    supplier = chunk_supplier(chunker)
    return supplier if supplier and supplier.vector_model() == embedder.label else None


def check_given_vectors(
    chunker: PluginSpec, chunking: ChunkedCorpus, embedder: PluginSpec, dims: int
) -> None:
    """Read the vectors that came with the chunks; raises if a run could not use them with this model."""
    if supplier := vector_supplier(chunker, embedder):
        first = chunking.chunks["id"].slice(0, 1).to_pylist()
        for _ in _of_length(supplier.vectors(first), dims, embedder, chunking):
            pass


def store_given_vectors(
    part: PluginSpec,
    embedder: Embedder,
    chunker: SuppliesChunks,
    chunking: ChunkedCorpus,
    context: StageContext,
) -> ChunkVectors:
    """Store the vectors that came with the chunks; a dimension other than the model's fails its systems."""
    rows, storage = chunking.chunks.num_rows, vector_file.storage_of(part)
    name = fingerprint("given vectors", VERSION, chunking.fingerprint, part.label, storage)
    with stage_progress(context, "embed", f"{part.label} · {chunking.label}", rows, "chunks") as report:
        report.advance(0)
        dims = embedder.info.dims
        blocks = _of_length(chunker.vectors(chunking.chunks["id"].to_pylist()), dims, part, chunking)
        folder = context.cache.make(
            "vectors", name, lambda aside: vector_file.write_vectors(aside, blocks, rows, dims, storage)
        )
        report.advance(rows)
        stored = vector_file.read_vectors(folder)
        first = embedded_texts(chunking.chunks.slice(0, COMPARED))
        few = plain_numbers(stored.matrix[: len(first)])
        require_direction(few, first, embedder.info.name)
        note = _note_on_model(embedder, first, few, part, chunking)
        report.summary = f"{rows:,} × {dims}, supplied with the chunks"
    return ChunkVectors(
        matrix=stored.matrix,
        fingerprint=name,
        seconds=report.seconds,
        fresh=0,
        reused=rows,
        embedder=part.label,
        chunker=chunking.label,
        digest=stored.digest,
        loss=stored.loss,
        note=note,
    )


def _of_length(
    blocks: Iterator[np.ndarray], dims: int, part: PluginSpec, chunking: ChunkedCorpus
) -> Iterator[np.ndarray]:
    for block in blocks:
        if block.shape[1] != dims:
            raise EmbedderError(
                f"the vectors of {chunking.label} have {block.shape[1]} dimensions, but {part.label} makes {dims}. "
                "Use the model that made them, or remove `vector` and `model` to embed the chunks."
            )
        yield block


def _note_on_model(
    embedder: Embedder, texts: list[str], stored: np.ndarray, part: PluginSpec, chunking: ChunkedCorpus
) -> str:
    """Return a note if the model, given the same texts, returns other vectors."""
    import numpy as np

    own = embedder.embed(texts, Role.DOCUMENT)
    norms = np.linalg.norm(own, axis=1) * np.linalg.norm(stored, axis=1)
    cosine = float(np.median((own * stored).sum(axis=1) / np.maximum(norms, 1e-12)))
    if cosine >= SAME_MODEL:
        return ""
    return (
        f"The vectors supplied by {chunking.label} don't match {part.label}: for {len(texts)} of their texts its "
        f"own have a median cosine of {cosine:.2f} to them. Questions and chunks are then not comparable."
    )
