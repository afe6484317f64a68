"""Shared values, each computed once by the first caller, timed by a clock separate from the stages' own."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar, cast

from bakeoff.errors import BakeoffError

T = TypeVar("T")
Key = tuple[object, ...]


@dataclass(slots=True, kw_only=True)
class OnceSlot:
    """One shared value: pending, made (with its own seconds), or failed for good."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: bool = False
    value: object = None
    seconds: float = 0.0
    error: BakeoffError | None = None


class ExclusiveTimer(threading.local):
    """Times nested work exclusively: seconds spent inside, or waiting for, other timed work don't count."""

    def __init__(self) -> None:
        self._asked = [0.0]

    def of(self, work: Callable[[], T]) -> tuple[T, float]:
        """Return the result of the work, and its own seconds."""
        self._asked.append(0.0)
        begin = time.perf_counter()
        try:
            value = work()
            seconds = time.perf_counter() - begin
        finally:
            inner = self._asked.pop()
        return value, seconds - inner

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Exclude the time inside this block from the caller's own seconds."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._asked[-1] += time.perf_counter() - begin


class OnceMap:
    """Values by key; safe to use from several threads."""

    def __init__(self) -> None:
        self._slots: dict[Key, OnceSlot] = {}
        self._lock = threading.Lock()
        self._own = ExclusiveTimer()

    def once(self, key: Key, make: Callable[[], T]) -> T:
        """Return the value of a key; the first caller makes it, the others wait and share its failure too."""
        with self._own.asking():
            with self._lock:
                slot = self._slots.setdefault(key, OnceSlot())
            with slot.lock:
                if slot.error is not None:
                    raise slot.error
                if not slot.made:
                    try:
                        slot.value, slot.seconds = self._own.of(make)
                    except BakeoffError as exc:
                        slot.error = exc
                        raise
                    slot.made = True
                return cast(T, slot.value)

    def slot(self, key: Key) -> OnceSlot:
        """Return the slot of a key without making its value."""
        return self._slots.get(key) or OnceSlot()

    def find(self, key: Key, kind: type[T]) -> T | None:
        """Return the value of a key, or None if it was not made."""
        value = self.slot(key).value
        return value if isinstance(value, kind) else None

    def items_of(self, kind: str) -> list[tuple[Key, object]]:
        """All values of a kind made so far, with their keys."""
        return [(key, slot.value) for key, slot in self._slots.items() if slot.made and key[0] == kind]

    def values_of(self, *kinds: str) -> list[object]:
        """All values of some kinds made so far; the kind is the first element of a key."""
        return [slot.value for key, slot in self._slots.items() if slot.made and key[0] in kinds]
