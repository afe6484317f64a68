"""What an engine may raise, and how it ends one system and not the others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bakeoff.errors import SystemFailure, describe_error

ENGINE_FAULTS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, OSError, MemoryError)
"""What engines raise past their adapter."""


@contextlib.contextmanager
def translate_engine_errors(failed: dict[str, str], label: str) -> Iterator[None]:
    """A failure of one system is written down under its label; the others go on (F39)."""
    try:
        yield
    except (SystemFailure, *ENGINE_FAULTS) as exc:
        failed[label] = describe_error(exc)
