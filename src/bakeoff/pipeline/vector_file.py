"""Vectors on disk: their format, what quantised storage loses, and which models made identical ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bakeoff.config.plan import PluginSpec
from bakeoff.pipeline.encoded_rows import EncodedRows, holds_encoded, read_encoded

if TYPE_CHECKING:
    import numpy as np

EXACT = "float32"
BYTES = {"float32": 4, "float16": 2, "int8": 1}
SAMPLE = 1000
ASKED = 200
NEAREST = 10
_FILE, _SCALES, _ABOUT = "vectors.npy", "scales.npy", "about.json"


@dataclass(frozen=True, slots=True)
class QuantisationError:
    """Effect of quantised storage: cosines of all rows to float32, and how many neighbours of a sample stay
    the same."""

    storage: str
    mean_cosine: float
    lowest_cosine: float
    neighbours: float
    sample: int


class QuantisedMatrix:
    """A memory-mapped quantised matrix whose rows are returned as float32."""

    def __init__(self, rows: np.ndarray, scales: np.ndarray | None) -> None:
        self._rows, self._scales = rows, scales
        self.shape: tuple[int, int] = (rows.shape[0], rows.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | np.ndarray) -> np.ndarray:
        import numpy as np

        decoded = np.asarray(self._rows[rows], np.float32)
        if self._scales is None:
            return decoded
        return decoded * np.asarray(self._scales[rows], np.float32)[..., None]

    @property
    def nbytes(self) -> int:
        """Bytes of the rows as float32."""
        return self.shape[0] * self.shape[1] * BYTES[EXACT]


VectorMatrix: TypeAlias = "np.ndarray | QuantisedMatrix | EncodedRows"
"""One row per text: vectors of one length, or what an encoder made."""


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """An open artifact of vectors, with a digest of its numbers."""

    matrix: VectorMatrix
    digest: str
    loss: QuantisationError | None


def storage_of(part: PluginSpec) -> str:
    """Storage type of an embedder's vectors; float32 if it has no such parameter."""
    return str(getattr(part.params, "storage", EXACT))


def write_vectors(folder: Path, blocks: Iterable[np.ndarray], rows: int, dims: int, storage: str) -> None:
    """Write float32 blocks as one matrix, with its metadata and quantisation error."""
    import numpy as np

    digest = hashlib.blake2b(digest_size=16)
    watch = _Watch(rows, dims, storage) if storage != EXACT else None
    shape = {"descr": np.dtype(storage).newbyteorder("<").str, "fortran_order": False, "shape": (rows, dims)}
    scales: list[np.ndarray] = []
    with (folder / _FILE).open("wb") as file:  # not mapped: a full disk raises an error, not a signal
        np.lib.format.write_array_header_1_0(file, shape)
        for block in blocks:
            small, scale = _pack(block, storage)
            if scale is not None:
                scales.append(scale)
                digest.update(scale.data)
            digest.update(small.data)
            file.write(small.data)
            if watch is not None:
                watch.see(block, _unpack(small, scale))
    if scales:
        np.save(folder / _SCALES, np.concatenate(scales))
    loss = asdict(watch.loss()) if watch is not None else None
    (folder / _ABOUT).write_text(json.dumps({"digest": digest.hexdigest(), "loss": loss}))


def read_vectors(folder: Path) -> StoredVectors:
    """Memory-map what `write_vectors` wrote."""
    import numpy as np

    if holds_encoded(folder):
        return StoredVectors(*read_encoded(folder), None)
    rows = np.load(folder / _FILE, mmap_mode="r")
    about = json.loads((folder / _ABOUT).read_text())
    if about["loss"] is None:
        return StoredVectors(rows, about["digest"], None)
    scales = np.load(folder / _SCALES) if (folder / _SCALES).is_file() else None
    return StoredVectors(QuantisedMatrix(rows, scales), about["digest"], QuantisationError(**about["loss"]))


