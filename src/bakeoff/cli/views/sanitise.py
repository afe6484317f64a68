"""Escape control characters and direction marks in untrusted text, so that it cannot steer the terminal."""

from __future__ import annotations

import logging

from bakeoff.storage.redaction import redact

_KEPT = "\n\t"
_STEERING = (
    *range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
)  # fmt: skip
"""Control characters, line separators, direction marks and lone surrogates."""
_ESCAPED = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _STEERING}
_SHOWN = {code: text for code, text in _ESCAPED.items() if chr(code) not in _KEPT}
_ONE_LINE = {**_ESCAPED, ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}
_IN_JSON = {code: f"\\u{code:04x}" for code in _STEERING if code > 0x7E}


def show_controls(text: str) -> str:
    """The text with control characters and direction marks as \\x1b and the like."""
    return text.translate(_SHOWN)


def one_line(text: str) -> str:
    """The same with line breaks and tabs escaped too, so that no name can start a new line."""
    return text.translate(_ONE_LINE)


def visible_json(text: str) -> str:
    """JSON text of the same value, with all control characters escaped (JSON escapes only those below 0x20)."""
    return text.translate(_IN_JSON)


class VisibleFormatter(logging.Formatter):
    """Formats log records as one safe line, with keys redacted."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the base class
        return one_line(redact(super().formatMessage(record)))

    def format(self, record: logging.LogRecord) -> str:
        return show_controls(redact(super().format(record)))
