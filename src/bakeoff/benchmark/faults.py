"""What an engine may raise, and how it ends one system and not the others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bakeoff.errors import SystemFailure, describe_error

ENGINE_FAULTS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, OSError, MemoryError)
"""What engines raise past their adapter."""


@contextlib.contextmanager
def record_failure(failed: dict[str, str], label: str, place: str = "") -> Iterator[None]:
    """Record the failure of one system under its label, so that the others are still measured (F39)."""
    try:
        yield
    except (SystemFailure, *ENGINE_FAULTS) as exc:
        failed[label] = f"{place}{describe_error(exc)}"
