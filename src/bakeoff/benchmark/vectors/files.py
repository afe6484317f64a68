"""Files of vectors → arrays: NumPy, fvecs/bvecs/ivecs, the ann-benchmarks HDF5 layout, Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.corpus.limited_process import LimitedProcess, ProcessEndedError
from bakeoff.errors import DataError, MissingExtraError
from bakeoff.storage.parquet_io import most_bytes, probe_parquet, read_parquet

if TYPE_CHECKING:
    import h5py
    import pyarrow as pa

VECTOR_SUFFIXES = (".npy", ".fvecs", ".bvecs", ".parquet")
TRUTH_SUFFIXES = (".npy", ".ivecs")
BASE_NAMES = ("base", "train")
QUERY_NAMES = ("query", "queries", "test")
TRUTH_NAMES = ("groundtruth", "neighbors", "neighbours", "truth")
_READ_NAMES = frozenset((*BASE_NAMES, *QUERY_NAMES, *TRUTH_NAMES))
HDF5_METRICS = {
    "euclidean": "l2",
    "angular": "cosine",
    "dot": "dot",
    "ip": "dot",
    "cosine": "cosine",
    "l2": "l2",
}
SMALL_FILE = 16 * 2**20
"""Parquet vectors may always have this many bytes: repeated rows compress well."""
_NO_ARRAY = (ValueError, TypeError, EOFError, OSError, SyntaxError, TokenError, OverflowError)
"""What NumPy raises for a file without an array of numbers."""
ATTRIBUTE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class RawVectors:
    """The raw content of a file or folder; `metric` is '' if not given."""

    base: np.ndarray
    queries: np.ndarray | None = None
    neighbours: np.ndarray | None = None
    metric: str = ""


def read_vector_file(path: Path) -> RawVectors:
    """The vectors of a file, or of a folder with base, query and truth files."""
    if path.is_dir():
        return _folder(path)
    if not path.is_file():
        raise DataError(
            f"{path} does not exist. Give a file of vectors (.npy, .npz, .fvecs, .bvecs, .hdf5, .parquet), a folder "
            "with base and query files, or synthetic:20000x64."
        )
    if path.suffix == ".npz":
        return _npz(path)
    if path.suffix in (".hdf5", ".h5"):
        return _hdf5(path)
    return RawVectors(vectors(path), metric="l2" if path.suffix in (".fvecs", ".bvecs") else "")


def vectors(path: Path) -> np.ndarray:
    """The rows of one file of vectors; .npy files are memory-mapped."""
    if path.suffix == ".npy":
        return _npy(path)
    if path.suffix == ".fvecs":
        return np.ascontiguousarray(_vecs(path, np.dtype("<f4")))
    if path.suffix == ".bvecs":
        return np.ascontiguousarray(_vecs(path, np.dtype("u1")))
    if path.suffix == ".parquet":
        return _parquet(path)
    raise DataError(f"{path.name}: vectors are read from {', '.join(VECTOR_SUFFIXES)}, .npz or .hdf5.")


def _npy(path: Path) -> np.ndarray:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except _NO_ARRAY as exc:
        raise DataError(
            f"{path.name} is not a NumPy file of numbers, or it is cut off. Save the array with numpy.save."
        ) from exc


def _npz(path: Path) -> RawVectors:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(path) as packed:
            for member in packed.infolist():
                _check_claimed_bytes(path, member.filename.removesuffix(".npy"), member.file_size)
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            arrays = {name: archive[name] for name in names if name in _READ_NAMES}
    except (*_NO_ARRAY, KeyError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error) as exc:
        raise DataError(
            f"{path.name} is not a NumPy archive of numbers, or it is cut off. Save the arrays with numpy.savez."
        ) from exc
    base = _find_array(arrays, BASE_NAMES)
    if base is None:
        raise DataError(
            f"{path.name} holds {', '.join(names) or 'nothing'}; the vectors must be called 'base'."
        )
    return RawVectors(base, _find_array(arrays, QUERY_NAMES), _find_array(arrays, TRUTH_NAMES))


def _hdf5(path: Path) -> RawVectors:
    try:
        import h5py  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as exc:
        raise MissingExtraError("HDF5 datasets need h5py: pip install 'bakeoff[hdf5]'") from exc
    try:
        with h5py.File(path, "r") as file:
            names = [str(name) for name in file]
            arrays = {name: _read_array(path, name, file) for name in names if name in _READ_NAMES}
            metric = _hdf5_metric(path, _distance(path, file))
    except (OSError, KeyError, RuntimeError, TypeError, ValueError) as exc:
        raise DataError(f"{path.name} is not an HDF5 file: {exc}. Fetch it again.") from exc
    base = _find_array(arrays, BASE_NAMES)
    if base is None:
        raise DataError(
            f"{path.name} holds {', '.join(names) or 'nothing'}; the vectors must be called 'train'."
        )
    return RawVectors(base, _find_array(arrays, QUERY_NAMES), _find_array(arrays, TRUTH_NAMES), metric)


def _read_array(path: Path, name: str, file: h5py.File) -> np.ndarray:
    """A dataset as an array; one stored in another file is refused before that file is opened."""
    import h5py

    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise DataError(
            f"{path.name}: {name} is a link, perhaps to another file. Store the vectors themselves."
        )
    item = file[name]
    if not isinstance(item, h5py.Dataset) or item.dtype.kind not in "fiu":
        raise DataError(f"{path.name}: {name} is not a dataset of numbers. Store the vectors as numbers.")
    if item.external or item.is_virtual:
        raise DataError(f"{path.name}: {name} is stored in another file. Store the vectors in this one.")
    _check_claimed_bytes(path, name, item.nbytes)
    return np.asarray(item[()])


def _check_claimed_bytes(path: Path, name: str, claimed: int) -> None:
    """Refuse an array that claims far more bytes than its file can hold."""
    size = path.stat().st_size
    if claimed > most_bytes(path):
        raise DataError(
            f"{path.name}: {name} claims {claimed:,} bytes in a file of {size:,}. It is damaged: fetch it again."
        )


def _distance(path: Path, file: h5py.File) -> object:
    """The attribute `distance` of a file; '' if it has none.

    A text of any length is read in a process of its own: in a damaged file the library looks for its end forever.
    """
    if "distance" not in file.attrs:
        return ""
    if not file.attrs.get_id("distance").dtype.hasobject:
        return file.attrs["distance"]
    with LimitedProcess("bakeoff.benchmark.vectors.hdf5_text") as process:
        try:
            answer = process.ask((str(path), ATTRIBUTE_SECONDS), ATTRIBUTE_SECONDS)
        except ProcessEndedError as exc:
            raise DataError(
                f"{path.name}: its attribute 'distance' cannot be read: the file is damaged. Fetch it again."
            ) from exc
    return answer


def _hdf5_metric(path: Path, attribute: object) -> str:
    name = attribute.decode() if isinstance(attribute, bytes) else str(attribute)
    if name and name not in HDF5_METRICS:
        metrics = ", ".join(sorted(HDF5_METRICS))
        raise DataError(f"{path.name} measures by {name!r}, which no store here does. Known: {metrics}.")
    return HDF5_METRICS.get(name, "")


def _vecs(path: Path, kind: np.dtype) -> np.ndarray:
    """Rows that each begin with their length as a 4-byte integer."""
    data = np.fromfile(path, np.uint8)
    if len(data) < 4:
        raise DataError(f"{path.name} is empty.")
    dims = int(data[:4].view("<i4")[0])
    width = 4 + dims * kind.itemsize
    if dims <= 0 or len(data) % width:
        raise DataError(
            f"{path.name} begins with {dims} dimensions, but its {len(data):,} bytes are not a whole number "
            "of such rows. It is truncated, or in another format."
        )
    rows = data.reshape(-1, width)
    lengths = np.ascontiguousarray(rows[:, :4]).view("<i4").ravel()
    if (lengths != dims).any():
        row = int(np.flatnonzero(lengths != dims)[0])
        raise DataError(f"{path.name}: row {row} has {int(lengths[row])} dimensions, row 0 has {dims}.")
    return np.ascontiguousarray(rows[:, 4:]).view(kind)


def _parquet(path: Path) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError) as exc:
        raise DataError(f"{path.name} is not a Parquet file: {exc}.") from exc
    lists = [field.name for field in schema if _holds_vectors(field.type)]
    if len(lists) != 1:
        columns = ", ".join(lists) or "none"
        raise DataError(f"{path.name} needs exactly one column of lists of numbers; found: {columns}.")
    try:
        probe_parquet(path, lists, always=SMALL_FILE)
        column = read_parquet(path, columns=lists, always=SMALL_FILE).column(0).combine_chunks()
    except (pa.ArrowException, OSError, ValueError) as exc:
        raise DataError(f"{path.name} is damaged: {exc}. Fetch it again.") from exc
    if column.null_count or column.flatten().null_count:
        raise DataError(f"{path.name}: column {lists[0]} has null values. Every row needs a whole vector.")
    if not len(column):
        return np.empty((0, 0), np.float32)
    lengths = np.unique(column.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) != 1:
        raise DataError(
            f"{path.name}: vectors of {int(lengths[0])} to {int(lengths[-1])} dimensions in one column."
        )
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), int(lengths[0])))


def _holds_vectors(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _folder(folder: Path) -> RawVectors:
    base = _only_file(folder, BASE_NAMES, VECTOR_SUFFIXES)
    if base is None:
        raise DataError(
            f"{folder} has no base file: a name ending in 'base' or 'train' with {', '.join(VECTOR_SUFFIXES)}."
        )
    query = _only_file(folder, QUERY_NAMES, VECTOR_SUFFIXES)
    truth = _only_file(folder, TRUTH_NAMES, TRUTH_SUFFIXES)
    metric = "l2" if base.suffix in (".fvecs", ".bvecs") else ""
    return RawVectors(
        vectors(base), vectors(query) if query else None, _truth(truth) if truth else None, metric
    )


def _truth(path: Path) -> np.ndarray:
    return _npy(path) if path.suffix == ".npy" else _vecs(path, np.dtype("<i4"))


def _only_file(folder: Path, names: tuple[str, ...], suffixes: tuple[str, ...]) -> Path | None:
    """The only file of a folder whose name ends like this; two are an error."""
    matches = [p for p in sorted(folder.iterdir()) if p.suffix in suffixes and p.stem.lower().endswith(names)]
    if len(matches) > 1:
        both = ", ".join(path.name for path in matches)
        raise DataError(f"{folder} has more than one {names[0]} file: {both}. Keep one.")
    return matches[0] if matches else None


def _find_array(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray | None:
    return next((arrays[name] for name in names if name in arrays), None)
