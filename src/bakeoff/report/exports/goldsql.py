"""S4's files: results by model, comparison, categories, decision (S4-58..67)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bakeoff.judging import s4_case
from bakeoff.report.exports.files import Files, Shape, json_bytes, parquet_bytes
from bakeoff.report.exports.material import Material
from bakeoff.stats.comparison import PairComparison
from bakeoff.stats.decisions import DECISION_A, decide_s4

if TYPE_CHECKING:
    import pyarrow as pa

MEASURES = {
    "mrr": ("RR", None),
    "hit_at_1": ("Hit", 1),
    "hit_at_5": ("Hit", 5),
    "hit_at_10": ("Hit", 10),
    "precision_at_5": ("P", 5),
    "recall_at_10": ("R", 10),
    "ndcg_at_10": ("nDCG", 10),
}
_YES_NO = ("hit_at_1", "hit_at_5", "hit_at_10")
LIFT = ("SemLift", 10)


class Metrics(Shape):
    """Means over the queries that were scored."""

    mean_mrr: float | None
    std_mrr: float | None
    mean_hit_at_1: float | None
    mean_hit_at_5: float | None
    mean_hit_at_10: float | None
    mean_precision_at_5: float | None
    mean_ndcg_at_10: float | None
    mean_embed_latency_ms: float | None
    mean_search_latency_ms: float | None


class Group(Shape):
    """The queries of one category or difficulty that were scored."""

    mean_mrr: float | None
    count: int


class TopResult(Shape):
    """One result of a query."""

    rank: int
    chunk_id: str
    document_id: str
    section: str | None
    score: float


class QueryResult(Shape):
    """One query."""

    query_id: str
    query_text: str
    mrr: float | None
    hit_at_10: bool | None
    top_results: list[TopResult]


class ModelResults(Shape):
    """One model's results (S4-60); `measures` says what each short name stands for."""

    model_name: str
    collection_name: str
    total_queries: int
    timestamp: str
    measures: dict[str, str | None]
    metrics: Metrics
    category_metrics: dict[str, Group]
    difficulty_metrics: dict[str, Group]
    query_results: list[QueryResult]


class Side(Shape):
    """One model in the comparison."""

    model: str
    mean_mrr: float | None
    mean_latency_ms: float | None


class ComparisonReport(Shape):
    """The two best models, paired by query."""

    measure: str
    models: list[Side]
    first: str | None
    second: str | None
    mrr_difference: float | None
    interval: tuple[float | None, float | None] | None
    wins: int | None
    losses: int | None
    ties: int | None
    p_holm: float | None
    decision: str


class Combined(Shape):
    """Automated figures, and those of human review where there are any."""

    automated: dict[str, Metrics]
    semantic_lift: dict[str, float | None]
    human_review: str


def export(material: Material) -> Files:
    """Every file of S4 for this run."""
    contents: dict[str, bytes] = {}
    schemas: dict[str, type[Shape]] = {}

    def put(name: str, shape: Shape) -> None:
        contents[name], schemas[name] = json_bytes(shape), type(shape)

    for row in material.systems:
        slug = material.slugs[row["system"]]
        table = parquet_bytes(_per_query(material, row["system"]))
        for stem in (f"{slug}_results", f"benchmark_{slug}_{material.stamp}"):
            put(f"{stem}.json", _model(material, row))
            contents[f"{stem}.parquet"] = table
    pair = _pair(material)
    put("comparison_report.json", _comparison(material, pair))
    put("combined_metrics.json", _combined(material))
    contents |= {name: parquet_bytes(table) for name, table in _tables(material, pair).items()}
    contents["final_benchmark_report.md"] = _markdown(material).encode()
    return Files(contents, schemas)


def _named(material: Material) -> dict[str, str | None]:
    return {alias: material.pick(*name) for alias, name in MEASURES.items()}


def _metrics(material: Material, system: str) -> Metrics:
    named = _named(material)
    means = {f"mean_{alias}": material.mean(system, measure) for alias, measure in named.items()}
    means.pop("mean_recall_at_10")
    steps = list(material.steps(system).values())
    return Metrics(
        **means,
        std_mrr=material.spread(system, named["mrr"]),
        mean_embed_latency_ms=_mean([step.embed for step in steps]),
        mean_search_latency_ms=_mean([step.search for step in steps]),
    )


