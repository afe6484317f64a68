"""Imports other tools' queries and truth into a query file, and reports where every field went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.config.pydantic_messages import did_you_mean
from bakeoff.config.yaml_document import parse
from bakeoff.errors import QueryFileError, SettingError
from bakeoff.presets.code import importer as code
from bakeoff.presets.goldsql import importer as goldsql
from bakeoff.presets.lineage import importer as lineage
from bakeoff.presets.vectordb import importer as vectordb
from bakeoff.truth.importers import beir, csv, trec
from bakeoff.truth.importers.draft import ImportedQueries, ImportOptions
from bakeoff.truth.importers.writing import query_file
from bakeoff.truth.queries import QuerySet, query_set


@dataclass(frozen=True, slots=True)
class Importer:
    """A supported format: its description and its reader."""

    summary: str
    read: Callable[[Sequence[Path], ImportOptions], ImportedQueries]


IMPORTERS = {
    "lineage": Importer(
        "embedding_ground_truth.json: query, relevant_chunks (files), category", lineage.import_lineage
    ),
    "code": Importer("queries.json: query, expected_files, answer_keywords, answer_lines", code.import_code),
    "vectordb": Importer("test_cases.json: query, relevant_doc_ids", vectordb.import_vectordb),
    "goldsql": Importer(
        "gold_queries.yaml: verification_sql, expected_report_ids, signals, sections", goldsql.import_goldsql
    ),
    "beir": Importer("a folder with queries.jsonl and qrels/*.tsv", beir.import_beir),
    "trec": Importer("a file of topics and files of qrels", trec.import_trec),
    "csv": Importer("a table of query, document and grade", csv.import_csv),
}


def read_foreign(
    format_: str, paths: Sequence[Path], options: ImportOptions | None = None
) -> ImportedQueries:
    """Import the queries of other tools' files."""
    if format_ not in IMPORTERS:
        near = did_you_mean(format_, list(IMPORTERS))
        raise SettingError(f"no format is called {format_!r}.{near} Formats: {', '.join(IMPORTERS)}.")
    return IMPORTERS[format_].read(list(paths), options or ImportOptions())


def read_foreign_queries(format_: str, path: Path) -> QuerySet:
    """The queries of one file, validated like our own query files."""
    return query_set(parse(query_file(read_foreign(format_, [path])), path.name, QueryFileError))
