"""How fast a model embedded a corpus, kept with its date for runs that find the vectors in the cache."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.cache import Cache
from bakeoff.machine import machine

STAGE = "embed_speed"
_FILE = "speed.json"


@dataclass(frozen=True, slots=True)
class EmbedSpeed:
    """Texts embedded in a number of seconds, when (UTC) and on which processor."""

    texts: int
    seconds: float
    measured: str
    processor: str

    @property
    def per_second(self) -> float:
        """Texts embedded per second."""
        return self.texts / self.seconds

    @property
    def source(self) -> str:
        """When and where an earlier run measured this."""
        return f"measured {self.measured[:10]} on {self.processor}, when these vectors were made"


def measured_now(texts: int, seconds: float) -> EmbedSpeed | None:
    """The speed of work that has just ended; None where nothing was embedded."""
    if not texts or seconds <= 0:
        return None
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return EmbedSpeed(texts, seconds, now, str(machine()["processor"]))


def store_speed(cache: Cache, key: str, speed: EmbedSpeed) -> None:
    """Keep a speed for later runs, instead of an older one."""

    def write(folder: Path) -> None:
        (folder / _FILE).write_text(json.dumps(asdict(speed)), encoding="utf-8")

    cache.drop(STAGE, key)
    cache.make(STAGE, key, write)


def find_speed(cache: Cache, key: str) -> EmbedSpeed | None:
    """The speed that an earlier run measured; None where none is kept."""
    folder = cache.get(STAGE, key)
    return EmbedSpeed(**json.loads((folder / _FILE).read_text(encoding="utf-8"))) if folder else None
