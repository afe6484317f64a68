"""This machine: threads, for work that waits or leaves Python quickly."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field


class LocalParams(BaseModel):
    """How many things run side by side."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    workers: Annotated[int | None, Field(ge=1, le=256, description="None: one a core")] = None


class LocalExecutor:
    """A pool of threads."""

    version: ClassVar[str] = "1"
    Params = LocalParams

    def __init__(self, params: LocalParams) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(params.workers or os.cpu_count())

    def submit(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        return self._pool.submit(work, *args)

    def as_completed(self, futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
        return concurrent.futures.as_completed(futures)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