def _model(material: Material, row: Mapping[str, Any]) -> ModelResults:
    system, named = row["system"], _named(material)
    mrr, hit = (material.values(system, named[alias]) for alias in ("mrr", "hit_at_10"))
    first = material.first(system)
    return ModelResults(
        model_name=material.slugs[system],
        collection_name=system,
        total_queries=len(material.queries),
        timestamp=material.result.record.started,
        measures=named,
        metrics=_metrics(material, system),
        category_metrics=_groups(material, system, "category"),
        difficulty_metrics=_groups(material, system, "difficulty"),
        query_results=[
            QueryResult(
                query_id=query["query_id"],
                query_text=query["text"],
                mrr=mrr[query["query_id"]],
                hit_at_10=_yes(hit[query["query_id"]]),
                top_results=[TopResult(**result) for result in first.get(query["query_id"], [])],
            )
            for query in material.queries
        ],
    )


def _groups(material: Material, system: str, label: str) -> dict[str, Group]:
    groups = material.groups(system, material.pick(*MEASURES["mrr"]), label)
    return {name: Group(mean_mrr=mean, count=count) for name, (mean, count) in groups.items()}


def _per_query(material: Material, system: str) -> pa.Table:
    """S4-61's columns, one row a query."""
    import pyarrow as pa

    rows, steps = material.queries, material.steps(system)
    columns: dict[str, Any] = {
        "query_id": pa.array([row["query_id"] for row in rows], pa.string()),
        "query_text": pa.array([row["text"] for row in rows], pa.string()),
    }
    for label in ("category", "difficulty", "intent"):
        columns[label] = pa.array([row[label] for row in rows], pa.string())
    for alias, measure in _named(material).items():
        values = list(material.values(system, measure).values())
        yes_no = alias in _YES_NO
        columns[alias] = pa.array(
            [_yes(v) for v in values] if yes_no else values, pa.bool_() if yes_no else pa.float64()
        )
    for name in ("embed", "search", "total"):
        found = [getattr(steps.get(row["query_id"]), name, None) for row in rows]
        columns[f"{name}_latency_ms"] = pa.array(found, pa.float64())
    return pa.table(columns)


def _pair(material: Material) -> PairComparison | None:
    """The second system of the plan against the first, as MIKA against MiniLM; None with fewer than two."""
    systems = [row["system"] for row in material.systems]
    measure = material.pick(*MEASURES["mrr"])
    if len(systems) < 2 or measure is None:
        return None
    return material.result.compare(measure).pair(systems[1], systems[0])


def _comparison(material: Material, pair: PairComparison | None) -> ComparisonReport:
    slugs = material.slugs
    measure = material.pick(*MEASURES["mrr"])
    sides = [
        Side(
            model=slugs[row["system"]],
            mean_mrr=material.mean(row["system"], measure),
            mean_latency_ms=_latency(material, row["system"]),
        )
        for row in material.systems
    ]
    return ComparisonReport(
        measure=measure or "",
        models=sides,
        first=slugs[pair.b] if pair else None,
        second=slugs[pair.a] if pair else None,
        mrr_difference=pair.difference if pair else None,
        interval=(pair.interval.low, pair.interval.high) if pair else None,
        wins=pair.wins if pair else None,
        losses=pair.losses if pair else None,
        ties=pair.ties if pair else None,
        p_holm=pair.p_holm if pair else None,
        decision=_decision(material, pair),
    )


def _decision(material: Material, pair: PairComparison | None) -> str:
    """S4-71's rule: a model's name, hybrid or inconclusive."""
    if pair is None:
        return "inconclusive"
    measure = material.pick(*MEASURES["mrr"]) or ""
    choice = decide_s4(s4_case(material.result, pair.a, pair.b, measure), DECISION_A).choice
    return material.slugs.get(choice, choice)


def _lifts(material: Material, system: str) -> dict[str, float | None]:
    return material.values(system, material.pick(*LIFT))


def _combined(material: Material) -> Combined:
    lifts = {row["system"]: _mean(list(_lifts(material, row["system"]).values())) for row in material.systems}
    reviewed = any(value is not None for value in lifts.values())
    return Combined(
        automated={
            material.slugs[row["system"]]: _metrics(material, row["system"]) for row in material.systems
        },
        semantic_lift={material.slugs[system]: value for system, value in lifts.items()},
        human_review="imported" if reviewed else "not yet completed",
    )


