"""The events of a run in progress; the listener decides how to show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage starts work on `total` items of a kind (`what`: "files", "chunks"…)."""

    stage: str
    label: str
    total: int
    what: str


@dataclass(frozen=True, slots=True)
class StageAdvanced:
    """Another `count` items are done; `cached` ones took no work."""

    stage: str
    label: str
    count: int
    cached: bool = False


@dataclass(frozen=True, slots=True)
class StageFinished:
    """A stage ended after `seconds`; `summary` describes its result."""

    stage: str
    label: str
    seconds: float
    summary: str


@dataclass(frozen=True, slots=True)
class SystemFinished:
    """A system is measured, or failed with a reason."""

    system: str
    done: int
    total: int
    failed: str = ""
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class WarningRaised:
    """Something the reader of the results must know."""

    message: str


Event = StageStarted | StageAdvanced | StageFinished | SystemFinished | WarningRaised
Emit = Callable[[Event], None]
"""Receives events; must be fast, because it is called between measurements."""


def no_listener(_event: Event) -> None:
    """Ignore the event."""
