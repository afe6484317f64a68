"""Files of vectors that `bakeoff ann`, `scale` and `load` are given, and packages of them."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bakeoff.benchmark.vectors import downloads, files
from fuzzed.reader import Reader
from fuzzed.truth import parquet

MEMBER = b"rows of a dataset"
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def vecs(rows: np.ndarray) -> bytes:
    return b"".join(np.int32(len(row)).tobytes() + row.tobytes() for row in rows)


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def hdf5(distance: object = np.bytes_("euclidean")) -> bytes:
    import h5py

    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file["train"], file["test"] = np.ones((5, 3), np.float32), np.ones((2, 3), np.float32)
        file["neighbors"] = np.zeros((2, 2), np.int32)
        file.attrs["distance"] = distance
    return out.getvalue()


def truth(path: Path) -> object:
    """A folder of which this is the file of neighbours."""
    np.save(path.with_name("base.npy"), ROWS)
    return files.read_vector_file(path.parent)


def package() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        about = tarfile.TarInfo("package/rows.bin")
        about.size = len(MEMBER)
        packed.addfile(about, io.BytesIO(MEMBER))
    return out.getvalue()


def member(path: Path) -> object:
    return downloads._member(path, "package/rows.bin", hashlib.sha256(MEMBER).hexdigest())


READERS = [
    Reader("fvecs", "a.fvecs", files.read_vector_file, vecs(ROWS)),
    Reader("bvecs", "a.bvecs", files.read_vector_file, vecs(ROWS.astype(np.uint8))),
    Reader("ivecs", "truth.ivecs", truth, vecs(ROWS.astype(np.int32))),
    Reader("neighbours in npy", "truth.npy", truth, written(lambda out: np.save(out, ROWS.astype(np.int32)))),
    Reader("npy", "a.npy", files.read_vector_file, written(lambda out: np.save(out, ROWS))),
    Reader("npz", "a.npz", files.read_vector_file, written(lambda out: np.savez_compressed(out, train=ROWS, test=ROWS[:1]))),
    Reader("vectors in Parquet", "a.parquet", files.read_vector_file, lambda: parquet({"vector": ROWS.tolist()}), dear=True),
    Reader("HDF5", "a.hdf5", files.read_vector_file, hdf5, needs=("h5py",)),
    Reader("HDF5 with a text", "a.hdf5", files.read_vector_file, lambda: hdf5("angular"), needs=("h5py",), dear=True),
    Reader("package of npm", "package.tgz", member, package),
    Reader(
        "IDX", "images", lambda path: downloads.idx_rows(path.read_bytes(), path.name),
        bytes([0, 0, downloads.IDX_BYTES, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 9, 8, 7, 6]),
    ),
]  # fmt: skip
