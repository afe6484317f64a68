"""What tests in a browser share: the browser, how long it is waited for, a made-up run, and text that would run."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: make debian"),
]
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP evil.example 127.0.0.1",
)  # fmt: skip
WAIT = 60_000
"""Milliseconds for whatever a page is waited for: a guard against hanging, on any machine."""
OWNED = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


class Browser:
    """A browser whose pages wait for everything as long as WAIT."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def new_context(self, **how: Any) -> Any:
        context = self._real.new_context(**how)
        context.set_default_timeout(WAIT)
        return context

    def new_page(self, **how: Any) -> Any:
        page = self._real.new_page(**how)
        page.set_default_timeout(WAIT)
        return page


@contextmanager
def started() -> Iterator[Browser]:
    """Chromium without a window, closed at the end."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as begun:
        real = begun.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS), timeout=WAIT)
        yield Browser(real)
        real.close()


def made_up() -> ModuleType:
    """The module of made-up runs beside the tests of the report."""
    place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
    spec = importlib.util.spec_from_file_location("made_up_runs", place)
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
