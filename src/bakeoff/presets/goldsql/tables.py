"""S4's Parquet tables: by query, by model, by group, side by side, and the decision (S4-61..66)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.goldsql.figures import (
    LIFT,
    MEASURES,
    as_yes_no,
    decision_of,
    latency_of,
    lift_means,
    lifts_of,
    measures_of,
    reviewed_systems,
)
from bakeoff.runs.key_measures import key_measures
from bakeoff.runs.score_grid import read_grid
from bakeoff.stats.comparison import PairComparison
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    import pyarrow as pa

_YES_NO = ("hit_at_1", "hit_at_5", "hit_at_10")


def tables_of(material: ExportContext, pair: PairComparison | None) -> dict[str, pa.Table]:
    import pyarrow as pa

    rows = [(row["system"], material.slugs[row["system"]]) for row in material.systems]
    mrr, hit = material.pick(*MEASURES["mrr"]), material.pick(*MEASURES["hit_at_10"])
    lifts = {system: lifts_of(material, system) for system, _ in rows}
    means = lift_means(material, reviewed_systems(material))
    tables = {
        "aggregate_metrics.parquet": pa.table(
            {
                "model": pa.array([slug for _, slug in rows], pa.string()),
                "mean_mrr": pa.array([material.mean(system, mrr) for system, _ in rows], pa.float64()),
                "mean_hit_at_10": pa.array([material.mean(system, hit) for system, _ in rows], pa.float64()),
                "mean_latency_ms": pa.array(
                    [latency_of(material, system) for system, _ in rows], pa.float64()
                ),
                "semantic_lift": pa.array([means.get(system) for system, _ in rows], pa.float64()),
            }
        )
    }
    for label in ("category", "difficulty"):
        tables[f"{label}_metrics.parquet"] = _by(material, label, mrr)
    if (keys := _key_table(material)).num_rows:
        tables["key_metrics.parquet"] = keys
    if pair is not None:
        tables["query_comparison.parquet"] = _query_comparison(material, pair)
        tables["benchmark_decision.parquet"] = _decision_table(material, pair)
    judged = [
        (slug, query, lift)
        for system, slug in rows
        for query, lift in lifts[system].items()
        if lift is not None
    ]
    if judged:
        tables["human_review_details.parquet"] = _review_details(material, judged)
    return tables


def _review_details(material: ExportContext, judged: Sequence[tuple[str, str, float]]) -> pa.Table:
    """One row per model and completely reviewed query; `all_models` if every reviewed model has the query."""
    import pyarrow as pa

    models = {slug for slug, _, _ in judged}
    having = {query: {slug for slug, name, _ in judged if name == query} for _, query, _ in judged}
    rows = {(slug, query): system for system, slug in material.slugs.items() for _, query, _ in judged}
    found: JsonObject = {
        "model": [slug for slug, _, _ in judged],
        "query_id": [query for _, query, _ in judged],
        "semantic_lift": [lift for _, _, lift in judged],
    }
    for name in ("SemPrec", "FalsePos"):
        measure = material.pick(name, LIFT[1])
        values = {system: material.values(system, measure) for system in material.slugs}
        column = {"SemPrec": "semantic_precision", "FalsePos": "false_positive_rate"}[name]
        found[column] = pa.array(
            [values[rows[slug, query]][query] for slug, query, _ in judged], pa.float64()
        )
    found["all_models"] = [having[query] == models for _, query, _ in judged]
    return pa.table(found)


def per_query(material: ExportContext, system: str) -> pa.Table:
    """S4-61's columns, one row per query."""
    import pyarrow as pa

    rows, steps = material.queries, material.steps(system)
    columns: JsonObject = {
        "query_id": pa.array([row["query_id"] for row in rows], pa.string()),
        "query_text": pa.array([row["text"] for row in rows], pa.string()),
    }
    for label in ("category", "difficulty", "intent"):
        columns[label] = pa.array([row[label] for row in rows], pa.string())
    for alias, measure in measures_of(material).items():
        columns[alias] = _scores(alias, material, system, measure)
    for name in ("embed", "search", "total"):
        found = [getattr(steps.get(row["query_id"]), name, None) for row in rows]
        columns[f"{name}_latency_ms"] = pa.array(found, pa.float64())
    return pa.table(columns)


