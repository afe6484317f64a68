"""TREC topics: <top> blocks, <topic number="…"> elements, or lines of id, tab, text."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.truth.importers.draft import ImportLog
from bakeoff.truth.importers.textfile import lines, read_text

_TOP = re.compile(r"<top>(.*?)</top>", re.DOTALL)
_TAG = re.compile(r"^[ \t]*<(\w+)>", re.MULTILINE)
_WORDS = re.compile(r"^(?:Number|Topic|Description|Narrative)\s*:", re.IGNORECASE)
_TOPIC = re.compile(r"<topic\s+number\s*=\s*[\"']([^\"']*)[\"'][^>]*>(.*?)</topic>", re.DOTALL)
_CHILD = re.compile(r"<(\w+)[^>]*>(.*?)</\1>", re.DOTALL)
_WRAP = re.compile(r"<\?xml[^>]*>|</?topics[^>]*>|<!--.*?-->|<!DOCTYPE[^>]*>", re.DOTALL)
TEXT_FIELDS = ("title", "query", "question", "desc", "text")
"""Query fields in order of preference."""
ALIASES = {"desc": "description", "narr": "narrative", "description": "desc", "narrative": "narr"}


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: its fields by name, and its location."""

    id: str
    fields: dict[str, str]
    where: str


def read_topics(path: Path) -> list[Topic]:
    """The topics of a file."""
    text = read_text(path)
    if re.search(r"<top>", text):
        return list(_blocks(text, path))
    if re.search(r"<topic\s", text):
        return list(_elements(text, path))
    return list(_rows(text, path))


def text_fields(topics: Sequence[Topic], field: str, ledger: ImportLog) -> list[str]:
    """The text field of each topic: the requested one, or the first usual one it has."""
    if not topics:
        return []
    order = [field, ALIASES.get(field, ""), *TEXT_FIELDS] if field else list(TEXT_FIELDS)
    fields = [next((name for name in order if topic.fields.get(name)), "") for topic in topics]
    for topic, name in zip(topics, fields, strict=True):
        if not name:
            raise DataError(
                f"{topic.where}: topic {topic.id!r} has none of {', '.join(TEXT_FIELDS)}. Add a title."
            )
    counts = Counter(fields)
    if field and not any(counts[name] for name in order[:2]):
        available = ", ".join(
            dict.fromkeys(name for topic in topics for name, value in topic.fields.items() if value)
        )
        raise DataError(
            f"no topic has a field {field!r}. Fields with a text: {available}. Choose one with --field."
        )
    usual = next((name for name in order[:2] if counts[name]), "") if field else counts.most_common(1)[0][0]
    _attend_mixed(topics, fields, usual, ledger)
    return fields


def _attend_mixed(topics: Sequence[Topic], fields: Sequence[str], usual: str, ledger: ImportLog) -> None:
    """Report topics without text in the usual field: a query from another field has another length."""
    for name in dict.fromkeys(name for name in fields if name != usual):
        others = [topic.id for topic, own in zip(topics, fields, strict=True) if own == name]
        text = f"{len(others):,} of {len(topics):,} topics have no text in {usual}; theirs is from {name}."
        for identity in others:
            ledger.attend(f"{text} Choose a field that all have with --field.", identity)


def _blocks(text: str, path: Path) -> Iterator[Topic]:
    for start, block in _matches(_TOP, text, path, ""):
        where = f"{path.name}, line {_line(text, start)}"
        fields = _block_fields(block[0])
        if not fields.get("num"):
            raise DataError(f"{where}: a topic without <num>. Add its number.")
        yield Topic(fields.pop("num"), fields, where)


def _block_fields(block: str) -> dict[str, str]:
    marks = list(_TAG.finditer(block))
    ends = [*(mark.start() for mark in marks[1:]), len(block)]
    fields = {}
    for mark, end in zip(marks, ends, strict=False):
        value = block[mark.end() : end].replace(f"</{mark[1]}>", "").strip()
        fields[mark[1]] = _WORDS.sub("", value).strip()
    return fields


def _elements(text: str, path: Path) -> Iterator[Topic]:
    for start, (number, inside) in _matches(_TOPIC, text, path, _WRAP):
        where = f"{path.name}, line {_line(text, start)}"
        if _CHILD.sub("", inside).strip() or not number.strip():
            raise DataError(f"{where}: a topic that is not made of elements, or has no number. Correct it.")
        fields = {name: html.unescape(value).strip() for name, value in _CHILD.findall(inside)}
        yield Topic(number.strip(), fields, where)


def _rows(text: str, path: Path) -> Iterator[Topic]:
    for number, line in lines(text):
        where = f"{path.name}, line {number}"
        name, tab, rest = line.partition("\t")
        if not tab or not name.strip() or not rest.strip():
            raise DataError(
                f"{where}: neither <top>, <topic number=…> nor id, tab, text. Give a file of topics."
            )
        yield Topic(name.strip(), {"text": rest.strip()}, where)


def _matches(
    pattern: re.Pattern[str], text: str, path: Path, ignored: re.Pattern[str] | str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield every match with its start; anything but whitespace between matches is an error with its line."""
    end = 0
    for match in [*pattern.finditer(text), None]:
        between = text[end : match.start() if match else None]
        left = re.sub(ignored, lambda found: " " * len(found[0]), between) if ignored else between
        if left.strip():
            at = end + len(left) - len(left.lstrip())
            raise DataError(
                f"{path.name}, line {_line(text, at)}: {left.strip()[:40]!r} is in no topic. Correct it."
            )
        if match:
            yield match.start(), match.groups()
            end = match.end()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
