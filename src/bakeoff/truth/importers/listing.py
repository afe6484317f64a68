"""Files with a list of queries and some metadata, in YAML or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.config import yaml_document
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import DataError
from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog
from bakeoff.truth.importers.fields import Fields
from bakeoff.types import Json, JsonObject

_TOTAL = ("total", "total_queries")
_LEVELS = ("easy", "medium", "hard")


def one_file(paths: Sequence[Path], format_: str) -> Path:
    """The file of a format that takes exactly one."""
    if len(paths) != 1:
        raise DataError(f"{format_} is one file, but {len(paths)} are given. Import them one by one.")
    return paths[0]


def read_located(path: Path) -> YamlDocument:
    """The content of a YAML or JSON file with its lines."""
    return yaml_document.read(path, DataError, name=path.name)


class Listing:
    """The items of a file, and its other keys."""

    def __init__(self, located: YamlDocument, ledger: ImportLog, lists: Sequence[str]) -> None:
        self._located, self._ledger = located, ledger
        data = located.data
        if isinstance(data, list):
            self._at: Keys = ()
            return
        names = [name for name in lists if isinstance(data, dict) and isinstance(data.get(name), list)]
        if not names:
            expected = " or ".join(lists)
            raise DataError(
                f"{located.name}, line 1: no list {expected}. Give a file that has one, or choose another format."
            )
        self._at = (names[0],)

    def items(self) -> Iterator[Fields]:
        """Each item's fields."""
        rows = self._located.data[self._at[0]] if self._at else self._located.data
        for place in range(len(rows)):
            yield Fields(self._located, (*self._at, place), self._ledger)

    def metadata(self, queries: Sequence[ImportDraft]) -> JsonObject:
        """The file's metadata, in our words where possible, the rest under extra."""
        if not self._at:
            return {}
        others = {key: value for key, value in self._located.data.items() if key != self._at[0]}
        return file_metadata(self._located, others, queries, self._ledger)


def read_listing(
    paths: Sequence[Path],
    format_: str,
    lists: Sequence[str],
    draft: Callable[[Fields, ImportLog], ImportDraft],
) -> ImportedQueries:
    """Queries of a file that is a list, or has one under one of these names."""
    path, ledger = one_file(paths, format_), ImportLog()
    listing = Listing(read_located(path), ledger, lists)
    drafts = [draft(item, ledger) for item in listing.items()]
    return ledger.collect(format_, (path,), listing.metadata(drafts), drafts)


def file_metadata(
    located: YamlDocument, others: Mapping[str, Json], queries: Sequence[ImportDraft], ledger: ImportLog
) -> dict[str, object]:
    """Metadata of a query file from the other keys of a source."""
    metadata: JsonObject = {}
    extra = {key: value for key, value in others.items() if key != "metadata"}
    for key in extra:
        ledger.note_moved(key, "metadata.extra")
    if isinstance(others.get("metadata"), dict):
        own = Fields(located, ("metadata",), ledger, "metadata.")
        metadata = {
            name: own.text([name], f"metadata.{name}")
            for name in ("name", "description", "version")
            if own.has(name)
        }
        metadata |= _total(own, queries, ledger) | _declared_mix(own, queries)
        extra = {**own.values("metadata.extra"), **extra}
    elif "metadata" in others:
        ledger.note_moved("metadata", "metadata.extra")
        extra = {"metadata": others["metadata"], **extra}
    return {**metadata, "extra": extra} if extra else metadata


def _declared_mix(own: Fields, queries: Sequence[ImportDraft]) -> JsonObject:
    """Declared category counts and difficulty shares, if they use the queries' words."""
    declared: JsonObject = {}
    counts, mix = own.peek("categories"), own.peek("difficulty_mix")
    named = isinstance(counts, dict) and {query.category for query in queries} <= set(counts)
    if named and all(type(count) is int for count in counts.values()):
        declared["categories"] = own.take(["categories"], "metadata.categories")[1]
    if isinstance(mix, dict) and all(level in _LEVELS and _is_share(share) for level, share in mix.items()):
        declared["difficulty_mix"] = own.take(["difficulty_mix"], "metadata.difficulty_mix")[1]
    return declared


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _total(own: Fields, queries: Sequence[ImportDraft], ledger: ImportLog) -> dict[str, object]:
    total = own.count(_TOTAL, "metadata.total")
    if total is None:
        return {}
    if total != len(queries):
        ledger.attend(f"the file says it has {total} queries; {len(queries)} were found in it.")
    return {"total": total}
