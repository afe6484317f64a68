"""Protocol of executors, and what a piece of work needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from bakeoff.protocols.plugin import Plugin

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """Resources of a piece of work: cores, a GPU if there is one, its own process.

    Work that is `spread` goes to different machines if there are several.
    """

    cpus: float = 1.0
    gpu: bool = False
    apart: bool = False
    spread: bool = False


ANYWHERE = ResourceRequest()


class Executor(Plugin, Protocol):
    """Where work runs: this machine, or many."""

    def __init__(self, params: BaseModel) -> None: ...

    @property
    def slots(self) -> int:
        """Number of pieces of work that can run in parallel in separate processes; 0 if all run in this process."""

    def start(self) -> str:
        """Prepare for work and return a short description of the workers; may be called again after `close`."""

    def submit(self, work: Callable[..., T], *args: object, needs: ResourceRequest = ANYWHERE) -> Future[T]:
        """Start one piece of work where its needs are met; it must be picklable if it runs in another process."""

    def as_completed(self, futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
        """Yield futures as they complete."""

    def cancel(self, future: Future[T]) -> None:
        """Cancel a piece of work, stopping it if possible."""

    def close(self) -> None:
        """Stop the workers."""
