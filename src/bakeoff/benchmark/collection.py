"""The collection that a benchmark fills on a server: named by its content, locked while in use, dropped at the end."""

from __future__ import annotations

import os
from typing import Any

from bakeoff.benchmark.ann.store_specs import StoreSpec
from bakeoff.benchmark.faults import ENGINE_FAULTS
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.errors import StoreError, describe_error
from bakeoff.fingerprint import fingerprint
from bakeoff.protocols import SupportsDrop
from bakeoff.storage.shared_location import ensure_marker
from bakeoff.storage.weights import home_folder

try:
    import fcntl
except ImportError:  # no advisory locks on this system: two runs at once are the user's to avoid
    fcntl = None  # type: ignore[assignment]

LENGTH = 16


class Collection:
    """A name that no other benchmark uses until it is released.

    Two runs over the same data with the same settings have the same name; a run with another BAKEOFF_HOME has another
    one, so that a lock in that folder is enough.
    """

    def __init__(self, candidate: StoreSpec, dataset: VectorSet, part: str = "") -> None:
        self._candidate, self._cache = candidate, home_folder() / "cache"
        self._shared = issubclass(candidate.plugin, SupportsDrop)  # others keep it in a folder of this run
        params = candidate.params.model_dump(mode="json")
        parts = (part, candidate.name, params, dataset.fingerprint, dataset.dims, dataset.metric.value)
        mark = ensure_marker(self._cache).marker if self._shared else ""
        self.name = f"bench_{fingerprint('collection', mark, *parts)[:LENGTH]}"
        self._lock: int | None = None

    def acquire(self) -> None:
        """Lock the name; where another process holds it, a StoreError names that process."""
        if not self._shared:
            return
        path = self._cache / "locks" / f"{self._candidate.name}-{self.name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(handle, 32).decode("ascii", "replace")
            os.close(handle)
            raise StoreError(
                f"{self._candidate.label}: process {owner or 'unknown'} is measuring the same data with the same "
                f"settings in collection {self.name}. Run the command again when it has ended."
            ) from None
        os.truncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        self._lock = handle

    def release(self) -> None:
        """Let others use the name."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def end(self, store: Any, *, keep: bool = False, hung: bool = False) -> None:
        """Drop the collection unless it is to stay, close the store and release the name.

        A store in which a search hangs is left as it is; another connection drops its collection. A collection that
        cannot be dropped is a StoreError that says how to remove it.
        """
        try:
            if not keep and isinstance(store, SupportsDrop):
                self._drop(store, hung)
        finally:
            if not hung:
                store.close()
            self.release()

    def _drop(self, store: SupportsDrop, hung: bool) -> None:
        other: Any = self._candidate.plugin(self._candidate.params, home_folder()) if hung else None
        try:
            (other or store).drop(self.name)
        except (StoreError, *ENGINE_FAULTS) as exc:
            raise StoreError(
                f"collection {self.name} is still on the server ({describe_error(exc).rstrip('.')}). Remove it with "
                f"`bakeoff servers collections {self._candidate.name} --drop`."
            ) from exc
        finally:
            if other is not None:
                other.close()
