"""Texts from outside on a terminal: what would steer it, or turn the reading direction, is shown instead of obeyed."""

from __future__ import annotations

import logging

from bakeoff.redaction import redact

_KEPT = "\n\t"
_STEERING = (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for code in _STEERING
    if chr(code) not in _KEPT
}
_IN_JSON = {code: f"\\u{code:04x}" for code in _STEERING if code > 0x7E}


def visible(text: str) -> str:
    """The text with control characters (ESC among them) and marks of direction as \\x1b and the like."""
    return text.translate(_SHOWN)


def visible_json(text: str) -> str:
    """A JSON text of the same value; JSON itself escapes only those below 0x20."""
    return text.translate(_IN_JSON)


class VisibleFormatter(logging.Formatter):
    """Log lines that cannot steer the terminal and hold no key."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(redact(super().format(record)))
