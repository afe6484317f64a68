"""embedding_ground_truth.json: queries with the files that answer them (S0-10 to S0-13)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog, ImportOptions
from bakeoff.truth.importers.fields import Fields, documents_or_unjudged, draft_query
from bakeoff.truth.importers.listing import read_listing

FORMAT = "lineage"


def import_lineage(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:  # noqa: ARG001 - every importer takes options
    """The queries of a file of paths that are called chunks."""
    return read_listing(paths, FORMAT, ("queries",), _draft)


def _draft(item: Fields, ledger: ImportLog) -> ImportDraft:
    name = item.text(["id"], "id", required=True)
    text = item.text(["query"], "text", required=True)
    files = item.texts(["relevant_chunks"], "truth.documents")
    truth = documents_or_unjudged(files, name, "no relevant file is named", ledger, exact=False)
    return draft_query(item, ledger, name=name, text=text, truth=truth)
