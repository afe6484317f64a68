"""What embedders share: common parameters, and an engine that starts on first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class EmbedderParams(BaseModel):
    """Parameters of every embedder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    storage: Literal["float32", "float16", "int8"] = Field(
        "float32", description="how chunk vectors are stored and indexed; the loss is measured and reported"
    )


class StartedModel(Generic[T]):
    """An expensive object created by the first caller, shared by the others, and released at the end."""

    def __init__(self, start: Callable[[], T], stop: Callable[[T], None] = lambda _: None) -> None:
        self._start, self._stop = start, stop
        self._lock = threading.Lock()
        self._made: T | None = None

    def get(self) -> T:
        """Return the object, starting it if needed."""
        with self._lock:
            if self._made is None:
                self._made = self._start()
            return self._made

    def close(self) -> None:
        """Stop it if it runs; the next `get` starts it again."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            self._stop(made)
