"""Stored state of a server: its location between starts, its processes while it runs; readable by its owner only."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.runtime.servers.base import Site
from bakeoff.runtime.servers.processes import ProcessMark
from bakeoff.storage import environment
from bakeoff.storage.file_lock import lock_file
from bakeoff.storage.weights import home_folder
from bakeoff.types import JsonObject

PLACE, STATE, LOCK = "place.json", "state.json", "lock"


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server that was started and not stopped; `since` in seconds since 1970."""

    name: str
    version: str
    address: str
    line: str
    since: float
    marks: tuple[ProcessMark, ...]
    settings: dict[str, str]


def folder_of(name: str) -> Path:
    """The folder of a server."""
    return home_folder() / "servers" / name


def read_state(name: str) -> ServerState | None:
    """The state recorded when a server was started, or None."""
    stored = _read(folder_of(name) / STATE)
    if stored is None:
        return None
    with _fitting(folder_of(name) / STATE):
        return ServerState(**{**stored, "marks": tuple(ProcessMark(**mark) for mark in stored["marks"])})


def write_state(name: str, state: ServerState | None) -> None:
    """Record a start, or with None a stop; the stores' settings follow."""
    path = folder_of(name) / STATE
    if state is None:
        path.unlink(missing_ok=True)
    else:
        _write(path, json.dumps(asdict(state), indent=1))
    with server_lock(home_folder() / "servers"):
        states = [
            read_state(one.parent.name) for one in sorted((home_folder() / "servers").glob(f"*/{STATE}"))
        ]
        lines = [f'{key}="{value}"\n' for one in states if one for key, value in one.settings.items()]
        _write(environment.server_env_file(), "".join(lines))


def read_place(name: str) -> Site | None:
    """Location of a server at its last start, or None."""
    stored = _read(folder_of(name) / PLACE)
    if stored is None:
        return None
    with _fitting(folder_of(name) / PLACE):
        paths = {key: Path(stored[key]) for key in ("folder", "data", "program")}
        return Site(**{**stored, **paths, "ports": tuple(stored["ports"])})


def write_place(name: str, site: Site) -> None:
    """Store a server's location for the next start."""
    _write(folder_of(name) / PLACE, json.dumps(asdict(site), indent=1, default=str))


def forget(name: str) -> None:
    """Delete a server's data and location; its program stays."""
    place = read_place(name)
    if place is not None:
        shutil.rmtree(place.data, ignore_errors=True)
        with contextlib.suppress(OSError):
            place.data.parent.rmdir()  # its own folder, if it holds nothing else
    (folder_of(name) / PLACE).unlink(missing_ok=True)


@contextlib.contextmanager
def server_lock(folder: Path) -> Iterator[None]:
    """A lock, so that one process at a time starts or stops a server."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as exc:
        raise SettingError(
            f"cannot write {folder}: {exc.strerror}. Set BAKEOFF_HOME to a folder you may write."
        ) from exc
    try:
        lock_file(handle)
        yield
    finally:
        os.close(handle)


def _read(path: Path) -> JsonObject | None:
    try:
        with _fitting(path):
            return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise _unreadable(path, exc) from exc


@contextlib.contextmanager
def _fitting(path: Path) -> Iterator[None]:
    """Turn errors about a file with unexpected contents into ours."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise _unreadable(path, exc) from exc


def _unreadable(path: Path, exc: Exception) -> SettingError:
    return SettingError(
        f"{path} cannot be read ({type(exc).__name__}). Remove it and stop the server by hand."
    )


def _write(path: Path, text: str) -> None:
    aside = path.with_suffix(".new")
    aside.unlink(missing_ok=True)
    handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
    aside.replace(path)
