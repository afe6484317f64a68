"""Memory of an index: grown, shared, unseen, or not known; never a zero for what is not known."""

from __future__ import annotations

import subprocess
import sys

from pydantic import BaseModel

from bakeoff.load.memory import grown, resident_bytes, served


class Params(BaseModel):
    url: str | None = None


BUILD = """\
import numpy as np
from bakeoff.load.memory import grown, resident_bytes
from bakeoff.load.null import Nothing

before = resident_bytes()
kept = np.ones(40_000_000, np.uint8)
found = grown(before, Nothing())
assert 32 < found.mb < 48 and kept.any(), found
"""


def test_memory_of_a_build() -> None:
    """In a process of its own: what threads of other tests take or give back would be counted too."""
    subprocess.run([sys.executable, "-c", BUILD], check=True)


def test_what_is_not_known_is_null() -> None:
    much = resident_bytes() + 10**9
    assert grown(much, Params()).mb is None and "did not grow" in grown(much, Params()).note
    assert grown(much, Params(), least=5_000_000).mb == 5.0
    assert served(Params(url="http://there")) and grown(0, Params(url="http://there")).mb is None
