"""Damaged files, derived from valid ones by random edits: cut, insert, double, flip, change of encoding."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bakeoff.errors import BakeoffError

EXAMPLES = int(os.environ.get("BAKEOFF_FUZZ", "60"))
EDITS = 6
Edit = tuple[int, int, bytes]
edits = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.integers(0, 40),
        st.one_of(
            st.binary(max_size=6),
            st.sampled_from(
                [b"", b"\x00", b"\xff\xfe", b"\t", b": ", b"- ", b"{", b"]", b"&a *a", b"!!python/object:x", b"1e999",
                 b"NaN", b"-1", b"9" * 30, "\u202e".encode(), b"\xf0\x9f\x97\xbc", b"\r\n", b"---\n", b"<<: *a"]
            ),
        ),
    ),
    min_size=1,
    max_size=EDITS,
)  # fmt: skip


def damaged(content: bytes, changes: list[Edit]) -> bytes:
    """The content with each edit made: at a place, so many bytes give way to others."""
    for at, gone, put in changes:
        place = at % (len(content) + 1)
        content = content[:place] + put + content[place + gone :]
    return content


NONSENSE = (b"", b"\x00" * 64, b"\xff" * 64, b"[" * 5000, b"{" * 5000, b"a: " * 3000)


@pytest.fixture(params=NONSENSE, ids=("empty", "zeros", "ones", "brackets", "braces", "keys"))
def nonsense(request: pytest.FixtureRequest) -> bytes:
    """What is no file of any kind."""
    content: bytes = request.param
    return content


@pytest.fixture
def feed(tmp_path: Path) -> Callable[[str, Callable[[Path], object], bytes], None]:
    """Gives a reader one file: it reads it, or says what is wrong in a sentence; it never falls over."""

    def one(name: str, read: Callable[[Path], object], content: bytes) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        try:
            read(path)
        except BakeoffError as exc:
            assert str(exc).strip()

    return one


@pytest.fixture
def feed_damaged(
    feed: Callable[..., None],
) -> Callable[[str, Callable[[Path], object], bytes | Callable[[], bytes]], None]:
    """Gives a reader as many damaged files as are asked for."""

    def many(name: str, read: Callable[[Path], object], valid: bytes | Callable[[], bytes]) -> None:
        content = valid() if callable(valid) else valid

        @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(edits)
        def check(changes: list[Edit]) -> None:
            feed(name, read, damaged(content, changes))

        check()

    return many