def loss_note(embedder: str, chunker: str, loss: QuantisationError) -> str:
    """Sentence on what storage lost."""
    share = {2: "half", 1: "a quarter"}[BYTES[loss.storage]]
    return (
        f"{embedder} · {chunker}: vectors are stored as {loss.storage}, in {share} of the space. Cosine to float32: "
        f"mean {loss.mean_cosine:.5f}, lowest {loss.lowest_cosine:.5f}; {loss.neighbours:.1%} of the {NEAREST} nearest "
        f"among {loss.sample:,} chunks stay the same."
    )


def same_vectors_notes(files: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Notes on models (embedder, chunker, digest) with identical vectors for every chunk (F50)."""
    groups: dict[tuple[str, str], list[str]] = {}
    for embedder, chunker, digest in files:
        groups.setdefault((chunker, digest), []).append(embedder)
    chunkers: dict[tuple[str, ...], list[str]] = {}
    for (chunker, _), same in groups.items():
        if len(same) > 1:
            chunkers.setdefault(tuple(same), []).append(chunker)
    for models, where in chunkers.items():
        yield (
            f"{', '.join(models)} made identical vectors of every chunk of {', '.join(where)}: here they "
            "are the same model."
        )


class _Watch:
    """Measures the quantisation error while blocks are written."""

    def __init__(self, rows: int, dims: int, storage: str) -> None:
        import numpy as np

        self._storage, self._seen, self._sum, self._lowest = storage, 0, 0.0, 1.0
        self._wanted = np.unique(np.linspace(0, max(rows - 1, 0), min(rows, SAMPLE)).astype(np.int64))
        self._exact = np.empty((len(self._wanted), dims), np.float32)
        self._small = np.empty_like(self._exact)

    def see(self, exact: np.ndarray, small: np.ndarray) -> None:
        import numpy as np

        cosines = np.sum(_unit(exact) * _unit(small), axis=1)
        self._sum += float(cosines.sum(dtype=np.float64))
        self._lowest = min(self._lowest, float(cosines.min(initial=1.0)))
        first, end = np.searchsorted(self._wanted, [self._seen, self._seen + len(exact)])
        rows = self._wanted[first:end] - self._seen
        self._exact[first:end], self._small[first:end] = exact[rows], small[rows]
        self._seen += len(exact)

    def loss(self) -> QuantisationError:
        mean = self._sum / max(self._seen, 1)
        return QuantisationError(
            self._storage, mean, self._lowest, self._kept_neighbours(), len(self._wanted)
        )

    def _kept_neighbours(self) -> float:
        """Share of the nearest neighbours of sampled rows that stay the same, not counting the row itself."""
        import numpy as np

        count = len(self._wanted)
        k = min(NEAREST, count - 1)
        if k < 1:
            return 1.0
        sample = np.unique(np.linspace(0, count - 1, min(count, ASKED)).astype(np.int64))
        before, after = (_nearest(rows, sample, k) for rows in (self._exact, self._small))
        return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(before, after, strict=True)]))


def _nearest(rows: np.ndarray, sample: np.ndarray, k: int) -> list[list[int]]:
    import numpy as np

    unit = _unit(rows)
    scores = unit[sample] @ unit.T
    scores[np.arange(len(sample)), sample] = -np.inf
    nearest: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    return nearest


def _unit(rows: np.ndarray) -> np.ndarray:
    import numpy as np

    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)


def _pack(block: np.ndarray, storage: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Quantise a block; for int8, also return the scale of each row."""
    import numpy as np

    exact = np.ascontiguousarray(block, "<f4")
    if storage != "int8":
        return np.ascontiguousarray(exact, np.dtype(storage).newbyteorder("<")), None
    scale = np.abs(exact).max(axis=1, initial=0.0).astype(np.float32) / 127
    return np.rint(exact / np.where(scale > 0, scale, 1)[:, None]).astype(np.int8), scale


def _unpack(small: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    import numpy as np

    rows = small.astype(np.float32)
    return rows if scale is None else rows * scale[:, None]
