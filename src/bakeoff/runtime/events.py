"""The events of a run while it works; the listener decides how to show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins work on `total` things of a kind (`what`: "files", "chunks"…)."""

    stage: str
    label: str
    total: int
    what: str


@dataclass(frozen=True, slots=True)
class StageAdvanced:
    """Another `count` things are done; `cached` ones took no work."""

    stage: str
    label: str
    count: int
    cached: bool = False


@dataclass(frozen=True, slots=True)
class StageFinished:
    """A stage ended after `seconds`; `summary` says what there is now."""

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
"""Takes events; must be quick, for it is called between measurements."""


def no_listener(_event: Event) -> None:
    """Listens to nothing."""
