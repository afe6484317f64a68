"""gold_queries.yaml: six categories of queries with SQL, reports, signals and sections (S4-8 to S4-24)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import DataError
from bakeoff.presets.goldsql.truth import Context, statements, truth_of
from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog, ImportOptions
from bakeoff.truth.importers.fields import Fields, as_tag, difficulty, merge_tags
from bakeoff.truth.importers.listing import file_metadata, one_file, read_located
from bakeoff.truth.minimums import ACCURACY

FORMAT = "goldsql"
_UNIVERSAL = ("universal_valid_sections", "universal_sections")
_NAMELESS = ("queries", "gold_queries")
_MARKS = {"query", "query_text", "question", "ground_truth"}
"""Fields that identify a list of queries."""


def import_goldsql(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:
    """The queries of all categories of a file."""
    path = one_file(paths, FORMAT)
    located, ledger = read_located(path), ImportLog()
    if not isinstance(located.data, dict):
        raise DataError(
            f"{located.name}, line 1: not a mapping of categories to queries. Choose another format."
        )
    lists = [key for key, value in located.data.items() if _is_queries(value)]
    taken, universal = _universal(located, lists, ledger)
    context = Context(options, universal, ledger)
    drafts = [_draft(located, at, category, context) for at, category in _items(located, lists)]
    others = {key: value for key, value in located.data.items() if key not in (*lists, taken)}
    metadata = file_metadata(located, others, drafts, ledger)
    if re.search(r"^\s*#", path.read_text(encoding="utf-8"), re.MULTILINE):
        ledger.attend("comments of the source file are not imported.")
    return ledger.collect(FORMAT, (path,), metadata, drafts)


def _is_queries(value: object) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and bool(_MARKS & set(first))


def _items(located: YamlDocument, lists: Sequence[str]) -> Iterator[tuple[Keys, str]]:
    """The position of each query and its category, the name of its list."""
    for key in lists:
        category = "" if key in _NAMELESS else key.removesuffix("_queries")
        yield from (((key, place), category) for place in range(len(located.data[key])))


def _universal(located: YamlDocument, lists: Sequence[str], ledger: ImportLog) -> tuple[str, tuple[str, ...]]:
    """The key and names of sections valid for every section query, if any query has sections."""
    key = next((key for key in _UNIVERSAL if key in located.data), "")
    if not key or not any(_has_sections(row) for name in lists for row in located.data[name]):
        return "", ()
    names = located.data[key]
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise DataError(f"{located.where((key,))}: {key} is not a list of section names. Correct it.")
    ledger.note_moved(key, "truth.sections.universal")
    ledger.attend(
        f"{key}: its {len(names)} names are in every section rule and widen SecAcc there, in the place of the"
        " universal sections of the conventions. Compare the two lists."
    )
    return key, tuple(dict.fromkeys(names))


def _has_sections(row: Any) -> bool:
    inner = row.get("ground_truth", row) if isinstance(row, dict) else {}
    return isinstance(inner, dict) and any(name.endswith("_sections") for name in inner)


def _draft(located: YamlDocument, at: Keys, category: str, context: Context) -> ImportDraft:
    ledger = context.ledger
    item = Fields(located, at, ledger)
    where, inner = item.where(), _inner(item, located, at, ledger)
    name = item.text(["id", "query_id"], "id", required=True)
    text = item.text(["query", "query_text", "question", "text"], "text", required=True)
    category = item.text(["category"], "category") or category
    level, as_written = difficulty(item.text(["difficulty"], "difficulty"), ledger, name)
    intent, notes = item.text(["intent"], "intent"), item.text(["notes", "note"], "notes")
    said = statements(inner, name, context)
    tags = _marks(inner)
    negative = (
        inner.peek("expected_chunk_count") == 0 or inner.take(["negative"], "truth.negative")[1] is True
    )
    truth, kept = truth_of(category, said, negative, name, ledger)
    left = inner.rest() if inner is not item else {}
    all_tags = merge_tags(as_written, kept, tags, left, item.rest())
    return ImportDraft(
        id=name,
        text=text,
        truth=truth,
        where=where,
        category=category,
        difficulty=level,
        intent=intent,
        notes=notes,
        tags=all_tags,
    )


def _inner(item: Fields, located: YamlDocument, at: Keys, ledger: ImportLog) -> Fields:
    """The fields of the truth: under ground_truth, or at the top level."""
    if not isinstance(item.peek("ground_truth"), dict):
        return item
    item.take(["ground_truth"])
    return Fields(located, (*at, "ground_truth"), ledger, "ground_truth.")


def _marks(inner: Fields) -> dict[str, str]:
    """A query's minimum section accuracy, under the name that reports use."""
    key, value = inner.take(ACCURACY, "tags.min_accuracy")
    return {ACCURACY[0]: as_tag(value)} if key else {}
