"""embedding_ground_truth.json: queries with the files that answer them (S0-10 to S0-13)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog, ImportOptions, TruthValue
from bakeoff.truth.importers.fields import Fields, difficulty, merge_tags
from bakeoff.truth.importers.listing import read_listing
from bakeoff.truth.importers.rules import documents

FORMAT = "lineage"


def import_lineage(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:  # noqa: ARG001 - every importer takes options
    """The queries of a file of paths that are called chunks."""
    return read_listing(paths, FORMAT, ("queries",), _draft)


def _draft(item: Fields, ledger: ImportLog) -> ImportDraft:
    where = item.where()
    name = item.text(["id"], "id", required=True)
    text = item.text(["query"], "text", required=True)
    truth = _truth(item.texts(["relevant_chunks"], "truth.documents"), name, ledger)
    level, as_written = difficulty(item.text(["difficulty"], "difficulty"), ledger, name)
    category, intent = item.text(["category"], "category"), item.text(["intent"], "intent")
    return ImportDraft(
        id=name,
        text=text,
        truth=truth,
        where=where,
        category=category,
        difficulty=level,
        intent=intent,
        tags=merge_tags(as_written, item.rest()),
    )


def _truth(files: list[str], query: str, ledger: ImportLog) -> TruthValue:
    if files:
        return documents(files, exact=False)
    ledger.attend(
        "no relevant file is named; written as unjudged. Write negative if nothing answers it.", query
    )
    return "unjudged"
