"""Builds values and their lines from YAML parser events, controlling depth, aliases and duplicate keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import yaml

from bakeoff.errors import UserError
from bakeoff.types import Json, JsonObject

MAX_DEPTH = 64
MAX_ALIASED = 100_000
"""Most values that aliases may expand to; more indicates a YAML bomb."""

_INT = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_TAGS = {"str", "int", "float", "bool", "null", "map", "seq"}


class SourcePosition(NamedTuple):
    """Line of a value, from 1, and the positions of its contents."""

    line: int
    inside: dict[str, SourcePosition] | list[SourcePosition] | None = None


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class Builder:
    """Builds the values and positions of one file from its parser events."""

    def __init__(self, name: str, error: type[UserError], events: Iterator[object]) -> None:
        self.name = name
        self.error = error
        self.events = events
        self.anchors: dict[str, tuple[object, SourcePosition, int]] = {}
        self.count = 0
        self.aliased = 0

    def document(self) -> tuple[Json, SourcePosition]:
        """The one document of the file."""
        event = next(self.events)
        while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            raise self.error(f"{self.name} is empty. Write something into it.")
        value, place = self.node(event, 0)
        next(self.events)
        if isinstance(event := next(self.events), yaml.DocumentStartEvent):
            self.fail(event, "a second document starts here (---). Keep one document in a file.")
        return value, place

    def node(self, event: Any, depth: int) -> tuple[Json, SourcePosition]:
        """The value that starts with an event."""
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        self.count += 1
        before = self.count
        result = self.value(event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (*result, self.count - before + 1)
        return result

    def value(self, event: Any, depth: int) -> tuple[Json, SourcePosition]:
        """The value that starts with an event other than an alias."""
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event), SourcePosition(_line(event))
        if depth >= MAX_DEPTH:
            self.fail(event, f"nested more than {MAX_DEPTH} levels deep. Flatten the file.")
        self.known_tag(event)
        is_map = isinstance(event, yaml.MappingStartEvent)
        return self.mapping(event, depth) if is_map else self.sequence(event, depth)

    def alias(self, event: Any) -> tuple[Json, SourcePosition]:
        """Value of an alias, counted with all its contents."""
        if event.anchor not in self.anchors:
            self.fail(
                event,
                f"alias *{event.anchor} has no finished anchor above it. Define it first.",
            )
        value, place, weight = self.anchors[event.anchor]
        self.aliased += weight
        self.count += weight
        if self.aliased > MAX_ALIASED:
            self.fail(
                event,
                f"aliases expand to more than {MAX_ALIASED:,} values. Use `defaults`.",
            )
        return value, place

    def mapping(self, start: object, depth: int) -> tuple[dict[str, object], SourcePosition]:
        """A mapping; every key is a text and occurs once."""
        values: JsonObject = {}
        places: dict[str, SourcePosition] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self.key(event)
            value, place = self.node(next(self.events), depth + 1)
            line = _line(event)
            if key in values:
                self.fail(event, f'key "{key}" occurs twice, first in line {places[key].line}. Remove one.')
            values[key] = value
            places[key] = SourcePosition(line, place.inside)
        return values, SourcePosition(_line(start), places)

    def sequence(self, start: object, depth: int) -> tuple[list[object], SourcePosition]:
        """A list."""
        values: list[Json] = []
        places: list[SourcePosition] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            value, place = self.node(event, depth + 1)
            values.append(value)
            places.append(place)
        return values, SourcePosition(_line(start), places)

    def key(self, event: Any) -> str:
        """The text of a mapping key."""
        if not isinstance(event, yaml.ScalarEvent):
            self.fail(
                event,
                "a key must be a text. Quote a text that starts with [ { or *.",
            )
        if event.value == "<<" and event.implicit[0]:
            self.fail(event, "merge keys (<<) are not read. Repeat the keys, or use `defaults`.")
        return str(event.value)

    def scalar(self, event: Any) -> str | int | float | bool | None:
        """The value of a scalar: a text if quoted, else what YAML 1.2 reads."""
        text: str = event.value
        plain = event.implicit[0] if event.tag is None else self.known_tag(event) != "str"
        if not plain:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return self.integer(event, text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def integer(self, event: object, text: str) -> int:
        """A whole number in base 10, 16 (0x) or 8 (0o)."""
        if len(text) > 40:
            self.fail(event, f"a number of {len(text)} digits. Quote it if it is a text.")
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)

    def known_tag(self, event: Any) -> str:
        """Short name of a standard tag; others are rejected, since they could create objects."""
        if event.tag is None or event.tag == "!":
            return "str"
        short = str(event.tag).removeprefix("tag:yaml.org,2002:")
        if short not in _TAGS:
            self.fail(event, f"tag {event.tag!r} is not read. Remove it and write the value plainly.")
        return short

    def fail(self, event: Any, message: str) -> NoReturn:
        """Raise the file's error with the line of an event."""
        raise self.error(f"{self.name}, line {_line(event)}: {message}")
