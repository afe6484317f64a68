"""Vector datasets: every format reads the same vectors, and what is wrong is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.errors import DataError
from bakeoff.types import Metric

GENERATOR = np.random.default_rng(3)
BASE = GENERATOR.normal(size=(200, 6)).astype(np.float32)
QUERIES = GENERATOR.normal(size=(20, 6)).astype(np.float32)


def write_vecs(path: Path, rows: np.ndarray) -> None:
    kind = {"f": "<f4", "u": "u1", "i": "<i4"}[rows.dtype.kind]
    with path.open("wb") as file:
        for row in rows:
            file.write(np.array([len(row)], "<i4").tobytes() + row.astype(kind).tobytes())


def write_parquet(path: Path, rows: np.ndarray) -> None:
    pq.write_table(pa.table({"id": list(range(len(rows))), "vector": rows.tolist()}), path)


def test_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "set.npz", base=BASE, queries=QUERIES)
    found = open_dataset(str(tmp_path / "set.npz"))
    np.testing.assert_array_equal(found.base, BASE)
    np.testing.assert_array_equal(found.queries, QUERIES)
    assert found.metric is Metric.COSINE and found.notes == ()


def test_folder_of_fvecs_with_truth(tmp_path: Path) -> None:
    write_vecs(tmp_path / "sift_base.fvecs", BASE)
    write_vecs(tmp_path / "sift_query.fvecs", QUERIES)
    write_vecs(tmp_path / "sift_groundtruth.ivecs", np.tile(np.arange(5, dtype=np.int32), (20, 1)))
    found = open_dataset(str(tmp_path))
    np.testing.assert_array_equal(found.base, BASE)
    assert found.metric is Metric.L2
    assert found.neighbours is not None and found.neighbours.shape == (20, 5)


def test_bvecs_are_numbers_of_one_byte(tmp_path: Path) -> None:
    rows = GENERATOR.integers(0, 256, (50, 4)).astype(np.uint8)
    write_vecs(tmp_path / "base.bvecs", rows)
    write_vecs(tmp_path / "query.bvecs", rows[:3] // 2)
    assert open_dataset(str(tmp_path)).base.tolist() == rows.tolist()


def test_parquet_and_npy_folder(tmp_path: Path) -> None:
    write_parquet(tmp_path / "base.parquet", BASE)
    np.save(tmp_path / "queries.npy", QUERIES.astype(np.float64))
    found = open_dataset(str(tmp_path), metric=Metric.DOT)
    np.testing.assert_allclose(found.base, BASE)
    assert found.queries.dtype == np.float32 and found.metric is Metric.DOT


@pytest.mark.parametrize(("said", "metric"), [("euclidean", Metric.L2), ("angular", Metric.COSINE)])
def test_hdf5(tmp_path: Path, said: str, metric: Metric) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "set.hdf5", "w") as file:
        file["train"], file["test"], file["neighbors"] = BASE, QUERIES, np.tile(np.arange(5), (20, 1))
        file.attrs["distance"] = said
    found = open_dataset(str(tmp_path / "set.hdf5"))
    np.testing.assert_array_equal(found.base, BASE)
    assert found.metric is metric and found.neighbours is not None


def test_hdf5_metric_nobody_has(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "set.hdf5", "w") as file:
        file["train"], file["test"] = BASE, QUERIES
        file.attrs["distance"] = "jaccard"
    with pytest.raises(DataError, match="jaccard"):
        open_dataset(str(tmp_path / "set.hdf5"))


def test_one_file_holds_queries_out(tmp_path: Path) -> None:
    np.save(tmp_path / "all.npy", BASE)
    found = open_dataset(str(tmp_path / "all.npy"))
    assert len(found.queries) == 20 and len(found.base) == 180 and found.leaked == 0
    assert "held out" in found.notes[0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"base": BASE, "queries": QUERIES[:, :5]}, "6 dimensions, query vectors 5"),
        (
            {"base": np.where(BASE[7, 2] == BASE, np.nan, BASE), "queries": QUERIES},
            "base vector 7 .* not finite",
        ),
        ({"base": BASE, "queries": QUERIES, "truth": np.zeros((3, 5), int)}, "truth holds 3 queries"),
        ({"base": BASE, "queries": QUERIES, "truth": np.tile(np.arange(196, 201), (20, 1))}, "names row 200"),
        ({"base": BASE, "queries": QUERIES, "truth": np.zeros((20, 5), int)}, "neighbour twice"),
        ({"base": BASE[0], "queries": QUERIES}, "shape"),
        ({"base": BASE[:0], "queries": QUERIES}, "shape"),
        ({"base": BASE.astype(str), "queries": QUERIES}, "not numbers"),
        ({"rows": BASE}, "must be called 'base'"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "set.npz", **arrays)
    with pytest.raises(DataError, match=message):
        open_dataset(str(tmp_path / "set.npz"))


def test_files_that_are_cut_off(tmp_path: Path) -> None:
    write_vecs(tmp_path / "base.fvecs", BASE)
    data = (tmp_path / "base.fvecs").read_bytes()
    (tmp_path / "base.fvecs").write_bytes(data[:-3])
    with pytest.raises(DataError):
        open_dataset(str(tmp_path / "base.fvecs"))
    for name in ("bad.npy", "bad.npz", "bad.parquet"):
        (tmp_path / name).write_bytes(b"nonsense")
        with pytest.raises(DataError):
            open_dataset(str(tmp_path / name))
    with pytest.raises(DataError):
        open_dataset(str(tmp_path / "nowhere.npy"))


def test_vecs_rows_of_unequal_length(tmp_path: Path) -> None:
    data = bytearray()
    for dims in (4, 4, 3):
        data += np.array([dims], "<i4").tobytes() + np.zeros(4, "<f4").tobytes()
    (tmp_path / "x.fvecs").write_bytes(bytes(data))
    with pytest.raises(DataError, match="row 2 has 3 dimensions"):
        open_dataset(str(tmp_path / "x.fvecs"))


def test_duplicates_and_leaked_queries_are_counted(tmp_path: Path) -> None:
    base = np.vstack([BASE, BASE[:4], -0.0 * BASE[:1], 0.0 * BASE[:1]])
    np.savez(tmp_path / "set.npz", base=base, queries=np.vstack([QUERIES, BASE[10:13]]))
    found = open_dataset(str(tmp_path / "set.npz"))
    assert found.duplicates == 5 and found.leaked == 3
    assert any("3 of 23 query vectors" in note for note in found.notes)
    assert any("2 vectors are zero" in note for note in found.notes)


@pytest.mark.parametrize("shape", ["", ",clustered", ",uniform", ",ood"])
def test_synthetic_is_seeded(shape: str) -> None:
    one, same = (open_dataset(f"synthetic:500x8{shape}", queries=30) for _ in range(2))
    other = open_dataset(f"synthetic:500x8{shape}", queries=30, seed=8)
    assert one.base.shape == (500, 8) and one.queries.shape == (30, 8)
    assert one.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    "name", ["synthetic:", "synthetic:10", "synthetic:10x4,cubic", "synthetic:1x4", "synthetic:9999999999x64"]
)
def test_synthetic_names_that_are_none(name: str) -> None:
    with pytest.raises(DataError, match="synthetic"):
        open_dataset(name)