def _tables(material: Material, pair: PairComparison | None) -> dict[str, pa.Table]:
    import pyarrow as pa

    rows = [(row["system"], material.slugs[row["system"]]) for row in material.systems]
    mrr, hit = material.pick(*MEASURES["mrr"]), material.pick(*MEASURES["hit_at_10"])
    lifts = {system: _lifts(material, system) for system, _ in rows}
    tables = {
        "aggregate_metrics.parquet": pa.table(
            {
                "model": pa.array([slug for _, slug in rows], pa.string()),
                "mean_mrr": pa.array([material.mean(system, mrr) for system, _ in rows], pa.float64()),
                "mean_hit_at_10": pa.array([material.mean(system, hit) for system, _ in rows], pa.float64()),
                "mean_latency_ms": pa.array([_latency(material, system) for system, _ in rows], pa.float64()),
                "semantic_lift": pa.array(
                    [_mean(list(lifts[system].values())) for system, _ in rows], pa.float64()
                ),
            }
        )
    }
    for label in ("category", "difficulty"):
        tables[f"{label}_metrics.parquet"] = _by(material, label, mrr)
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
        names = ("model", "query_id", "semantic_lift")
        tables["human_review_details.parquet"] = pa.table(
            {name: [row[place] for row in judged] for place, name in enumerate(names)}
        )
    return tables


def _by(material: Material, label: str, measure: str | None) -> pa.Table:
    """One row a model and group; it pivots on the group and the model by `mrr` (S4-64)."""
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


def _query_comparison(material: Material, pair: PairComparison) -> pa.Table:
    """S4-62: every measure of both models side by side; a tie is a difference within the tolerance."""
    import pyarrow as pa

    from bakeoff.stats.effects import TIE_TOLERANCE

    rows = material.queries
    columns: dict[str, Any] = {
        "query_id": [row["query_id"] for row in rows],
        "query_text": [row["text"] for row in rows],
    }
    for label in ("category", "difficulty"):
        columns[label] = pa.array([row[label] for row in rows], pa.string())
    for alias, measure in _named(material).items():
        for system in (pair.b, pair.a):
            values = material.values(system, measure).values()
            columns[f"{material.slugs[system]}_{alias}"] = pa.array(list(values), pa.float64())
    new, old = (columns[f"{material.slugs[system]}_mrr"].to_pylist() for system in (pair.a, pair.b))
    gaps = [None if a is None or b is None else a - b for a, b in zip(new, old, strict=True)]
    columns["mrr_diff"] = pa.array(gaps, pa.float64())
    sides = (material.slugs[pair.a], material.slugs[pair.b])
    winners = [
        None if gap is None else "Tie" if abs(gap) <= TIE_TOLERANCE else sides[gap < 0] for gap in gaps
    ]
    columns["winner"] = pa.array(winners, pa.string())
    return pa.table(columns)


def _decision_table(material: Material, pair: PairComparison) -> pa.Table:
    """S4-66's one row; the advantage columns are named by the second model, as mika_auto_advantage is."""
    import pyarrow as pa

    slug = material.slugs[pair.a]
    lift = [_mean(list(_lifts(material, system).values())) for system in (pair.a, pair.b)]
    gap = None if lift[0] is None or lift[1] is None else lift[0] - lift[1]
    low = pair.interval.low
    return pa.table(
        {
            "recommendation": [_decision(material, pair)],
            f"{slug}_auto_advantage": [low is not None and low > 0],
            f"{slug}_semantic_advantage": pa.array([None if gap is None else gap > 0], pa.bool_()),
            "mrr_difference": pa.array([pair.difference], pa.float64()),
            "semantic_lift_difference": pa.array([gap], pa.float64()),
        }
    )


def _markdown(material: Material) -> str:
    from bakeoff.report.markdown import text
    from bakeoff.report.tables import tables

    return text(tables(material.result))


def _latency(material: Material, system: str) -> float | None:
    return _mean([step.total for step in material.steps(system).values()])


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _yes(value: float | None) -> bool | None:
    return None if value is None else value > 0
