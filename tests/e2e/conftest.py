"""The browser of a module's tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(
    0, str(Path(__file__).parent)
)  # test modules share browsing.py, which importlib mode does not find


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, started once a module."""
    from browsing import started

    with started() as opened:
        yield opened
