"""A model hub, or the mirror in HF_ENDPOINT: resumable downloads of files and whole models.

A hub's answers are not trusted: names stay below the model's folder, and bytes and seconds have limits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Collection, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO

from bakeoff.errors import ModelNotFoundError
from bakeoff.storage.cache import translate_disk_errors
from bakeoff.storage.weights import RECORD_FILE, make_folder, models_folder, sha256
from bakeoff.types import Json, JsonObject

HUB = "https://huggingface.co"
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
MOST_BYTES = 20_000_000_000
"""Most bytes of a file of unknown size."""
LISTING_BYTES, LISTING_SECONDS = 20_000_000, 60.0
GRACE_SECONDS, SLOWEST_BYTES = 60.0, 10_000
"""A download slower than this many bytes per second, after the grace period, is aborted."""
_SECONDS = 20
_BLOCK = 1 << 20
_NAME = re.compile(r"[\w .+=@-]+(/[\w .+=@-]+)*")
_REVISION = re.compile(r"[\w.-]{1,100}")
_STEP = 0.1
_ATTEMPTS = 3
_WHOLE = 416  # the answer to a request beyond the last byte
_PARTS = 206
_GRAPHS = ("onnx/model.onnx", "model.onnx", "model.safetensors")
_BESIDE = (
    "tokenizer.json",
    "config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
)

Progress = Callable[[str], None]


def download(
    repository: str, revision: str, path: str, target: Path, say: Progress, most: int = MOST_BYTES
) -> None:
    """Download one file of a repository, resuming earlier parts and retrying broken connections.

    A file above `most` bytes is aborted and discarded.
    """
    address = f"{_endpoint()}/{repository}/resolve/{revision}/{urllib.parse.quote(path)}"
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _append(address, part, path, say, most)
            break
        except urllib.error.HTTPError as exc:
            raise ModelNotFoundError(f"{address} answered {exc.code} {exc.reason}") from exc
        except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as exc:
            begun = part.is_file() and part.stat().st_size > 0
            if attempt == _ATTEMPTS or not begun:
                raise ModelNotFoundError(
                    f"{address} does not answer ({getattr(exc, 'reason', exc)})"
                ) from exc
    part.replace(target)


def pull_repository(repository: str, say: Progress, partial: str) -> Path:
    """Download a model outside the catalogue: graph or weights, tokenizer and configuration, with recorded
    hashes."""
    if not REPOSITORY.fullmatch(repository):
        raise ModelNotFoundError(f"{repository!r} is not a repository. Write it as owner/name.")
    listed = _listing(repository)
    revision, files = str(listed.get("sha", "main")), _choose_files(repository, listed)
    if not _REVISION.fullmatch(revision):
        raise ModelNotFoundError(f"the hub names {revision[:100]!r} as the revision of {repository}.")
    folder = models_folder(repository)
    make_folder(folder)
    say(f"fetching {repository} at revision {revision[:12]}")
    aside, hashes = folder / partial, {}
    with translate_disk_errors(folder):
        for file, (expected, most) in files.items():
            download(repository, revision, file, aside / file, say, most)
            hashes[file] = sha256(aside / file)
            if expected and hashes[file] != expected:
                shutil.rmtree(aside)
                raise ModelNotFoundError(
                    f"{file} of {repository} has SHA-256 {hashes[file]}, but the hub lists {expected}: the download is "
                    "damaged. It was not kept; pull it again."
                )
        _place(aside, folder, hashes)
        record = {
            "repository": repository,
            "revision": revision,
            "licence": _licence(listed),
            "files": hashes,
        }
        (folder / RECORD_FILE).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    say(f"{repository} is in {folder}")
    return folder


def _place(aside: Path, folder: Path, files: dict[str, str]) -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (aside / file).replace(folder / file)
    shutil.rmtree(aside)


def _append(address: str, part: Path, name: str, say: Progress, most: int) -> None:
    """Download what a partial file lacks."""
    begun = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(  # noqa: S310 - the user's own hub
        address, headers={"Range": f"bytes={begun}-"} if begun else {}
    )
    try:
        answer = urllib.request.urlopen(request, timeout=_SECONDS)  # noqa: S310 - the user's own hub
    except urllib.error.HTTPError as exc:
        if exc.code == _WHOLE:
            return
        raise
    with answer:
        resumed = answer.status == _PARTS
        with part.open("ab" if resumed else "wb") as target:
            complete = _copy(answer, target, name, begun if resumed else 0, say, most)
            os.fsync(target.fileno())
    if not complete:
        part.unlink()
        raise ModelNotFoundError(
            f"{address} sends more than {most:,} bytes. It is not the file that was expected, and was not kept."
        )


def _copy(answer: HTTPResponse, target: BinaryIO, name: str, begun: int, say: Progress, most: int) -> bool:
    """Copy an answer; False if it exceeds its bytes; raises TimeoutError if it is too slow."""
    total = begun + (answer.length or 0)
    done, next_step = begun, _STEP
    if begun:
        say(f"  {name}: resumed at {begun / 1e6:.0f} MB")
    for block in _blocks(answer):
        done += len(block)
        if done > most:
            return False
        target.write(block)
        if total > 10 * _BLOCK and done / total >= next_step:
            say(f"  {name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB")
            next_step = done / total + _STEP
    if done < total:
        raise HTTPException(f"the connection ended after {done:,} of {total:,} bytes")
    return True


def _blocks(answer: HTTPResponse) -> Iterator[bytes]:
    """Yield bytes as they arrive: full blocks would hide a slow sender."""
    begin, done = time.monotonic(), 0
    while block := answer.read1(_BLOCK):
        done += len(block)
        seconds = time.monotonic() - begin
        if seconds > GRACE_SECONDS and done < SLOWEST_BYTES * seconds:
            raise TimeoutError(f"it sent {done:,} bytes in {seconds:.0f} s")
        yield block


def _listing(repository: str) -> JsonObject:
    address = f"{_endpoint()}/api/models/{repository}?blobs=true"
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310 - the user's own hub
            listed = json.loads(_read_limited(answer))
    except urllib.error.HTTPError as exc:
        raise ModelNotFoundError(f"{address} answered {exc.code}: is there such a repository?") from exc
    except (OSError, HTTPException, ValueError, RecursionError) as exc:
        raise ModelNotFoundError(
            f"{address} does not answer ({getattr(exc, 'reason', exc)}). Set HF_ENDPOINT to a mirror that you can "
            "reach, or copy the model's files into a folder and name that folder in the experiment."
        ) from exc
    if not isinstance(listed, dict) or not isinstance(listed.get("siblings"), list):
        raise ModelNotFoundError(f"{address} did not answer with the files of a model.")
    return listed


def _read_limited(answer: HTTPResponse) -> bytes:
    """The hub's whole answer, if it is short and in time."""
    content, end = bytearray(), time.monotonic() + LISTING_SECONDS
    for block in _blocks(answer):
        content += block
        if len(content) > LISTING_BYTES or time.monotonic() > end:
            raise TimeoutError(f"more than {LISTING_BYTES:,} bytes or {LISTING_SECONDS:g} s")
    return bytes(content)


