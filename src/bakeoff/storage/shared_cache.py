"""The cache of this machine, and what it shares with others: nothing, its folder, or a depot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from bakeoff.storage.archive import Files
from bakeoff.storage.cache import Cache, durable_folder
from bakeoff.storage.environment import get_setting
from bakeoff.storage.object_store import SETTING, ObjectStoreClient, check_url
from bakeoff.storage.remote_artifacts import FetchCondition, RemoteArtifactStore
from bakeoff.storage.shared_folder import SharedFolderCache, SharedLocation, ensure_marker

SIDE_BY_SIDE = 16
"""Requests to a depot at once: each waits for the network."""


def open_cache(root: Path, *, spread: bool = False) -> Cache:
    """The cache in a folder: with BAKEOFF_CACHE one that shares; `spread` says that others work in this folder."""
    url = get_setting(SETTING)
    if url:
        return RemoteBackedCache(root, RemoteArtifactStore(ObjectStoreClient(check_url(url))))
    return SharedFolderCache(ensure_marker(root)) if spread else Cache(root)


def shared_location(cache: Cache) -> SharedLocation:
    """What workers are told of a cache, so that it finds what they make."""
    return cache.depot if isinstance(cache, RemoteBackedCache) else ensure_marker(cache.root)


def fetch_artifacts(cache: Cache, stage: str, prefix: str, wanted: FetchCondition) -> int:
    """Bring artifacts here that others made and that are wanted; how many came."""
    return cache.bring(stage, prefix, wanted) if isinstance(cache, RemoteBackedCache) else 0


class RemoteBackedCache(Cache):
    """A cache on this machine whose kept artifacts are in a depot too, and come from there when they are wanted."""

    def __init__(self, root: Path, depot: RemoteArtifactStore) -> None:
        super().__init__(root)
        self._given, self._begin = depot, threading.Lock()

    def __str__(self) -> str:
        """Where it is, and what it shares."""
        return f"{self.root}, shared at {self.url}"

    @property
    def url(self) -> str:
        """Where the depot is."""
        return self._given.objects.url

    @property
    def depot(self) -> RemoteArtifactStore:
        """The depot, which is asked for the first time when it is needed first."""
        with self._begin:
            return self._begun

    @cached_property
    def _begun(self) -> RemoteArtifactStore:
        self._given.begin()
        return self._given

    def keep(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """From here, else from the depot, else made now: then it is in the depot before it is here."""

        def fetched_or_made(folder: Path) -> None:
            files = self.depot.fetch(stage, key)
            if files is not None:
                _lay(folder, files)
                return
            write(folder)
            self.depot.put(stage, key, folder)

        return self.make(stage, key, fetched_or_made)

    def bring(self, stage: str, prefix: str, wanted: FetchCondition) -> int:
        """Fetch what is not here and is wanted; of what is not, no more than its beginning is read."""
        here = set(self.keys(stage, prefix))
        there = [key for key in self.depot.keys(stage, prefix) if key not in here]

        def one(key: str) -> bool:
            files = self.depot.fetch(stage, key, wanted)
            if files is not None:
                with durable_folder(self._folder(stage, key), self._aside(), f"{stage}/{key}") as folder:
                    _lay(folder, files)
            return files is not None

        with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
            return sum(threads.map(one, there))


def _lay(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
