"""Foreign formats of queries with truth → a query file, with an account of where every field went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import QueryFileError, SettingError
from bakeoff.modelerrors import did_you_mean
from bakeoff.truth.importers import beir, code, csv, goldsql, lineage, trec, vectordb
from bakeoff.truth.importers.draft import Imported, Options
from bakeoff.truth.importers.writing import query_file
from bakeoff.truth.queries import QuerySet, query_set
from bakeoff.yamlfile import parse


@dataclass(frozen=True, slots=True)
class Importer:
    """A format that can be read: what it looks like, and who reads it."""

    summary: str
    read: Callable[[Sequence[Path], Options], Imported]


IMPORTERS = {
    "lineage": Importer(
        "embedding_ground_truth.json: query, relevant_chunks (files), category", lineage.read
    ),
    "code": Importer("queries.json: query, expected_files, answer_keywords, answer_lines", code.read),
    "vectordb": Importer("test_cases.json: query, relevant_doc_ids", vectordb.read),
    "goldsql": Importer(
        "gold_queries.yaml: verification_sql, expected_report_ids, signals, sections", goldsql.read
    ),
    "beir": Importer("a folder with queries.jsonl and qrels/*.tsv", beir.read),
    "trec": Importer("a file of topics and files of qrels", trec.read),
    "csv": Importer("a table of query, document and grade", csv.read),
}


def read_foreign(format_: str, paths: Sequence[Path], options: Options | None = None) -> Imported:
    """The queries of foreign files in our words."""
    if format_ not in IMPORTERS:
        near = did_you_mean(format_, list(IMPORTERS))
        raise SettingError(f"no format is called {format_!r}.{near} Formats: {', '.join(IMPORTERS)}.")
    return IMPORTERS[format_].read(list(paths), options or Options())


def read_foreign_queries(format_: str, path: Path) -> QuerySet:
    """The queries of one foreign file, checked as a query file of ours."""
    return query_set(parse(query_file(read_foreign(format_, [path])), path.name, QueryFileError))
