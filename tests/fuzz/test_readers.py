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

EXAMPLES = int(os.environ.get("BAKEOFF_FUZZ", "20"))
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


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> Reader:
    """Every parser whose package is there."""
    found = READERS[request.param]
    if found.missing:
        pytest.skip(f"needs {found.missing}")
    return found


def test_a_damaged_file_is_read_or_refused(reader: Reader, tmp_path: Path) -> None:
    path, content = reader.place(tmp_path), reader.content()

    @settings(max_examples=reader.files(EXAMPLES), deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(edits)
    def check(changes: list[Edit]) -> None:
        reader.feed(path, damaged(content, changes))

    check()


def test_what_is_no_such_file_at_all(reader: Reader, tmp_path: Path) -> None:
    for content in NONSENSE.values():
        reader.feed(reader.place(tmp_path), content)


def test_a_file_that_is_cut_off(reader: Reader, tmp_path: Path) -> None:
    """As a full disk would leave it."""
    whole = reader.content()
    for kept in (1, len(whole) // 2, len(whole) - 2):
        reader.feed(reader.place(tmp_path), whole[:kept])


def test_the_undamaged_file_is_read(reader: Reader, tmp_path: Path) -> None:
    """Else the edits would begin from a file that is refused at once."""
    path = reader.place(tmp_path)
    path.write_bytes(reader.content())
    try:
        reader.read(path)
    except reader.refusals as exc:
        pytest.fail(f"{reader.kind}: {exc}")