def _scores(alias: str, material: ExportContext, system: str, measure: str | None) -> pa.Array:
    """A measure by query: hits as booleans, all others as numbers."""
    import pyarrow as pa

    values = list(material.values(system, measure).values())
    return (
        pa.array([as_yes_no(v) for v in values], pa.bool_())
        if alias in _YES_NO
        else pa.array(values, pa.float64())
    )


def _by(material: ExportContext, label: str, measure: str | None) -> pa.Table:
    """One row per model and group; `mrr` can be pivoted by group and model (S4-64)."""
    import pyarrow as pa

    rows = [
        (name, material.slugs[row["system"]], mean, count)
        for row in material.systems
        for name, (mean, count) in material.groups(row["system"], measure, label).items()
    ]
    kinds = {label: pa.string(), "model": pa.string(), "mrr": pa.float64(), "count": pa.int64()}
    return pa.table(
        {
            name: pa.array([row[place] for row in rows], kind)
            for place, (name, kind) in enumerate(kinds.items())
        }
    )


def _key_table(material: ExportContext) -> pa.Table:
    """The key measure of each category, one row per model, with its interval (S4-83)."""
    import pyarrow as pa

    result, slugs = material.result, material.slugs
    rows = [
        {
            "category": one.category,
            "measure": one.measure,
            "model": slugs[system],
            "mean": mean.value,
            "low": mean.interval.low,
            "high": mean.interval.high,
            "count": mean.n,
        }
        for one in key_measures(result, read_grid(result), [row["system"] for row in material.systems])
        for system, mean in one.means.items()
    ]
    kinds = dict.fromkeys(("category", "measure", "model"), pa.string())
    kinds |= {**dict.fromkeys(("mean", "low", "high"), pa.float64()), "count": pa.int64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


def _query_comparison(material: ExportContext, pair: PairComparison) -> pa.Table:
    """S4-62: every measure of both models side by side; a tie is a difference within the tolerance."""
    import pyarrow as pa

    from bakeoff.stats.effects import TIE_TOLERANCE

    rows = material.queries
    columns: JsonObject = {
        "query_id": [row["query_id"] for row in rows],
        "query_text": [row["text"] for row in rows],
    }
    for label in ("category", "difficulty"):
        columns[label] = pa.array([row[label] for row in rows], pa.string())
    for alias, measure in measures_of(material).items():
        for system in (pair.b, pair.a):
            columns[f"{material.slugs[system]}_{alias}"] = _scores(alias, material, system, measure)
    new, old = (columns[f"{material.slugs[system]}_mrr"].to_pylist() for system in (pair.a, pair.b))
    gaps = [None if a is None or b is None else a - b for a, b in zip(new, old, strict=True)]
    columns["mrr_diff"] = pa.array(gaps, pa.float64())
    sides = (material.slugs[pair.a], material.slugs[pair.b])
    winners = [
        None if gap is None else "Tie" if abs(gap) <= TIE_TOLERANCE else sides[gap < 0] for gap in gaps
    ]
    columns["winner"] = pa.array(winners, pa.string())
    return pa.table(columns)


def _decision_table(material: ExportContext, pair: PairComparison) -> pa.Table:
    """S4-66's one row; the advantage columns are named by the challenger, as mika_auto_advantage is.

    The advantage `auto` is by rules alone; the recommendation and the differences follow the reviewed truth.
    """
    import pyarrow as pa

    slug = material.slugs[pair.a]
    lifts = lift_means(material, (pair.a, pair.b))
    measure = material.pick(*MEASURES["mrr"]) or ""
    mine, other = lifts[pair.a], lifts[pair.b]
    gap = None if mine is None or other is None else mine - other
    low = material.by_rules.result.compare(measure).pair(pair.a, pair.b).interval.low
    return pa.table(
        {
            "recommendation": [decision_of(material, pair)],
            f"{slug}_auto_advantage": [low is not None and low > 0],
            f"{slug}_semantic_advantage": pa.array([None if gap is None else gap > 0], pa.bool_()),
            "mrr_difference": pa.array([pair.difference], pa.float64()),
            "semantic_lift_difference": pa.array([gap], pa.float64()),
        }
    )
