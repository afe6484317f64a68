"""Checks query filters against the corpus: fields that no document has, and filters that match nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.errors import QueryFileError
from bakeoff.pipeline.payload import ChunkPayload, build_payload
from bakeoff.runs.checks.findings import Finding
from bakeoff.truth.queries import QuerySet
from bakeoff.types import Where

if TYPE_CHECKING:
    import pyarrow as pa

    from bakeoff.config.plan import Plan
    from bakeoff.pipeline.read import ReadCorpus

CODE = "filter"
OF_CHUNKS = ("section", "symbol")
"""Fields of the chunk itself; all others come from its document."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows a filter selects from: all documents, or the chunks of one chunker."""

    noun: str
    table: pa.Table
    of_chunks: bool


def needs_chunk_fields(queries: QuerySet) -> bool:
    """Whether a filter uses a field that only chunks have."""
    return any(_of_chunks(where) for where in queries.filters)


def check_filters(
    plan: Plan, queries: QuerySet, corpus: ReadCorpus, chunks: Mapping[str, pa.Table], judgments: pa.Table
) -> Iterator[Finding]:
    """Filters that are invalid, match nothing, or exclude relevant documents.

    `chunks` holds the chunks by chunker, for filters on a section or symbol. Fields missing in the documents
    may be payload fields of retrievers and existing collections, if nothing else is searched.
    """
    wrong = dict(_unusable(queries.filters, corpus, chunks))
    ours = any(system.builds_index for system in plan.systems)
    for place, where in enumerate(queries.filters if ours else ()):
        reasons = dict.fromkeys(wrong[one.field] for one in where if one.field in wrong)
        yield from (Finding("error", CODE, _where(queries, place), reason) for reason in reasons)
    sound = {
        place: where
        for place, where in enumerate(queries.filters)
        if where and not any(one.field in wrong for one in where)
    }
    for rows in _tables(corpus, chunks):
        filters = {place: where for place, where in sound.items() if _of_chunks(where) == rows.of_chunks}
        fields = build_payload(filters.values(), corpus.documents, rows.table)
        for place, where in filters.items():
            yield from _empty_filter_findings(queries, place, rows, fields, where, judgments)


def left_documents(queries: QuerySet, corpus: ReadCorpus) -> dict[int, np.ndarray]:
    """Mask of the documents that pass each query's filter, for valid filters on document fields."""
    wrong = dict(_unusable(queries.filters, corpus, {}))
    asked = {
        place: where
        for place, where in enumerate(queries.filters)
        if where and not _of_chunks(where) and not any(one.field in wrong for one in where)
    }
    rows = _tables(corpus, {})[0]
    fields = build_payload(asked.values(), corpus.documents, rows.table)
    return {place: fields.matching_chunks(fields.where(where)) for place, where in asked.items()}


def _unusable(
    filters: Iterable[Where], corpus: ReadCorpus, chunks: Mapping[str, pa.Table]
) -> Iterator[tuple[str, str]]:
    """Each field that the filters use in an invalid way, with the reason."""
    by_field: dict[str, list[Where]] = {}
    for one in (one for where in filters for one in where):
        by_field.setdefault(one.field, []).append((one,))
    for name, asked in by_field.items():
        for rows in _tables(corpus, chunks):
            if rows.of_chunks == (name in OF_CHUNKS):
                try:
                    build_payload(asked, corpus.documents, rows.table)
                except QueryFileError as exc:
                    yield name, str(exc)


def _of_chunks(where: Where) -> bool:
    return any(one.field in OF_CHUNKS for one in where)


def _tables(corpus: ReadCorpus, chunks: Mapping[str, pa.Table]) -> list[_Rows]:
    import pyarrow as pa

    documents = pa.table({"doc": np.arange(corpus.documents.num_rows)})
    return [
        _Rows("document", documents, of_chunks=False),
        *(_Rows(f"chunk of {label}", table, of_chunks=True) for label, table in chunks.items()),
    ]


def _empty_filter_findings(
    queries: QuerySet, place: int, rows: _Rows, fields: ChunkPayload, where: Where, judgments: pa.Table
) -> Iterator[Finding]:
    """An error if a filter matches nothing, or nothing relevant; a warning if it excludes some relevant
    documents."""
    matching = fields.matching_chunks(fields.where(where))
    at = _where(queries, place)
    if not matching.any():
        text = f"no {rows.noun} satisfies its filter {_show_filter(where)}, so every system fails on it."
        yield Finding("error", CODE, at, f"{text} Correct the values{_values(fields, where)}.")
        return
    relevant = _relevant(judgments, place)
    lost = relevant - set(rows.table["doc"].to_numpy()[matching].tolist())
    if relevant and lost == relevant:
        text = f"its filter {_show_filter(where)} leaves out every relevant document, so its best score is 0."
        yield Finding("error", CODE, at, f"{text} Correct the filter, or the truth.")
    elif lost:
        text = (
            f"its filter {_show_filter(where)} leaves out {len(lost)} of {len(relevant)} relevant documents."
        )
        yield Finding("warning", CODE, at, f"{text} No system can find them.")


def _relevant(judgments: pa.Table, place: int) -> set[int]:
    """Documents with something relevant to a query."""
    query, grade = judgments["query"].to_numpy(), judgments["grade"].to_numpy()
    return set(judgments["doc"].to_numpy()[(query == place) & (grade > 0)].tolist())


def _show_filter(where: Where) -> str:
    parts = []
    for one in where:
        among = [" or ".join(map(str, one.among))] if one.among else []
        least = [f"≥ {one.least:g}"] if one.least is not None else []
        most = [f"≤ {one.most:g}"] if one.most is not None else []
        parts.append(f"{one.field}: {' and '.join([*among, *least, *most])}")
    return f"{{{', '.join(parts)}}}"


def _values(fields: ChunkPayload, where: Where) -> str:
    """Some values of the fields in a filter."""
    texts = []
    for one in where:
        values = [value for value in dict.fromkeys(fields.columns[one.field]) if value not in ("", None)]
        more = ", …" if len(values) > SHOWN else ""
        texts.append(f"{one.field} has {', '.join(map(str, values[:SHOWN]))}{more}")
    return f": {'; '.join(texts)}" if texts else ""


def _where(queries: QuerySet, place: int) -> str:
    """File, line and query of a filter."""
    at = queries.located.line(("queries", place, "filter")) if queries.located else None
    return f"{queries.name}{f', line {at}' if at else ''}, query {queries.queries[place].id}"
