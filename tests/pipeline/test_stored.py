"""How vectors lie on disk, and what smaller numbers lose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.pipeline import vector_file
from bakeoff.pipeline.embed import embed_chunks, vector_notes
from bakeoff.runs.run import run

ROWS = np.random.default_rng(1).normal(size=(500, 32)).astype(np.float32)


def kept(folder: Path, storage: str, rows: np.ndarray = ROWS) -> vector_file.StoredVectors:
    folder.mkdir(exist_ok=True)
    blocks = [rows[:3], rows[3:3], rows[3:400], rows[400:]]
    vector_file.write_vectors(folder, blocks, len(rows), rows.shape[1], storage)
    return vector_file.read_vectors(folder)


def test_float32_is_the_very_same_and_lies_in_a_file(tmp_path: Path) -> None:
    found = kept(tmp_path, "float32")
    assert isinstance(found.matrix, np.memmap) and np.array_equal(found.matrix, ROWS) and found.loss is None


@pytest.mark.parametrize(("storage", "most", "size"), [("float16", 2e-3, 2), ("int8", 0.02, 1)])
def test_smaller_numbers_take_less_space_and_come_back_near(
    tmp_path: Path, storage: str, most: float, size: int
) -> None:
    found = kept(tmp_path, storage)
    assert isinstance(found.matrix, vector_file.QuantisedMatrix) and found.matrix.shape == (500, 32)
    assert len(found.matrix) == 500 and found.matrix.nbytes == ROWS.nbytes
    for rows in (slice(10, 20), slice(None), np.array([3, 499, 0]), 7):
        back = found.matrix[rows]
        assert back.dtype == np.float32 and back.shape == ROWS[rows].shape
        assert np.abs(back - ROWS[rows]).max() < most
    assert (tmp_path / "vectors.npy").stat().st_size == 128 + 500 * 32 * size


def test_the_loss_is_what_cosines_and_neighbours_say(tmp_path: Path) -> None:
    """Against the same figures by plain loops."""
    found = kept(tmp_path, "int8")
    assert found.loss is not None
    back = found.matrix[:]
    unit, near = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (ROWS, back))
    cosines = (unit * near).sum(axis=1)
    assert found.loss.mean_cosine == pytest.approx(cosines.mean(), abs=1e-6)
    assert found.loss.lowest_cosine == pytest.approx(cosines.min(), abs=1e-6)
    asked = np.unique(np.linspace(0, 499, 200).astype(int))
    shares = []
    for row in asked:
        before, after = (
            [i for i in np.argsort(-(rows @ rows[row]), kind="stable") if i != row][:10]
            for rows in (unit, near)
        )
        shares.append(len(set(before) & set(after)) / 10)
    assert found.loss.neighbours == pytest.approx(np.mean(shares), abs=1e-3) and found.loss.neighbours < 1
    assert found.loss.sample == 500


def test_rows_of_zeros_and_single_rows_are_no_trouble(tmp_path: Path) -> None:
    zeros = np.zeros((1, 4), np.float32)
    found = kept(tmp_path, "int8", zeros)
    assert np.array_equal(found.matrix[:], zeros) and found.loss is not None and found.loss.neighbours == 1.0


def test_one_embedding_serves_every_storage(bench: Any, part: Any, counts: Any) -> None:
    chunking = bench.chunking("line", doc_lines=3)
    made = {}
    for storage in ("float32", "float16", "int8"):
        counted = part("embedders/counted", dims=64, storage=storage)
        model = registry.load("embedders", "counted")(counted.params)
        made[storage] = embed_chunks(counted, model, chunking, bench.context)
    assert [one.fresh > 0 for one in made.values()] == [True, False, False]
    assert len({one.fingerprint for one in made.values()}) == len({one.digest for one in made.values()}) == 3
    assert np.abs(made["int8"].matrix[:] - made["float32"].matrix[:]).max() < 0.01
    notes = vector_notes(made.values())
    assert len(notes) == 2 and "stored as float16" in notes[0]
    assert "int8" in notes[1] and "nearest among" in notes[1]


def test_a_run_compares_storages_and_says_what_was_lost(small: Path) -> None:
    given = "[{wordllama: {dims: 64}}, {wordllama: {dims: 64, storage: int8}}]"
    small.write_text(small.read_text().replace("[{wordllama: {dims: 64}}]", given))
    result = run(small, out=Path("run"))
    assert not result.failed and any("storage=int8" in system for system in result.done)
    (note,) = [note for note in result.record.notes if "are stored as" in note]
    assert note.startswith("wordllama(dims=64 storage=int8) · line") and "a quarter" in note
