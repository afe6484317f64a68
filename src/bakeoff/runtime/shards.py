"""Shards: batches of a pool's work, done by workers that share its cache: a folder, or a depot.

A shard is sent with the rows it works on. Its worker makes the plug-in once, puts the segment of every batch
there itself and answers with no more than its seconds. A segment appears whole or not at all and is named
by its inputs, so a shard may be done twice, or half and then again: what is there counts once.
"""

from __future__ import annotations

import pickle
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache as once
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from bakeoff.errors import SettingError
from bakeoff.storage.row_cache import BatchRows, SegmentLocation, from_bytes
from bakeoff.storage.shared_folder import ArtifactWriter, SharedLocation

if TYPE_CHECKING:
    import pyarrow as pa

Work = Callable[["pa.Table"], BatchRows]
OPEN = 4
"""Plug-ins a worker keeps open; one that was not used for the longest time is closed for another."""


@once
def installed_version() -> str:
    """The version of this program here."""
    return version("bakeoff")


def same_version(wanted: str) -> None:
    """Refuse work of another version of this program: what it makes may differ."""
    if wanted != installed_version():
        raise SettingError(
            f"a worker has bakeoff {installed_version()}, the run {wanted}. Install the same version on every node."
        )


class WorkSpec(Protocol):
    """What workers are to do, in a form that can be sent to them."""

    def open(self) -> LoadedPlugin:
        """Make the plug-in; called once in each worker."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """A plug-in that is ready: what it makes of rows, and how it is closed."""

    work: Work
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Shard:
    """Some batches of one plan: the keys of their inputs, and the inputs themselves as an Arrow stream."""

    shared: SharedLocation
    place: SegmentLocation
    order: bytes
    batches: tuple[tuple[str, ...], ...]
    rows: bytes
    version: str = field(default_factory=installed_version)

    @property
    def inputs(self) -> int:
        """How many inputs it has."""
        return sum(len(names) for names in self.batches)


def is_picklable(order: WorkSpec) -> bool:
    """Whether another process can do this order: one whose plug-in lives in this process only cannot be sent."""
    plugin = getattr(order, "plugin", type(order))
    if plugin.__module__ == "__main__":
        return False
    try:
        pickle.dumps(order)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def run_shard(shard: Shard) -> float:
    """Do a shard in this process and return the seconds of its work; batches that are there already take none.

    A batch is written while the next one is worked on: a disk or a network that is waited for costs no core.
    """
    same_version(shard.version)
    keeper, table, first, seconds = _keeper(shard.shared), from_bytes(shard.rows), 0, 0.0
    place, written = shard.place, Future[None]()
    written.set_result(None)
    with ThreadPoolExecutor(1) as writer:
        for names in shard.batches:
            rows, first = table.slice(first, len(names)), first + len(names)
            if keeper.has(place.stage, place.key(names)):
                continue
            begin = time.perf_counter()
            made = _load_plugin(shard.order).work(rows)
            seconds += time.perf_counter() - begin
            written.result()
            written = writer.submit(place.keep, keeper, names, partial(_same, made))
        written.result()
    return seconds


def _same(made: BatchRows) -> BatchRows:
    return made


_keepers: dict[SharedLocation, ArtifactWriter] = {}
_open: OrderedDict[bytes, LoadedPlugin] = OrderedDict()


def _keeper(shared: SharedLocation) -> ArtifactWriter:
    return _keepers.setdefault(shared, shared.keeper())


def _load_plugin(order: bytes) -> LoadedPlugin:
    """The plug-in of an order, made by the first shard that needs it."""
    if order not in _open:
        while len(_open) >= OPEN:
            _open.popitem(last=False)[1].close()
        found: WorkSpec = pickle.loads(order)  # noqa: S301 - from the run that started this worker
        _open[order] = found.open()
    _open.move_to_end(order)
    return _open[order]
