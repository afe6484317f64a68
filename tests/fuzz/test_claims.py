"""A few bytes that claim a terabyte: refused in a sentence, before memory is asked for."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fuzzed.models import gguf_file, laid, safetensors
from fuzzed.sharing import KEY, STAGE, depot

from bakeoff.benchmark.clients.messages import LostError
from bakeoff.benchmark.loop_report import LoopReport
from bakeoff.benchmark.vectors import downloads, files
from bakeoff.errors import BakeoffError

ROWS = 10**12


def _header() -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": (ROWS, 128)})
    return out.getvalue() + bytes(512)


def _npz() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("train.npy", _header())
    return out.getvalue()


VECTORS: dict[str, Callable[[], bytes]] = {
    "a.npy": _header,
    "a.npz": _npz,
    "a.fvecs": lambda: struct.pack("<i", 2**31 - 1) + bytes(512),
    "a.bvecs": lambda: struct.pack("<i", 2**31 - 1) + bytes(512),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_that_are_not_there(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(VECTORS[name]())
    with pytest.raises(BakeoffError):
        files.read_vector_file(tmp_path / name)


def test_a_dataset_that_claims_more_than_its_file_holds(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("train", (1 << 30, 128), np.float32, chunks=(1024, 128))
    with pytest.raises(BakeoffError, match="claims 549,755,813,888 bytes"):
        files.read_vector_file(path)


def test_numbers_that_unpack_to_far_more(tmp_path: Path) -> None:
    """A compressed archive of nothing but zeros is a thousand times its file."""
    out = io.BytesIO()
    np.savez_compressed(out, train=np.zeros((400_000, 16), np.float32))
    (tmp_path / "a.npz").write_bytes(out.getvalue())
    with pytest.raises(BakeoffError, match=r"a\.npz.*25,600,128"):
        files.read_vector_file(tmp_path / "a.npz")


def test_images_that_are_not_there() -> None:
    claimed = bytes([0, 0, downloads.IDX_BYTES, 2]) + struct.pack(">2I", 2**32 - 1, 2**32 - 1)
    with pytest.raises(BakeoffError, match="says"):
        downloads.idx_rows(claimed, "images")


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from bakeoff.plugins.embedders.bert_graph import build_graph

    size = struct.unpack("<Q", safetensors()[:8])[0]
    head = json.loads(safetensors()[8 : 8 + size])
    for one in head.values():
        one["shape"], one["data_offsets"] = [ROWS, 8], [0, ROWS * 32]
    text = json.dumps(head).encode()
    path = tmp_path / "model.safetensors"
    for length in (len(text), 2**62):
        path.write_bytes(struct.pack("<Q", length) + text)
        with pytest.raises(BakeoffError):
            build_graph(laid(path))


def test_fields_that_are_not_there(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    from bakeoff.plugins.embedders.gguf_file import read_gguf

    path = tmp_path / "model.gguf"
    long_array = gguf_file()[:8] + struct.pack("<QQQ", 0, 1, 1) + b"x" + struct.pack("<IIQ", 9, 4, 2**62)
    deep_array = (
        gguf_file()[:8] + struct.pack("<QQQ", 0, 1, 1) + b"x\x09\0\0\0" + struct.pack("<IQ", 9, 1) * 5000
    )
    many = gguf_file()[:8] + struct.pack("<QQ", 2**62, 2**62) + gguf_file()[24:]
    for content in (long_array, deep_array, many):
        path.write_bytes(content)
        with pytest.raises(BakeoffError):
            read_gguf(path)


def test_an_object_that_is_not_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The first line of an object in a depot says how long its files are."""
    there, place = depot(tmp_path), tmp_path / STAGE / KEY[:2] / KEY
    place.parent.mkdir(parents=True)
    for size in (ROWS, 1e300, float("inf")):
        head = {"artifact": f"{STAGE}/{KEY}", "files": {"a": [size, "0" * 32]}}
        place.write_text(json.dumps(head) + "\n")
        assert there.fetch(STAGE, KEY) is None
    assert "rebuilding it" in caplog.text


def test_figures_that_no_array_holds() -> None:
    from fuzzed.sharing import TOLD

    for wrong in (
        {"buckets": [10**30], "counts": [1]},
        {"buckets": [1], "counts": [10**30]},
        {"buckets": [1], "counts": []},
    ):
        with pytest.raises(LostError, match="latency"):
            LoopReport.read({**TOLD, "latency": {**wrong, "missing": 0}})