def _choose_files(repository: str, listed: JsonObject) -> dict[str, tuple[str, int]]:
    """Files to download, the hub's SHA-256 ('' if unknown), and the most bytes of each."""
    limits_by_name = {name: limits for row in listed["siblings"] for name, limits in _sibling(row)}
    gguf = [file for file in limits_by_name if file.endswith(".gguf")]
    graph = next((file for file in _GRAPHS if file in limits_by_name), gguf[0] if len(gguf) == 1 else "")
    if not graph:
        raise ModelNotFoundError(_no_graph(repository, limits_by_name, gguf))
    data = [file for file in limits_by_name if file.startswith((f"{graph}_data", f"{graph}.data"))]
    chosen = [file for file in (graph, *data, *_BESIDE) if file in limits_by_name]
    for file in chosen:
        if not _NAME.fullmatch(file) or not {".", ".."}.isdisjoint(file.split("/")):
            raise ModelNotFoundError(f"{repository} lists a file {file[:100]!r}, which is not a plain path.")
    return {file: limits_by_name[file] for file in chosen}


def _sibling(row: Json) -> Iterator[tuple[str, tuple[str, int]]]:
    """Name, hash and most bytes of a listed file; nothing for an invalid entry."""
    if not isinstance(row, dict) or not isinstance(row.get("rfilename"), str):
        return
    lfs, size = row.get("lfs"), row.get("size")
    expected = str(lfs.get("sha256", "")) if isinstance(lfs, dict) else ""
    yield row["rfilename"], (expected, size if isinstance(size, int) and size > 0 else MOST_BYTES)


def _no_graph(repository: str, names: Collection[str], gguf: list[str]) -> str:
    if gguf:
        return (
            f"{repository} has {len(gguf)} GGUF files ({', '.join(gguf)}). Download one of them and name it: "
            "{llamacpp: {file: FILE.gguf}}"
        )
    if any(file.endswith((".bin", ".pt", ".pkl")) for file in names):
        return (
            f"{repository} has its weights only as a pickle, which can run code when it is read, so bakeoff does not "
            "read it. Use a repository with ONNX, safetensors or GGUF."
        )
    return f"{repository} has none of {', '.join(_GRAPHS)} and no .gguf file."


def _licence(listed: JsonObject) -> str:
    card = listed.get("cardData")
    return str(card.get("license", "")) if isinstance(card, dict) else ""


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
