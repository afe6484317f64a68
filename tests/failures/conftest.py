"""Both ways in which measures are computed, and commands as they are typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.measures import plain


@pytest.fixture(params=["plain", "arrays"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bakeoff.evaluate` takes the plain way for small input; here it is made to take each in turn."""
    if request.param == "arrays":
        monkeypatch.setattr(plain, "SMALL", -1)


@dataclass(frozen=True)
class Typed:
    """What a command did: its exit code, and what it wrote to each stream."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Typed]:
    """Types a command, in this process."""

    def typed(*words: object) -> Typed:
        capsys.readouterr()
        code = console.run_guarded(lambda: app([str(word) for word in words], standalone_mode=False))
        return Typed(code, *capsys.readouterr())

    return typed
