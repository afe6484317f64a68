"""test_cases.json: queries with the ids of relevant documents (S3-2)."""

from __future__ import annotations

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
from bakeoff.truth.importers.fields import Fields, difficulty, merge_tags
from bakeoff.truth.importers.listing import read_listing
from bakeoff.truth.importers.rules import documents

FORMAT = "vectordb"
_LISTS = ("test_cases", "queries", "cases", "questions")


def import_vectordb(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:  # noqa: ARG001 - every importer takes options
    """The queries of a file of test cases."""
    return read_listing(paths, FORMAT, _LISTS, _draft)


def _draft(item: Fields, ledger: ImportLog) -> ImportDraft:
    where = item.where()
    text = item.text(["query", "question", "text", "query_text"], "text", required=True)
    name = item.text(["id", "query_id", "test_id"], "id") or made_id(text)
    truth = _truth(item.texts(["relevant_doc_ids"], "truth.documents"), name, ledger)
    level, as_written = difficulty(item.text(["difficulty"], "difficulty"), ledger, name)
    category, intent = item.text(["category"], "category"), item.text(["intent"], "intent")
    notes = item.text(["notes"], "notes")
    return ImportDraft(
        id=name,
        text=text,
        truth=truth,
        where=where,
        category=category,
        difficulty=level,
        intent=intent,
        notes=notes,
        tags=merge_tags(as_written, item.rest()),
    )


def _truth(ids: list[str], query: str, ledger: ImportLog) -> TruthValue:
    if ids:
        return documents(ids)
    ledger.attend(
        "relevant_doc_ids is empty; written as unjudged. Write negative if nothing answers it.", query
    )
    return "unjudged"
