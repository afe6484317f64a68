"""Queries over a code base: expected files, and where in them the answer is (S2-9, S2-10)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bakeoff.truth.importers.draft import (
    ImportDraft,
    ImportedQueries,
    ImportLog,
    ImportOptions,
    TruthValue,
    made_id,
)
from bakeoff.truth.importers.fields import Fields, as_tag, documents_or_unjudged, draft_query
from bakeoff.truth.importers.listing import read_listing
from bakeoff.truth.importers.rules import combine_rules, documents
from bakeoff.types import JsonObject

FORMAT = "code"
_FILE = ("file", "path", "document", "file_path")
_FROM = ("start_line", "line_start", "start", "from", "first")
_TO = ("end_line", "line_end", "end", "to", "last")
_DASH = re.compile(r"L?(\d+)(?:\s*[-–:]\s*L?(\d+))?")


def import_code(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:  # noqa: ARG001 - every importer takes options
    """The queries of a code search benchmark."""
    return read_listing(paths, FORMAT, ("queries",), _draft)


def _draft(item: Fields, ledger: ImportLog) -> ImportDraft:
    text = item.text(["query", "text"], "text", required=True)
    name = item.text(["id"], "id") or made_id(text)
    truth, unplaced = _truth(item, name, ledger)
    return draft_query(
        item,
        ledger,
        name=name,
        text=text,
        truth=truth,
        category=["query_type", "category"],
        notes=["description"],
        tags=unplaced,
    )


def _truth(item: Fields, query: str, ledger: ImportLog) -> tuple[TruthValue, dict[str, str]]:
    files = item.texts(["expected_files"], "truth.documents")
    words = item.texts(["answer_keywords"], "truth.keywords")
    ranges, unplaced = _ranges(item, files, query, ledger)
    rules = [documents(files, exact=False)] if files else []
    if words:
        rules.append(_keywords(words, files))
        ledger.attend(
            "keywords became answer spans: every line of an expected file that holds one of them, the same under"
            " every chunker. Remove keywords that are too common.",
            query,
        )
    if ranges:
        rules.append({"lines": ranges})
    if rules:
        return combine_rules(rules), unplaced
    return documents_or_unjudged([], query, "no expected file is named", ledger, exact=False), unplaced


def _keywords(words: list[str], files: list[str]) -> JsonObject:
    rule = {"keywords": {"any": words, "match": "substring"}, "over": "lines"}
    return {"all": [documents(files, exact=False), rule]} if files else rule


def _ranges(
    item: Fields, files: list[str], query: str, ledger: ImportLog
) -> tuple[list[dict[str, object]], dict[str, str]]:
    """The line ranges of an answer, and ranges without a file if several files are expected."""
    found: list[JsonObject] = []
    unplaced: dict[str, str] = {}
    for field in ("answer_lines", "answer_regions"):
        name, value = item.take([field], "truth.lines")
        if value is None:
            continue
        file = files[0] if len(files) == 1 else ""
        ranges = _parse_ranges(value, file, item, name)
        if all(entry["document"] for entry in ranges):
            found += ranges
        else:
            ledger.attend(f"{name} names no file and {len(files)} are expected; kept as a tag.", query)
            unplaced[name] = as_tag(value)
    return [entry for i, entry in enumerate(found) if entry not in found[:i]], unplaced


def _parse_ranges(value: object, file: str, item: Fields, name: str) -> list[dict[str, object]]:
    """Line ranges in any notation: [4, 9], "4-9", {file, start, end}, {file: [[4, 9]]}."""
    if isinstance(value, dict):
        return _mapping(value, file, item, name)
    if isinstance(value, int) and not isinstance(value, bool):
        return [_range(file, value, value, item, name)]
    if isinstance(value, str) and (match := _DASH.fullmatch(value.strip())):
        return [_range(file, int(match[1]), int(match[2] or match[1]), item, name)]
    if isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
        return [_range(file, value[0], value[1], item, name)]
    if isinstance(value, list):
        return [entry for part in value for entry in _parse_ranges(part, file, item, name)]
    raise item.wrong(name, value, "lines such as [4, 9], 4-9 or {file: a.rs, start_line: 4, end_line: 9}")


def _mapping(value: JsonObject, file: str, item: Fields, name: str) -> list[JsonObject]:
    own = next((str(value[key]) for key in _FILE if key in value), file)
    first, last = (next((value[key] for key in keys if key in value), None) for keys in (_FROM, _TO))
    if first is None and not any(key in value for key in _FILE):
        return [entry for path, part in value.items() for entry in _parse_ranges(part, path, item, name)]
    if "lines" in value and set(value) <= {*_FILE, "lines"}:
        return _parse_ranges(value["lines"], own, item, name)
    if set(value) - {*_FILE, *_FROM, *_TO} or type(first) is not int or type(last or first) is not int:
        raise item.wrong(name, value, "a region {file: a.rs, start_line: 4, end_line: 9}")
    return [_range(own, first, last or first, item, name)]


def _range(file: str, first: int, last: int, item: Fields, name: str) -> dict[str, object]:
    if not 1 <= first <= last:
        raise item.wrong(name, [first, last], "a range of lines from 1 upwards")
    return {"document": file, "from": first, "to": last}
