"""The driver's cache in the hands of a client: it reads, and never builds, fills or removes an index.

To create a collection in a server would replace the one that all others are asking.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

from bakeoff.errors import StoreError
from bakeoff.storage.cache import Cache
from bakeoff.storage.shared_location import SharedFolder

INDEX = "index"


class ReadOnlyCache(Cache):
    """A cache whose indexes are somebody else's."""

    def __init__(self, folder: SharedFolder) -> None:
        super().__init__(folder.root)
        if not folder.is_available():
            raise StoreError(
                f"{socket.gethostname()} does not see the driver's cache folder {folder.root}. Set BAKEOFF_HOME to a "
                "folder that every node sees under this path."
            )

    def make(self, stage: str, key: str, write: Callable[[Path], None]) -> Path:
        """As in any cache, but for an index: it is there, or the client has another experiment or corpus before it."""
        if stage == INDEX and self.get(stage, key) is None:
            raise StoreError(
                f"{socket.gethostname()} finds no index for this system: the experiment's file, queries and corpus "
                "must be the driver's own, under the same paths on every node."
            )
        return super().make(stage, key, write)

    def drop(self, stage: str, key: str) -> None:
        """As in any cache, but for an index: that it does not open here does not mean that it is broken."""
        if stage == INDEX:
            raise StoreError(
                f"{socket.gethostname()} cannot open the index that the driver has open: an embedded engine admits one "
                "process only, and a server must be reached from the client's machine at the address it is given. "
                "Leave --clients out, or use a store that is a server."
            )
        super().drop(stage, key)
