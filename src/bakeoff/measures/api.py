"""`bakeoff.evaluate`: scores a run against judgments, like trec_eval."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import DataError
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, check_computable, parse
from bakeoff.measures.plain import evaluate_plain
from bakeoff.measures.presets import preset as find_preset
from bakeoff.measures.result import Evaluation
from bakeoff.measures.task import Task
from bakeoff.storage.parquet_io import probe_parquet, read_parquet
from bakeoff.storage.ranking_files import Judgments, RunFileRow, read_qrels, read_run

if TYPE_CHECKING:
    import pyarrow as pa


def evaluate(
    qrels: object,
    run: object,
    measures: Sequence[str | Measure] | str | None = None,
    preset: str | None = None,
    *,
    conventions: Conventions | None = None,
    queries: Sequence[str] | None = None,
) -> Evaluation:
    """Score a run against judgments, each a dict {query: {item: number}}, a path, an Arrow table or data frame.

    A run may also be {query: [item, …]} in served order. Paths: TREC qrels and runs, BEIR tsv, Parquet.
    """
    rules = conventions or (find_preset(preset).conventions if preset else DEFAULT)
    wanted = _measures(measures, preset)
    if _is_table(qrels) or _is_table(run):
        return _evaluate_tables(qrels, run, wanted, rules, queries)
    served = _run(run, rules)
    task = _task(_judgments(qrels), served, wanted, rules, queries)
    result = evaluate_plain(task)
    if result is None:
        from bakeoff.measures.from_dicts import evaluate_mappings

        result = evaluate_mappings(task)
    conflicts = served.rank_conflicts() if served.ordered and _is_path(run) else ()
    return replace(result, rank_conflicts=tuple(conflicts)) if conflicts else result


def _measures(measures: Sequence[str | Measure] | str | None, preset: str | None) -> tuple[Measure, ...]:
    if measures is None and preset:
        every = find_preset(preset).measures
        chosen = tuple(measure for measure in every if measure.definition.needs is RequiredInput.JUDGMENTS)
    else:
        names = [measures] if isinstance(measures, str | Measure) else list(measures or ())
        chosen = tuple(dict.fromkeys(parse(name) for name in names))
    check_computable(chosen)
    return chosen


def _task(
    judgments: Judgments,
    run: RunFileRow,
    measures: tuple[Measure, ...],
    conventions: Conventions,
    queries: Sequence[str] | None,
) -> Task:
    every = dict.fromkeys((*judgments, *run.by_query))
    if not judgments or not run.by_query:
        raise DataError("there is nothing to score: the run or the judgments hold no queries.")
    if not judgments.keys() & run.by_query.keys():
        raise DataError("no query of the run is in the judgments. Check that both use the same query ids.")
    if missing := [query for query in queries or () if query not in every]:
        raise DataError(f"query {missing[0]!r} is neither in the run nor in the judgments.")
    return Task(judgments, run, tuple(dict.fromkeys(queries or every)), measures, conventions)


def _is_path(source: object) -> bool:
    return isinstance(source, str | os.PathLike)


def _is_table(source: Any) -> bool:
    if _is_path(source):
        return Path(source).suffix == ".parquet"
    return not isinstance(source, Mapping)


def _judgments(source: Any) -> Judgments:
    if _is_path(source):
        return read_qrels(Path(source))
    return {str(query): items for query, items in source.items()}


def _run(source: Any, conventions: Conventions) -> RunFileRow:
    if _is_path(source):
        return read_run(Path(source), by_rank=conventions.order == "served")
    if any(not isinstance(items, Mapping) for items in source.values()):
        return RunFileRow(
            {str(query): _from_list(str(query), items) for query, items in source.items()}, ordered=True
        )
    return RunFileRow({str(query): items for query, items in source.items()})


def _from_list(query: str, items: object) -> dict[str, float]:
    """Descending scores for a list, so that its order is kept and nothing is tied."""
    if isinstance(items, Mapping) or not isinstance(items, Sequence) or isinstance(items, str):
        raise DataError(
            f"query {query!r}: results are given as {type(items).__name__}; other queries have a list."
        )
    ranked = {str(item): -float(place) for place, item in enumerate(items)}
    if len(ranked) != len(items):
        twice = next(item for place, item in enumerate(items) if item in items[:place])
        raise DataError(f"item {twice!r} occurs twice in the ranking of query {query!r}.")
    return ranked


def _evaluate_tables(
    qrels: object,
    run: object,
    measures: tuple[Measure, ...],
    conventions: Conventions,
    queries: Sequence[str] | None,
) -> Evaluation:
    from bakeoff.measures.tables import evaluate_tables, from_mapping

    judgments = _table(qrels) if _is_table(qrels) else from_mapping(_judgments(qrels), "grade")
    if _is_table(run):
        return evaluate_tables(judgments, _table(run), measures, conventions, queries)
    served = _run(run, conventions)
    table = from_mapping(served.by_query, "score")
    return evaluate_tables(
        judgments, table if served.ordered else table.drop_columns(["rank"]), measures, conventions, queries
    )


def _table(source: Any) -> pa.Table:
    from bakeoff.measures.tables import as_table

    if not _is_path(source):
        return as_table(source)
    import pyarrow as pa

    try:
        probe_parquet(Path(source))
        return read_parquet(source)
    except (OSError, pa.ArrowException) as exc:
        raise DataError(f"{source} cannot be read as Parquet: {exc}.") from exc
