from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.fingerprint import (
    LENGTH,
    bytes_fingerprint,
    file_fingerprint,
    fingerprint,
    pair_fingerprints,
    text_keys,
)

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: int
    y: int


@given(plain)
def test_same_value_same_name(value: object) -> None:
    assert fingerprint(value) == fingerprint(value)
    assert len(fingerprint(value)) == LENGTH


def test_types_are_told_apart() -> None:
    values = [
        1,
        "1",
        1.0,
        True,
        b"1",
        [1],
        [[1]],
        {"1": 1},
        None,
        "",
        [],
        {},
        Colour.RED,
        "red",
        Point(1, 2),
        [1, 2],
    ]
    assert len({fingerprint(value) for value in values}) == len(values)


def test_boundaries_are_told_apart() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint(["a", "b"]) != fingerprint("a", "b")


def test_order_of_keys_does_not_matter() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_a_known_value_never_changes() -> None:
    """A change here throws away every cache: raise the stages' versions instead."""
    assert fingerprint("embed", 1, ["a", None, 0.5], {"k": True}) == "36ade4814fad07a3822dfeff9d2e9181"


def test_what_cannot_be_hashed_is_refused() -> None:
    with pytest.raises(TypeError, match="type object"):
        fingerprint(object())


def test_file_and_bytes_agree(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content" * 1000)
    assert file_fingerprint(path) == bytes_fingerprint(path.read_bytes())


def test_pairs_have_the_fingerprints_of_their_texts() -> None:
    pairs = [("a", "b"), ("", ""), ("ab", ""), ("ä\ud800", "x" * 1000)]
    assert pair_fingerprints(*zip(*pairs, strict=True)) == [fingerprint(*pair) for pair in pairs]


def test_text_keys_differ() -> None:
    assert len(set(text_keys(["a", "b", "\ud800"]))) == 3
