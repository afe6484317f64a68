"""Shorter vectors from one embedding: leading dimensions, with optional rescoring by the full vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from bakeoff.config.model_names import catalogued_model
from bakeoff.config.plan import PluginSpec, System
from bakeoff.errors import EmbedderError, SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline import vector_file
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import ChunkVectors
from bakeoff.protocols import CompleteStore, SupportsRescore
from bakeoff.types import Hits, Metric, ModelInfo, VectorForm, Where

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from pydantic import BaseModel

VERSION = "1"
BLOCK = 65_536
UNIT_ERROR = 1e-3
"""Tolerated deviation of a normalised vector's length from 1."""


def cut_vectors(
    full: ChunkVectors, part: PluginSpec, model: ModelInfo, context: StageContext
) -> ChunkVectors:
    """The leading dimensions of a chunking's vectors, normalised again and cached; no text is embedded."""
    dims = require_dims(part, model)
    if dims == model.dims:
        return replace(full, embedder=part.label, loss=None)
    matrix = _dense(full)
    name, rows = fingerprint("cut vectors", VERSION, full.fingerprint, dims), matrix.shape[0]

    def blocks() -> Iterator[np.ndarray]:
        for begin in range(0, rows, BLOCK):
            yield cut(matrix[begin : begin + BLOCK], dims)

    folder = context.cache.make(
        "vectors",
        name,
        lambda aside: vector_file.write_vectors(aside, blocks(), rows, dims, vector_file.EXACT),
    )
    stored = vector_file.read_vectors(folder)
    return replace(
        full,
        matrix=stored.matrix,
        fingerprint=name,
        embedder=part.label,
        digest=stored.digest,
        loss=None,
        note="",
    )


def _dense(vectors: ChunkVectors) -> np.ndarray | vector_file.QuantisedMatrix:
    """The dense rows of an embedder: encoders have no shorter forms."""
    return cast("np.ndarray | vector_file.QuantisedMatrix", vectors.matrix)


def require_dims(part: PluginSpec, model: ModelInfo) -> int:
    """Return the dimensions to keep; raise if the model has fewer."""
    dims = part.form.dims or model.dims
    if dims > model.dims:
        raise SettingError(
            f"dims: {dims} is more than the {model.dims} of {model.name}. Lower it, or remove it."
        )
    return dims


def cut(rows: np.ndarray, dims: int) -> np.ndarray:
    """Truncate one vector or rows to the leading dimensions and normalise; zeros stay zeros."""
    import numpy as np

    shortened = np.asarray(rows[..., :dims], np.float32)
    lengths = np.sqrt(np.einsum("...i,...i->...", shortened, shortened))[..., None]
    return shortened / np.where(lengths > 0, lengths, 1)


def require_unit_vectors(vectors: ChunkVectors, form: VectorForm, metric: Metric) -> None:
    """Raise for int8 or binary storage if vector lengths matter: one scale for all would lose them."""
    import numpy as np

    if metric is Metric.COSINE or form.storage not in ("int8", "binary"):
        return
    lengths = np.linalg.norm(_dense(vectors)[:BLOCK], axis=1)
    wrong = np.abs(lengths[lengths > 0] - 1) > UNIT_ERROR
    if wrong.any():
        raise EmbedderError(
            f"storage: {form.storage} needs vectors of length 1 where the metric is {metric}; {vectors.embedder} gives "
            f"lengths from {lengths.min():.3g} to {lengths.max():.3g}. Use metric: cosine, float16 or float32."
        )


def form_notes(systems: Iterable[System]) -> list[str]:
    """Notes on models cut to dimensions they were not trained for, or not known to be."""
    notes: dict[str, str] = {}
    for part in (system.embedder for system in systems if system.embedder is not None):
        entry, dims = catalogued_model(part), part.form.dims
        if dims is None or (entry is not None and dims in (*entry.matryoshka, entry.dims)):
            continue
        trained = ", ".join(map(str, entry.matryoshka)) if entry is not None else ""
        why = (
            f"is trained for {trained} dimensions, not for {dims}"
            if trained
            else f"is not known to be trained for {dims} leading dimensions"
        )
        notes[part.label] = f"{part.label}: the model {why}; the loss is measured, not guaranteed."
    return list(notes.values())


class FormedStore:
    """A store with truncated vectors, searched with the leading dimensions of full ones.

    If the form rescores, full vectors reorder the candidates: the store's own if it holds them, else the
    run's.
    """

    def __init__(
        self, store: CompleteStore, form: VectorForm, full: ChunkVectors | None, metric: Metric
    ) -> None:
        self._store, self._form, self._metric = store, form, metric
        self._full = _dense(full) if full is not None else None
        able = isinstance(store, SupportsRescore) and form.storage in getattr(store, "rescores", ())
        self._own = cast(SupportsRescore, store) if form.rescore and form.dims is None and able else None

    @property
    def kept_bytes(self) -> int:
        """Bytes of the full vectors kept for rescoring next to the index."""
        return 0 if self._full is None or self._own is not None else int(self._full.nbytes)

    def search(self, vector: np.ndarray, k: int, query: BaseModel) -> Hits:
        """Return the k nearest rows to a full-length query vector."""
        if self._own is not None:
            return self._own.search_rescored(vector, k, query, k * self._form.rescore)
        return self._search_and_rescore(
            vector, k, lambda asked, count: self._store.search(asked, count, query)
        )

    def search_where(self, vector: np.ndarray, k: int, query: BaseModel, where: Where) -> Hits:
        """Return the k nearest rows within a filter."""
        if self._own is not None:
            return self._own.search_rescored(vector, k, query, k * self._form.rescore, where)
        return self._search_and_rescore(
            vector, k, lambda asked, count: self._store.search_where(asked, count, query, where)
        )

    def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: BaseModel) -> Hits:
        """The store's own hybrid search, which is never rescored."""
        return self._store.search_hybrid(text, self._truncate_query(vector), k, query)

    def _truncate_query(self, vector: np.ndarray) -> np.ndarray:
        dims = self._form.dims
        return vector if dims is None or dims == len(vector) else cut(vector, dims)

    def _search_and_rescore(
        self, vector: np.ndarray, k: int, find: Callable[[np.ndarray, int], Hits]
    ) -> Hits:
        if self._full is None:
            return find(self._truncate_query(vector), k)
        candidates = find(self._truncate_query(vector), k * self._form.rescore)
        return order_by_full_vectors(candidates.ids, self._full[candidates.ids], vector, self._metric, k)


def order_by_full_vectors(
    ids: np.ndarray, rows: np.ndarray, vector: np.ndarray, metric: Metric, k: int
) -> Hits:
    """Return the k nearest of some rows by their full vectors; ties are broken by id."""
    import numpy as np

    scores = np.einsum("ij,j->i", rows, vector).astype(np.float64)
    if metric is not Metric.DOT:
        norms, own = np.einsum("ij,ij->i", rows, rows).astype(np.float64), float(vector @ vector)
        length = np.sqrt(norms * own)
        scores = (
            -(norms - 2 * scores + own)
            if metric is Metric.L2
            else np.divide(scores, length, out=np.zeros_like(scores), where=length > 0)
        )
    order = np.lexsort((ids, -scores))[:k]
    return Hits(ids[order], scores[order])
