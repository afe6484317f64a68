"""Memory of an index: grown, shared, unseen, or not known; never a zero for what is not known."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import BaseModel

from bakeoff.load.memory import grown, resident_bytes, served


class Params(BaseModel):
    url: str | None = None


def test_memory_of_a_build() -> None:
    before = resident_bytes()
    kept = np.ones(40_000_000, np.uint8)
    found = grown(before, Params())
    assert found.mb == pytest.approx(40, abs=8) and kept.any()


def test_what_is_not_known_is_null() -> None:
    much = resident_bytes() + 10**9
    assert grown(much, Params()).mb is None and "did not grow" in grown(much, Params()).note
    assert grown(much, Params(), least=5_000_000).mb == 5.0
    assert served(Params(url="http://there")) and grown(0, Params(url="http://there")).mb is None
