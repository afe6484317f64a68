"""The fields of one mapping in a source file: fields not taken are kept, so nothing is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from bakeoff.config.pydantic_messages import shorten
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import DataError
from bakeoff.truth.importers.draft import ImportDraft, ImportLog, TruthValue
from bakeoff.truth.importers.rules import documents
from bakeoff.types import JsonObject

_LEVELS = {
    "easy": ("easy", "simple", "low", "trivial", "beginner"),
    "medium": ("medium", "moderate", "intermediate", "normal", "average"),
    "hard": ("hard", "difficult", "complex", "high", "expert", "extrahard", "veryhard"),
}
DIFFICULTY = {word: level for level, words in _LEVELS.items() for word in words}
AS_WRITTEN = "difficulty_as_written"
EMPTY = "(it is empty)"
_COUNT = re.compile(r"~?\s*[0-9][0-9,_]*")


class Fields:
    """A mapping at a path of a file; `names` in the account start with its prefix."""

    def __init__(self, located: YamlDocument, path: Keys, ledger: ImportLog, prefix: str = "") -> None:
        self._located, self._path, self._ledger, self._prefix = located, path, ledger, prefix
        value = located.data
        for part in path:
            value = value[part]
        if not isinstance(value, dict):
            raise DataError(f"{self.where()}: {shorten(value)} is not a mapping of fields. Correct it.")
        self._left: JsonObject = dict(value)

    def where(self, key: str | None = None) -> str:
        """ "gold.yaml, line 14" for this mapping or one of its fields."""
        return self._located.where(self._path if key is None else (*self._path, key))

    def has(self, *names: str) -> bool:
        """Whether one of these fields exists and was not taken yet."""
        return any(name in self._left for name in names)

    def peek(self, name: str) -> Any:
        """A field's value, without taking it; None if missing."""
        return self._left.get(name)

    def name(self, key: str) -> str:
        """A field's name in the account."""
        return f"{self._prefix}{key}"

    def take(self, names: Iterable[str], to: str = "") -> tuple[str, object]:
        """Take the first of these fields that exists, with its name; without `to`, its target is recorded later."""
        for name in names:
            if name in self._left:
                empty = self._left[name] is None or self._left[name] == []
                if to or empty:
                    self._ledger.note_moved(self.name(name), EMPTY if empty else to)
                return name, self._left.pop(name)
        return "", None

    def text(self, names: Iterable[str], to: str, required: bool = False) -> str:
        """Take a text field; numbers are accepted as texts."""
        choices = tuple(names)
        name, value = self.take(choices, to)
        if value is None:
            if required:
                raise DataError(f"{self.where()}: no field {' or '.join(choices)}. Add it.")
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(name, value, "a text")
        if required and not str(value).strip():
            raise DataError(f"{self.where(name)}: {name} is blank. Write a text.")
        return str(value)

    def texts(self, names: Iterable[str], to: str) -> list[str]:
        """Take a field with a list of texts, or one text; [] if missing."""
        name, value = self.take(names, to)
        return self.as_list(name, value)

    def as_list(self, name: str, value: object) -> list[str]:
        """A value as a list of distinct texts."""
        values = value if isinstance(value, list) else [] if value is None else [value]
        for item in values:
            if isinstance(item, bool) or not isinstance(item, str | int | float) or not str(item).strip():
                raise self.wrong(name, item, "a list of texts")
        return list(dict.fromkeys(map(str, values)))

    def count(self, names: Iterable[str], to: str) -> int | None:
        """A field with a whole number, which may be written `~76` or `1,621`."""
        name, value = self.take(names, to)
        return None if value is None else self.as_count(name, value)

    def as_count(self, name: str, value: Any) -> int:
        """A value that is a whole number."""
        if not is_count(value):
            raise self.wrong(name, value, "a whole number")
        return value if isinstance(value, int) else int(re.sub(r"[~,_\s]", "", value))

    def rest(self) -> dict[str, str]:
        """Fields not taken, as tags."""
        tags = {}
        for name in list(self._left):
            key = name.strip() or "blank"
            self._ledger.note_moved(self.name(name), f"tags.{key}")
            tags[key] = as_tag(self._left.pop(name))
        return tags

    def values(self, target: str) -> JsonObject:
        """Fields not taken, unchanged."""
        for name in self._left:
            self._ledger.note_moved(self.name(name), target)
        left, self._left = self._left, {}
        return left

    def wrong(self, name: str, value: Any, expected: str) -> DataError:
        """The error for a field of the wrong type."""
        return DataError(f"{self.where(name)}: {name} is {shorten(value)}, not {expected}. Correct it.")


def is_count(value: object) -> bool:
    """Whether a value is a whole number of things, which may be written `~76` or `1,621`."""
    if isinstance(value, str):
        return _COUNT.fullmatch(value.strip()) is not None
    return type(value) is int and value >= 0


def as_tag(value: Any) -> str:
    """A value as the text of a tag: texts unchanged, short lists with commas, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(v, str) and v and "," not in v for v in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def difficulty(written: str, ledger: ImportLog, query: str) -> tuple[str, dict[str, str]]:
    """Our word for a difficulty ('' if none), and the original word if it differs."""
    if not written:
        return "", {}
    level = DIFFICULTY.get(re.sub(r"[\s_-]", "", written.lower()), "")
    if not level:
        words = ", ".join(sorted(DIFFICULTY))
        ledger.attend(
            f"difficulty {written!r} is none of {words}; it is kept as a tag. Set easy, medium or hard.",
            query,
        )
    if level == written:
        return level, {}
    ledger.note_moved("difficulty", f"tags.{AS_WRITTEN}")
    return level, {AS_WRITTEN: written}


def merge_tags(*parts: dict[str, str]) -> dict[str, str]:
    """Merge tags; a repeated name gets the prefix `source.`, so that no value is lost."""
    tags: dict[str, str] = {}
    for part in parts:
        for name, value in part.items():
            key = name
            while key in tags and tags[key] != value:
                key = f"source.{key}"
            tags[key] = value
    return tags


def draft_query(
    item: Fields,
    ledger: ImportLog,
    *,
    name: str,
    text: str,
    truth: TruthValue,
    category: Sequence[str] = ("category",),
    notes: Sequence[str] = (),
    tags: dict[str, str] | None = None,
) -> ImportDraft:
    """A query with the labels of its mapping; `category` and `notes` name their fields, other fields become tags."""
    level, as_written = difficulty(item.text(["difficulty"], "difficulty"), ledger, name)
    return ImportDraft(
        id=name,
        text=text,
        truth=truth,
        where=item.where(),
        difficulty=level,
        category=item.text(category, "category"),
        intent=item.text(["intent"], "intent"),
        notes=item.text(notes, "notes"),
        tags=merge_tags(as_written, tags or {}, item.rest()),
    )


def documents_or_unjudged(
    files: list[str], query: str, missing: str, ledger: ImportLog, *, exact: bool
) -> TruthValue:
    """A rule that names documents; without any, the query is unjudged and `missing` is reported."""
    if files:
        return documents(files, exact=exact)
    ledger.attend(f"{missing}; written as unjudged. Write negative if nothing answers it.", query)
    return "unjudged"
