"""Scores Arrow tables, data frames and Parquet files: ids become integers once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.errors import DataError
from bakeoff.measures.arrays import Ints, JudgmentArrays, RankingArrays, distinct
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.evaluate import evaluate, from_scores
from bakeoff.measures.hits import groups_of
from bakeoff.measures.names import Measure
from bakeoff.measures.result import Evaluation

QUERY = ("query", "query_id", "query-id", "qid", "q_id", "topic")
ITEM = ("item", "doc_id", "document_id", "chunk_id", "corpus-id", "docno", "doc", "document", "chunk")
GRADE = ("grade", "relevance", "rel", "label", "score")
SCORE = ("score", "similarity", "sim")


def evaluate_tables(
    judgments: pa.Table,
    run: pa.Table,
    measures: tuple[Measure, ...],
    conventions: Conventions,
    queries: Sequence[str] | None,
) -> Evaluation:
    """Score a table of results (query, item, score, and rank if there is one) against judgments."""
    query, judged_query, query_names = _ids(_pick(run, QUERY), _pick(judgments, QUERY))
    item, judged_item, item_names = _ids(_pick(run, ITEM), _pick(judgments, ITEM))
    truth = JudgmentArrays.from_columns(judged_query, judged_item, _grades(_pick(judgments, GRADE)))
    score = _floats(_pick(run, SCORE))
    rankings = _rankings(query, item, score, run, conventions)
    _check_overlap(rankings, truth)
    if conventions.order == "score_id":
        rankings = replace(rankings, id_order=_id_order(rankings.item, item_names))
    chosen = None if queries is None else _chosen(queries, query_names)
    scores = evaluate(rankings, truth, measures, conventions=conventions, queries=chosen)
    names = [str(one) if query_names is None else query_names[one] for one in scores.queries.tolist()]
    return from_scores(scores, names, conventions)


def as_table(source: object) -> pa.Table:
    """Convert a table, record batch or data frame to an Arrow table."""
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    raise DataError(
        f"cannot read {type(source).__name__}; give a dict, a path, an Arrow table or a data frame."
    )


def judgment_rows(table: pa.Table) -> Iterator[tuple[str, str, int]]:
    """Yield query, item and grade of each judgment."""
    columns = (_pick(table, names).to_pylist() for names in (QUERY, ITEM, GRADE))
    for query, item, grade in zip(*columns, strict=True):
        yield str(query), str(item), int(grade)


def from_mapping(rows: dict[str, dict[str, float]] | dict[str, dict[str, int]], value: str) -> pa.Table:
    """Convert a mapping to a table (query, item, value), with the position of an item as its rank."""
    query = [name for name, items in rows.items() for _ in items]
    item = [name for items in rows.values() for name in items]
    rank = [place for items in rows.values() for place in range(1, len(items) + 1)]
    values = [one for items in rows.values() for one in items.values()]
    return pa.table({"query": query, "item": item, value: values, "rank": rank})


def _check_overlap(rankings: RankingArrays, judgments: JudgmentArrays) -> None:
    if not len(rankings) or not len(judgments):
        raise DataError("there is nothing to score: the run or the judgments are empty.")
    if not len(groups_of(distinct(rankings.query), distinct(judgments.query)).row):
        raise DataError("no query of the run is in the judgments. Check that both use the same query ids.")


def query_column(table: pa.Table) -> pa.ChunkedArray:
    """The column that names the queries."""
    return _pick(table, QUERY)


def _pick(table: pa.Table, names: tuple[str, ...]) -> pa.ChunkedArray:
    for name in names:
        if name in table.column_names:
            column = table.column(name)
            if column.null_count:
                raise DataError(f"column {name!r} has {column.null_count} empty values. Every row needs one.")
            return column
    raise DataError(
        f"the table has none of the columns {', '.join(names)}; it has {', '.join(table.column_names)}."
    )


def _ids(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[Ints, Ints, list[str] | None]:
    """Integers for two columns of ids, and the names they replace (None if they are integers already)."""
    if pa.types.is_integer(left.type) and pa.types.is_integer(right.type):
        return (
            left.to_numpy().astype(np.int64, copy=False),
            right.to_numpy().astype(np.int64, copy=False),
            None,
        )
    both = pa.chunked_array([*_strings(left).chunks, *_strings(right).chunks], pa.string())
    coded = pc.dictionary_encode(both).combine_chunks()
    codes = coded.indices.to_numpy().astype(np.int64)
    return codes[: len(left)], codes[len(left) :], coded.dictionary.to_pylist()


def _strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _grades(column: pa.ChunkedArray) -> Ints:
    values = column.to_numpy()
    integers = values.astype(np.int64)
    if (integers != values).any():
        raise DataError(f"a grade is {values[integers != values][0]}; grades are whole numbers.")
    return np.asarray(integers)


def _floats(column: pa.ChunkedArray) -> object:
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise DataError(f"scores must be numbers; the column holds {column.type}.")
    return column.to_numpy().astype(np.float64, copy=False)


def _rankings(query: Ints, item: Ints, score: Any, run: pa.Table, conventions: Conventions) -> RankingArrays:
    """Results by rank if ranks exist and count, else by score, ties in input order."""
    if "rank" in run.column_names and conventions.order == "served":
        return RankingArrays.from_columns(query, _pick(run, ("rank",)).to_numpy(), item, score)
    order = np.lexsort((-score, query))
    return RankingArrays(query[order], item[order], score[order])


def _id_order(item: Ints, names: list[str] | None) -> Ints:
    """Position of each row's id among all ids in string order."""
    present = np.unique(item)
    words = [str(one) if names is None else names[one] for one in present.tolist()]
    place = np.empty(len(present), dtype=np.int64)
    place[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    return np.asarray(place[np.searchsorted(present, item)])


def _chosen(queries: Sequence[str], names: list[str] | None) -> Ints:
    if names is None:
        return np.array([int(query) for query in queries], dtype=np.int64)
    place = {name: at for at, name in enumerate(names)}
    if missing := [query for query in queries if query not in place]:
        raise DataError(f"query {missing[0]!r} is neither in the run nor in the judgments.")
    return np.array([place[query] for query in queries], dtype=np.int64)
