"""Weaviate's messages over gRPC: what is written and read by the rules of protocol buffers."""

from __future__ import annotations

import struct

import numpy as np
import pytest

pytest.importorskip("grpc")

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._weaviate_grpc import Channel, _answer, _block, _fields, _request, _varint


@pytest.mark.parametrize(("number", "written"), [(0, "00"), (127, "7f"), (128, "8001"), (16_384, "808001")])
def test_numbers(number: int, written: str) -> None:
    assert _varint(number).hex() == written


def test_a_request_holds_what_was_asked() -> None:
    vector = np.arange(300, dtype=np.float32).tobytes()
    asked = dict(_fields(_request("Bakeoff_rows", vector, 200)))
    assert asked[1] == b"Bakeoff_rows" and asked[30] == 200 and asked[20] == b""
    assert dict(_fields(asked[43])) == {4: vector}
    assert dict(_fields(asked[21])) == {1: 1, 5: 1}
    assert [asked[number] for number in (100, 101, 102)] == [1, 1, 1]


@pytest.mark.parametrize(("level", "number"), [("ONE", None), ("QUORUM", 2), ("ALL", 3)])
def test_a_consistency_that_is_not_the_engines_own_is_sent(level: str, number: int | None) -> None:
    assert dict(_fields(_request("Bakeoff_rows", b"", 1, level))).get(11) == number


def test_an_answer_is_read_in_its_order() -> None:
    far = b"\x3d" + struct.pack("<f", 0.25)
    rows = [_block(20, (2**40).to_bytes(16, "big")) + far + b"\x40\x01", _block(20, b"\x07"), b"\x40\x01"]
    told = b"\x0d\0\0\0\0" + b"".join(_block(2, _block(1, b"") + _block(2, row)) for row in rows)
    assert _answer(told) == ([2**40, 7, 0], [0.25, 0.0, 0.0])
    assert _answer(b"") == ([], [])


def test_nobody_answers() -> None:
    channel = Channel("http://127.0.0.1:1", "9", {"Authorization": "Bearer a-key-nobody-may-see"})
    with pytest.raises(StoreError, match=r"Weaviate at 127\.0\.0\.1:9, search") as caught:
        channel.near("Rows", np.ones(4, np.float32), 1)
    channel.close()
    assert "a-key-nobody-may-see" not in str(caught.value)
