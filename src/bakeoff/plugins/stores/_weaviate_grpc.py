"""Weaviate's search by vector over gRPC, which its server answers sooner than GraphQL.

The two messages a search needs are written and read here by the rules of protocol buffers; numbers are those of the
engine's `SearchRequest` and `SearchReply`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import grpc
import numpy as np

from bakeoff.errors import StoreError
from bakeoff.plugins.stores._server import patience
from bakeoff.plugins.stores._weaviate_schema import OWN
from bakeoff.redaction import redact

SEARCH = "/weaviate.v1.Weaviate/Search"
LARGEST = 104_858_000  # bytes of an answer, as the engine's own clients allow
NUMBER, EIGHT_BYTES, BLOCK, FOUR_BYTES = 0, 1, 2, 5
FLOAT = struct.Struct("<f")
LEVELS = {"ONE": 1, "QUORUM": 2, "ALL": 3}
"""Consistency levels by their number."""
Found = tuple[list[int], list[float]]
"""The integers in the UUIDs of rows, and their distances."""


class Channel:
    """Kept connections for many threads."""

    def __init__(self, url: str, port: str, headers: dict[str, str]) -> None:
        at = urlsplit(url)
        self._at, options = f"{at.hostname}:{port}", [("grpc.max_receive_message_length", LARGEST)]
        if at.scheme == "https":
            self._channel = grpc.secure_channel(self._at, grpc.ssl_channel_credentials(), options)
        else:
            self._channel = grpc.insecure_channel(self._at, options)
        self._search, self._seconds = self._channel.unary_unary(SEARCH), patience()
        self._told = tuple((name.lower(), value) for name, value in headers.items())

    def near(self, collection: str, vector: np.ndarray, k: int, consistency: str = OWN) -> Found:
        """The k rows nearest to a vector."""
        asked = _request(collection, np.ascontiguousarray(vector, np.float32).tobytes(), k, consistency)
        try:
            return _answer(self._search(asked, timeout=self._seconds, metadata=self._told))
        except ValueError as exc:
            raise StoreError(f"Weaviate at {self._at} is closed: {exc}") from exc
        except grpc.RpcError as exc:
            raise StoreError(redact(f"Weaviate at {self._at}, search: {exc.details()}")) from exc

    def close(self) -> None:
        """Give back the connections."""
        self._channel.close()


def _request(collection: str, vector: bytes, k: int, consistency: str = OWN) -> bytes:
    """No properties, the UUID and the distance, so many rows, near a vector, in the form of version 1.27 and later."""
    return b"".join(
        (
            _block(1, collection.encode()),
            b"" if consistency == OWN else _key(11, NUMBER) + _varint(LEVELS[consistency]),
            _block(20, b""),
            _block(21, _flag(1) + _flag(5)),
            _key(30, NUMBER) + _varint(k),
            _block(43, _block(4, vector)),
            _flag(100) + _flag(101) + _flag(102),
        )
    )


def _answer(told: bytes) -> Found:
    """Every result's UUID, without its leading zeros, and distance; either is left out where it is 0."""
    ids, far = list[int](), list[float]()
    for number, result in _fields(told):
        if number == 2:
            known = dict(_fields(dict(_fields(result))[2]))
            ids.append(int.from_bytes(known.get(20, b""), "big"))
            far.append(FLOAT.unpack(known[7])[0] if 7 in known else 0.0)
    return ids, far


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes((*parts, number))


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _block(field: int, content: bytes) -> bytes:
    return _key(field, BLOCK) + _varint(len(content)) + content


def _flag(field: int) -> bytes:
    return _key(field, NUMBER) + b"\x01"


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: blocks and numbers of fixed size as bytes, others as integers."""
    place = 0
    while place < len(message):
        key, place = _read(message, place)
        kind = key & 7
        if kind == NUMBER:
            value, place = _read(message, place)
            yield key >> 3, value
            continue
        size, place = (
            _read(message, place) if kind == BLOCK else ({EIGHT_BYTES: 8, FOUR_BYTES: 4}[kind], place)
        )
        yield key >> 3, message[place : place + size]
        place += size


def _read(message: bytes, place: int) -> tuple[int, int]:
    """A number and the place after it."""
    number = message[place]
    if number < 128:
        return number, place + 1
    number, shift = number & 127, 7
    while True:
        place += 1
        part = message[place]
        number |= (part & 127) << shift
        if part < 128:
            return number, place + 1
        shift += 7
