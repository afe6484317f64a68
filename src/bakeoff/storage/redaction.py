"""Removes keys and passwords from texts, in any form a server may repeat them.

A secret is searched for verbatim, as base64 at each of its three alignments, and as hexadecimal digits: in
the text, and in the text with JSON, URL, HTML and Python escapes decoded up to four times.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from bakeoff.storage.consent import allowed_keys
from bakeoff.storage.environment import all_settings

MASK = "***"
SECRET = ("KEY", "TOKEN", "PASSWORD", "SECRET", "CREDENTIALS", "PASSWD")
ADDRESS = ("DSN", "URL", "URI")
"""Suffixes of variables whose values, or whose addresses' passwords, are hidden."""
SHORTEST = 6
"""Shorter values are not hidden, because they occur in ordinary words."""
LARGEST_SHOWN = 65_536
"""Most bytes of an answer used in a message."""
ROUNDS = 4
"""Number of escape layers to decode."""
_BACKSLASH = (
    r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<json>[0-9a-fA-F]{4})|\\x(?P<python>[0-9a-fA-F]{2})|\\(?P<one>.)"
)
_URL = r"(?P<url>(?:%[0-9a-fA-F]{2})+)"
_HTML = r"(?P<html>&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z]+);?)"
_ESCAPES = tuple(
    re.compile(kind, re.DOTALL) for kind in (f"{_BACKSLASH}|{_URL}|{_HTML}", _BACKSLASH, _URL, _HTML)
)
"""All escapes, and each kind alone: a secret may itself contain what looks like another kind's escape."""
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def redact(text: str) -> str:
    """Replace every form of every secret by asterisks."""
    hidden = secrets()
    spans = sorted(set(_spans(text, _targets(hidden)))) if hidden else []
    pieces, end = [], 0
    for start, stop in spans:
        if start >= end:
            pieces += [text[end:start], MASK]
        end = max(end, stop)
    return "".join((*pieces, text[end:])) if spans else text


def redact_answer(content: bytes) -> str:
    """The beginning of a server's answer as text; no part of a secret remains at the cut."""
    text = redact(content[:LARGEST_SHOWN].decode(errors="replace"))
    if len(content) > LARGEST_SHOWN:
        longest = max(map(len, secrets()), default=0)
        text = text[: max(len(text) - 8 * longest, 0)]
    return text.strip()


def secrets() -> frozenset[str]:
    """The keys and passwords that are set, in the environment, `.env` or by `bakeoff servers up`."""
    values: set[str] = set()
    listed = allowed_keys()
    for name, value in all_settings():
        upper = name.upper()
        if upper.endswith(SECRET) or name in listed:
            values.add(value.strip())
        elif upper.endswith(ADDRESS):
            values |= set(_of_address(value.strip()))
    return frozenset(secret for secret in values if len(secret) >= SHORTEST)


def _of_address(value: str) -> Iterator[str]:
    """Passwords in an address: of its user, and in a keyword DSN."""
    yield from re.findall(r"password\s*=\s*'?([^\s'&]+)", value)
    try:
        at = urlsplit(value)
        password, query = at.password or "", parse_qsl(at.query)
    except ValueError:
        return
    yield from (password, unquote(password))
    yield from (secret for name, secret in query if name.upper().endswith(SECRET))


def _spans(text: str, targets: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Positions of a target in the text, verbatim or escaped."""
    for escape in _ESCAPES:
        plain, places = text, list(range(len(text) + 1))
        for _ in range(ROUNDS + 1):
            for target in targets:
                at = plain.find(target)
                while at >= 0:
                    yield places[at], places[at + len(target)]
                    at = plain.find(target, at + 1)
            if not escape.search(plain):
                break
            plain, places = _unescape(plain, places, escape)


def _unescape(text: str, places: list[int], escape: re.Pattern[str]) -> tuple[str, list[int]]:
    """Decode one layer of escapes, keeping each character's position in the original text."""
    pieces: list[str] = []
    begins: list[int] = []
    end = 0
    for match in escape.finditer(text):
        pieces.append(text[end : match.start()])
        begins += places[end : match.start()]
        for character, offset in _characters(match):
            pieces.append(character)
            begins.append(places[match.start() + offset])
        end = match.end()
    return "".join((*pieces, text[end:])), begins + places[end:]


def _characters(match: re.Match[str]) -> Iterator[tuple[str, int]]:
    """Characters of an escape, each with its position."""
    name = match.lastgroup or ""
    if name == "low":
        pair = bytes.fromhex(match["high"] + match["low"])
        yield pair.decode("utf-16-be"), 0
    elif name in ("json", "python"):
        yield chr(int(match[name], 16)), 0
    elif name == "one":
        yield _SHORT.get(match["one"], match["one"]), 0
    elif name == "url":
        offset = 0
        for character in bytes.fromhex(match["url"].replace("%", "")).decode(errors="surrogateescape"):
            yield character, offset
            offset += 3 * len(character.encode(errors="surrogateescape"))
    else:
        yield from ((character, 0) for character in html.unescape(match["html"]))


@lru_cache(maxsize=8)
def _targets(secrets: frozenset[str]) -> tuple[str, ...]:
    """All texts to search for."""
    return tuple(dict.fromkeys(form for secret in sorted(secrets) for form in _forms(secret)))


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogateescape")
    yield from (secret, secret.replace(" ", "+"), raw.hex(), raw.hex().upper())
    for shift in range(3):
        core = _base64_core(raw, shift)
        yield from (core, core.translate({ord("+"): "-", ord("/"): "_"}))


def _base64_core(raw: bytes, shift: int) -> str:
    """The base64 digits that depend on the secret alone when `shift` bytes precede it in a group of three."""
    text = b64encode(bytes(shift) + raw).decode().rstrip("=")
    first = (0, 2, 3)[shift]
    last = len(text) - (1 if (shift + len(raw)) % 3 else 0)
    return text[first:last]
