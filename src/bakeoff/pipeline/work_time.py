"""How long a stage took to make a cached artifact, stored with its date for later runs."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bakeoff.errors import CacheError
from bakeoff.fingerprint import fingerprint
from bakeoff.runtime.machine import describe_machine
from bakeoff.storage.cache import Cache
from bakeoff.storage.row_cache import PREFIX, RowCache
from bakeoff.storage.row_keys import InputKeys

STAGE = "work_time"
_FILE = "time.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTime:
    """Seconds to make a number of items, when (UTC) and on which processor; `since` if several runs did it.

    `work` is the plug-in's own seconds, over all workers; None if no run measured it.
    """

    count: int
    seconds: float
    measured: str
    processor: str
    since: str = ""
    work: float | None = None

    @property
    def per_second(self) -> float | None:
        """Items made per second of the plug-in's own work; None if unknown."""
        return self.count / self.work if self.work else None

    @property
    def first_measured(self) -> str:
        """When the first of its parts was measured."""
        return self.since or self.measured

    @property
    def source(self) -> str:
        """When and where earlier runs measured this."""
        first, last = self.since[:10], self.measured[:10]
        days = last if first in ("", last) else f"{first} to {last}"
        runs = "summed over the runs that made its parts" if first else "by the run that made it"
        return f"measured {days} on {self.processor}, {runs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FillTime:
    """Inputs this run processed, its seconds, and the time earlier runs took for the rest.

    `work` is the plug-in's share of the seconds. `earlier` is None without a rest, or if some of its
    time is unknown.
    """

    fresh: int
    reused: int
    seconds: float = 0.0
    work: float | None = None
    earlier: WorkTime | None = None

    @property
    def known(self) -> WorkTime | None:
        """Time of this run and earlier ones together; this run's alone if theirs is unknown."""
        own = measured_now(self.fresh, self.seconds, self.work)
        parts = [part for part in (own, self.earlier) if part is not None]
        return _sum(parts, sum(part.count for part in parts)) if parts else None


def measured_now(count: int, seconds: float, work: float | None = None) -> WorkTime | None:
    """The time of work that just ended; None if nothing was made."""
    if not count or seconds <= 0:
        return None
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    processor = str(describe_machine()["processor"])
    return WorkTime(count=count, seconds=seconds, measured=now, processor=processor, work=work or None)


def store_time(cache: Cache, key: str, work: WorkTime) -> None:
    """Store a time for later runs, replacing an older one."""
    cache.note(STAGE, key, lambda folder: _write(folder, asdict(work)))


def find_time(cache: Cache, key: str) -> WorkTime | None:
    """Return the time an earlier run measured, or None."""
    folder = cache.get(STAGE, key)
    return WorkTime(**json.loads((folder / _FILE).read_text(encoding="utf-8"))) if folder else None


def fill_timed(
    cache: Cache, pool: RowCache, keys: InputKeys | Sequence[str], fill: Callable[[], int]
) -> FillTime:
    """Fill a row cache and store the time, even if interrupted: finished batches stay."""
    keys = InputKeys.collect(keys)
    before = pool.inputs_by_segment(keys)
    begin, worked = time.perf_counter(), pool.work_seconds
    try:
        fresh = fill()
    except BaseException:
        with contextlib.suppress(CacheError, OSError):  # the first fault is the one to report
            _keep_fill(cache, pool, keys, before, time.perf_counter() - begin, pool.work_seconds - worked)
        raise
    seconds, work = time.perf_counter() - begin, pool.work_seconds - worked
    _keep_fill(cache, pool, keys, before, seconds, work)
    return FillTime(
        fresh=fresh,
        reused=len(keys.distinct) - fresh,
        seconds=seconds,
        work=work,
        earlier=_earlier_fills(cache, pool.prefix, before),
    )


def keep_or_find(cache: Cache, key: str, seconds: float, fill: FillTime) -> WorkTime | None:
    """Time of making an artifact if earlier runs made a part; None if this run made all of it or a part's
    time is unknown."""
    own = measured_now(fill.fresh + fill.reused, seconds)
    if own is None:
        return None
    if not fill.reused:
        store_time(cache, key, own)
        return None
    earlier = None if fill.fresh else find_time(cache, key)
    if earlier is not None or fill.earlier is None:
        return earlier
    earlier = _sum([own, fill.earlier], own.count)
    store_time(cache, key, earlier)
    return earlier


def _keep_fill(
    cache: Cache,
    pool: RowCache,
    keys: InputKeys,
    before: Mapping[str, int],
    seconds: float,
    worked: float,
) -> None:
    """Store the time of the segments added since `before`."""
    counts = {name: count for name, count in pool.inputs_by_segment(keys).items() if name not in before}
    work = measured_now(sum(counts.values()), seconds, worked)
    if work is None:
        return
    record = {"segments": sorted(counts), "time": asdict(work)}
    key = pool.prefix + fingerprint("fill", record["segments"])[:PREFIX]
    cache.note(STAGE, key, lambda folder: _write(folder, record))


def _earlier_fills(cache: Cache, prefix: str, inputs: Mapping[str, int]) -> WorkTime | None:
    """Time earlier runs took for these inputs of each segment; None if any is unknown."""
    if not inputs:
        return None
    times: dict[str, WorkTime] = {}
    for key in cache.keys(STAGE, prefix):
        folder = cache.get(STAGE, key)
        if folder is not None:
            record = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            times |= dict.fromkeys(record["segments"], WorkTime(**record["time"]))
    if not set(inputs) <= set(times):
        return None
    parts = [_share(times[name], count) for name, count in inputs.items()]
    return _sum(parts, sum(inputs.values()))


def _share(work: WorkTime, count: int) -> WorkTime:
    """The part of a time that falls to `count` of the items."""
    share = count / work.count
    own = None if work.work is None else work.work * share
    return replace(work, count=count, seconds=work.seconds * share, work=own)


def _sum(parts: Sequence[WorkTime], count: int) -> WorkTime:
    """Sum the times of parts, over `count` items."""
    processors = dict.fromkeys(part.processor for part in parts)
    moments = [part.measured for part in parts]
    first = min(part.since or part.measured for part in parts)
    since = first if len(set(moments)) > 1 or any(part.since for part in parts) else ""
    worked = [part.work for part in parts if part.work is not None]
    return WorkTime(
        count=count,
        seconds=sum(part.seconds for part in parts),
        measured=max(moments),
        processor=" and ".join(processors),
        since=since,
        work=sum(worked) if len(worked) == len(parts) else None,
    )


def _write(folder: Path, record: Mapping[str, object]) -> None:
    (folder / _FILE).write_text(json.dumps(record), encoding="utf-8")
