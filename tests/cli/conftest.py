"""bakeoff as it is typed, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from bakeoff.cli import console
from bakeoff.cli.app import app


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code, and what it wrote to each stream."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Types a command."""

    def typed(*words: object) -> Outcome:
        capsys.readouterr()
        code = console.run_guarded(lambda: app([str(word) for word in words], standalone_mode=False))
        return Outcome(code, *capsys.readouterr())

    return typed
