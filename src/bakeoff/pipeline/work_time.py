"""How long a stage took to make what is in the cache, kept with its date for runs that find it there."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.runtime.machine import describe_machine
from bakeoff.storage.cache import Cache

STAGE = "work_time"
_FILE = "time.json"


@dataclass(frozen=True, slots=True)
class WorkTime:
    """Seconds of making a number of things, when (UTC) and on which processor."""

    count: int
    seconds: float
    measured: str
    processor: str

    @property
    def per_second(self) -> float:
        """Things made per second."""
        return self.count / self.seconds

    @property
    def source(self) -> str:
        """When and where an earlier run measured this."""
        return f"measured {self.measured[:10]} on {self.processor}, by the run that made it"


def measured_now(count: int, seconds: float) -> WorkTime | None:
    """The time of work that has just ended; None where nothing was made."""
    if not count or seconds <= 0:
        return None
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return WorkTime(count, seconds, now, str(describe_machine()["processor"]))


def store_time(cache: Cache, key: str, time: WorkTime) -> None:
    """Keep a time for later runs, instead of an older one."""

    def write(folder: Path) -> None:
        (folder / _FILE).write_text(json.dumps(asdict(time)), encoding="utf-8")

    cache.drop(STAGE, key)
    cache.make(STAGE, key, write)


def find_time(cache: Cache, key: str) -> WorkTime | None:
    """The time that an earlier run measured; None where none is kept."""
    folder = cache.get(STAGE, key)
    return WorkTime(**json.loads((folder / _FILE).read_text(encoding="utf-8"))) if folder else None


def keep_or_find(cache: Cache, key: str, seconds: float, fresh: int, reused: int) -> WorkTime | None:
    """The time of making all of an artifact: kept where this run made it whole, else that of the run that did."""
    if reused or not fresh:
        return None if fresh else find_time(cache, key)
    found = measured_now(fresh, seconds)
    if found is not None:
        store_time(cache, key, found)
    return None
