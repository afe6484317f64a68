"""Sanity checks of a result: notes on unusual values for the terminal and the report (S3-26)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from bakeoff.measures.ceilings import describe_exhausted_depth
from bakeoff.measures.names import parse
from bakeoff.report.sections.losses import ROWS
from bakeoff.runs.analysis import Result
from bakeoff.runs.folder import translate_table_errors
from bakeoff.runs.score_grid import ScoreGrid, mean_scores
from bakeoff.runs.table_rows import row_count
from bakeoff.stats.sanity import GrowthFacts, SanityFacts, unusual_values
from bakeoff.storage.parquet_io import read_parquet
from bakeoff.storage.schemas import RANKINGS
from bakeoff.types import Unit


def sanity_notes(result: Result, grid: ScoreGrid) -> list[str]:
    """Unusual means and latencies, each with its value (S3-26)."""
    if not result.done:
        return []
    definition = parse(result.record.primary).definition
    means = mean_scores(grid, result.record.primary)
    return [
        *unusual_values(
            SanityFacts(
                result.record.primary,
                {system: mean for system, mean in means.items() if mean is not None},
                (definition.low, definition.high),
                _growing(grid),
                {system: _percentiles(result, system) for system in result.done},
            )
        ),
        *_too_shallow(result, grid),
        *_all_documents(result, grid),
    ]


def _all_documents(result: Result, grid: ScoreGrid) -> Iterator[str]:
    """A note if recall counts every document of the corpus, so that it is always 1."""
    documents = result.record.corpus.documents if result.record.corpus is not None else 0
    for name in grid.values:
        if why := describe_exhausted_depth(parse(name), documents):
            yield why


def _too_shallow(result: Result, grid: ScoreGrid) -> Iterator[str]:
    """A note if the retrieved chunks of some queries cover fewer than the k documents that are counted."""
    cutoffs = {name: parse(name).k or 0 for name in grid.values if parse(name).unit is Unit.DOCUMENT}
    deepest = max(cutoffs, key=lambda name: cutoffs[name], default="")
    k, corpus = cutoffs.get(deepest, 0), result.record.corpus
    if k < 2 or (corpus is not None and corpus.documents <= k) or row_count(result, RANKINGS) > ROWS:
        return
    few = _short_lists(result, k, {query.id for query in grid.queries if not query.negative})
    if few:
        system, most = max(few.items(), key=lambda one: one[1])
        answerable = sum(not query.negative for query in grid.queries)
        yield (
            f"Unusual: for {system}{f' and {len(few) - 1} more' if len(few) > 1 else ''}, the top "
            f"{result.record.depth} chunks cover fewer than the {k} documents that {deepest} counts, on up to {most} "
            f"of {answerable} questions. Increase depth."
        )


def _short_lists(result: Result, k: int, queries: set[str]) -> dict[str, int]:
    """For each system, how many queries have fewer than k documents in a ranking cut off at the depth."""
    path = result.table_file(RANKINGS)
    with translate_table_errors(path):
        rows = read_parquet(path, columns=["system", "query_id", "document_id"])
    counted = rows.group_by(["system", "query_id"]).aggregate(
        [("document_id", "count_distinct"), ("document_id", "count")]
    )
    few = Counter(
        row["system"]
        for row in counted.to_pylist()
        if row["document_id_count_distinct"] < k and row["document_id_count"] >= result.record.depth
        if row["query_id"] in queries
    )
    return {system: few[system] for system in result.done if few[system]}


def _growing(grid: ScoreGrid) -> list[GrowthFacts]:
    """R and Hit of each system by unit and rising k, over the same queries."""
    families: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name in grid.values:
        measure = parse(name)
        if measure.name in ("R", "Hit") and measure.k is not None and measure.rel is None:
            label = f"{measure.name}({measure.unit})" if measure.unit else measure.name
            families.setdefault((label, measure.source), []).append((measure.k, name))
    growing = []
    for (label, _), names in families.items():
        columns = [(k, mean_scores(grid, name)) for k, name in names]
        for system in grid.systems:
            means = [(k, mean) for k, column in columns if (mean := column[system]) is not None]
            alike = len({np.isnan(grid.row(name, system)).tobytes() for _, name in names}) == 1
            growing += [GrowthFacts(system, label, means)] if alike and len(means) > 1 else []
    return growing


def _percentiles(result: Result, system: str) -> list[tuple[str, float]]:
    stored = ((name, result.timing(system, "total", f"{name}_ms")) for name in ("p50", "p90", "p95", "p99"))
    return [(name, value) for name, value in stored if value is not None]
