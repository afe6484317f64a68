"""Every parser of foreign files, fed with damaged ones: it reads them, or says what is wrong; it never falls over.

More of them: BAKEOFF_FUZZ=5000 make unit, or one parser with -k.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fuzzed import READERS, Reader
from fuzzed.reader import Edit, damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("BAKEOFF_FUZZ", "6"))
SLOW_EXAMPLES = 40
"""Damaged files that make test-slow gives each parser."""
EDITS = 6
PUT = (
    b"", b"\x00", b"\xff\xfe", b"\t", b": ", b"- ", b"{", b"]", b"&a *a", b"!!python/object:x", b"1e999", b"NaN", b"-1",
    b"9" * 30, "\u202e".encode(), b"\xf0\x9f\x97\xbc", b"\r\n", b"---\n", b"<<: *a",
)  # fmt: skip
NONSENSE = {
    "empty": b"", "zeros": bytes(64), "ones": b"\xff" * 64, "brackets": b"[" * 5000, "braces": b"{" * 5000,
    "objects": b'{"a":' * 5000, "keys": b"a: " * 3000, "number": b"1" * 5000, "list": b"[]", "null": b"null",
}  # fmt: skip
edits = st.lists(
    st.tuples(
        st.integers(0, 10_000), st.integers(0, 40), st.one_of(st.binary(max_size=6), st.sampled_from(PUT))
    ),
    min_size=1,
    max_size=EDITS,
)


AT_HAND = [
    pytest.param(reader, id=name, marks=[pytest.mark.slow] if reader.dear else [])
    for name, reader in READERS.items()
    if not reader.missing
]
"""Every parser whose package is there; those that start processes are slow."""


def feed_damaged(reader: Reader, folder: Path, files: int) -> None:
    """Give it damaged copies of its file."""
    path, content = reader.place(folder), reader.content()

    @settings(max_examples=reader.files(files), deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(edits)
    def check(changes: list[Edit]) -> None:
        reader.feed(path, damaged(content, changes))

    check()


@pytest.mark.parametrize("reader", AT_HAND)
def test_its_file_is_read_and_a_damaged_one_is_read_or_refused(reader: Reader, tmp_path: Path) -> None:
    """Whole, cut off as a full disk would leave it, damaged, and no such file at all."""
    path, whole = reader.place(tmp_path), reader.content()
    path.write_bytes(whole)
    try:
        reader.read(path)
    except reader.refusals as exc:
        pytest.fail(f"{reader.kind}: {exc}")
    for content in (whole[:1], whole[: len(whole) // 2], whole[:-2], *NONSENSE.values()):
        reader.feed(path, content)
    feed_damaged(reader, tmp_path, EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("reader", AT_HAND)
def test_more_damaged_files(reader: Reader, tmp_path: Path) -> None:
    feed_damaged(reader, tmp_path, max(SLOW_EXAMPLES, EXAMPLES))
