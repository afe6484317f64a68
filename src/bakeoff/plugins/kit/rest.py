"""Helpers for HTTP engines: JSON bodies, refusal reasons, waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import orjson

from bakeoff.errors import StoreError
from bakeoff.storage.redaction import redact, redact_answer

BODY_BYTES = 8_000_000  # vendors recommend 5 to 15 MB for one bulk request
REASON_KEYS = ("reason", "message", "error")


def wait_until(engine: str, what: str, holds: Callable[[], bool], seconds: float, pause: float = 0.5) -> None:
    """Wait until `holds` returns true; after `seconds`, raise a StoreError that names what was awaited."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise StoreError(f"{engine}: after {seconds:.0f} s, still waiting until {what}.")
        time.sleep(pause)


def encode_json(body: object) -> bytes:
    """Encode JSON; NumPy arrays become lists, and float32 keeps its own digits."""
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def bodies(rows: Iterable[tuple[object, ...]], limit: int = BODY_BYTES) -> Iterator[bytes]:
    """Newline-separated JSON in bulk requests of about `limit` bytes; rows are never split."""
    held: list[bytes] = []
    size = 0
    for row in rows:
        lines = b"".join(encode_json(line) + b"\n" for line in row)
        held.append(lines)
        size += len(lines)
        if size >= limit:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def refusal_reason(content: bytes) -> str:
    """The reason in an engine's error answer, with our own keys redacted."""
    text = redact_answer(content)
    try:
        reasons = dict.fromkeys(_reasons(orjson.loads(text)))
    except orjson.JSONDecodeError:
        reasons = {}
    return redact("; ".join(reasons) or text)[:600] or "no reason was given"


def _reasons(part: object) -> Iterator[str]:
    """Every text under a key that engines use for reasons, outermost first."""
    if isinstance(part, list):
        for one in part:
            yield from _reasons(one)
    if isinstance(part, dict):
        yield from (part[key] for key in REASON_KEYS if isinstance(part.get(key), str))
        for one in part.values():
            yield from _reasons(one)
