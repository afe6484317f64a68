"""test_cases.json: queries with the ids of relevant documents (S3-2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog, ImportOptions, made_id
from bakeoff.truth.importers.fields import Fields, documents_or_unjudged, draft_query
from bakeoff.truth.importers.listing import read_listing

FORMAT = "vectordb"
_LISTS = ("test_cases", "queries", "cases", "questions")


def import_vectordb(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:  # noqa: ARG001 - every importer takes options
    """The queries of a file of test cases."""
    return read_listing(paths, FORMAT, _LISTS, _draft)


def _draft(item: Fields, ledger: ImportLog) -> ImportDraft:
    text = item.text(["query", "question", "text", "query_text"], "text", required=True)
    name = item.text(["id", "query_id", "test_id"], "id") or made_id(text)
    ids = item.texts(["relevant_doc_ids"], "truth.documents")
    truth = documents_or_unjudged(ids, name, "relevant_doc_ids is empty", ledger, exact=True)
    return draft_query(item, ledger, name=name, text=text, truth=truth, notes=["notes"])
