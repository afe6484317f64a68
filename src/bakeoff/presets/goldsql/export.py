"""S4's files: results by model, comparison, categories, decision (S4-58..67)."""

from __future__ import annotations

from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.export_files import Files, Shape, json_bytes, parquet_bytes
from bakeoff.presets.goldsql.figures import (
    MEASURES,
    as_yes_no,
    decision_of,
    latency_of,
    lift_means,
    mean_of,
    measures_of,
    pair_of,
    reviewed_systems,
)
from bakeoff.presets.goldsql.shapes import (
    Combined,
    ComparisonReport,
    GoldModelResults,
    GoldQueryResult,
    GoldSide,
    MetricGroup,
    Metrics,
    TopResult,
)
from bakeoff.presets.goldsql.tables import per_query, tables_of
from bakeoff.stats.comparison import PairComparison
from bakeoff.types import TableRow


def export_goldsql(material: ExportContext) -> Files:
    """Every file of S4 for this run."""
    contents: dict[str, bytes] = {}
    schemas: dict[str, type[Shape]] = {}

    def put(name: str, shape: Shape) -> None:
        contents[name], schemas[name] = json_bytes(shape), type(shape)

    for row in material.systems:
        slug = material.slugs[row["system"]]
        table = parquet_bytes(per_query(material, row["system"]))
        for stem in (f"{slug}_results", f"benchmark_{slug}_{material.stamp}"):
            put(f"{stem}.json", _model(material, row))
            contents[f"{stem}.parquet"] = table
    pair = pair_of(material)
    put("comparison_report.json", _comparison(material, pair))
    put("combined_metrics.json", _combine(material))
    contents |= {name: parquet_bytes(table) for name, table in tables_of(material, pair).items()}
    contents["final_benchmark_report.md"] = material.report_text(material.result).encode()
    return Files(contents, schemas)


def _metrics(material: ExportContext, system: str) -> Metrics:
    named = measures_of(material)
    means = {f"mean_{alias}": material.mean(system, measure) for alias, measure in named.items()}
    means.pop("mean_recall_at_10")
    steps = list(material.steps(system).values())
    return Metrics(
        **means,
        std_mrr=material.spread(system, named["mrr"]),
        mean_embed_latency_ms=mean_of([step.embed for step in steps]),
        mean_search_latency_ms=mean_of([step.search for step in steps]),
    )


def _model(material: ExportContext, row: TableRow) -> GoldModelResults:
    system, named = row["system"], measures_of(material)
    mrr, hit = (material.values(system, named[alias]) for alias in ("mrr", "hit_at_10"))
    first = material.first(system)
    return GoldModelResults(
        model_name=material.slugs[system],
        collection_name=system,
        total_queries=len(material.queries),
        timestamp=material.result.record.started,
        measures=named,
        metrics=_metrics(material, system),
        category_metrics=_groups(material, system, "category"),
        difficulty_metrics=_groups(material, system, "difficulty"),
        query_results=[
            GoldQueryResult(
                query_id=query["query_id"],
                query_text=query["text"],
                mrr=mrr[query["query_id"]],
                hit_at_10=as_yes_no(hit[query["query_id"]]),
                top_results=[TopResult(**result) for result in first.get(query["query_id"], [])],
            )
            for query in material.queries
        ],
    )


def _groups(material: ExportContext, system: str, label: str) -> dict[str, MetricGroup]:
    groups = material.groups(system, material.pick(*MEASURES["mrr"]), label)
    return {name: MetricGroup(mean_mrr=mean, count=count) for name, (mean, count) in groups.items()}


def _comparison(material: ExportContext, pair: PairComparison | None) -> ComparisonReport:
    slugs = material.slugs
    measure = material.pick(*MEASURES["mrr"])
    sides = [
        GoldSide(
            model=slugs[row["system"]],
            mean_mrr=material.mean(row["system"], measure),
            mean_latency_ms=latency_of(material, row["system"]),
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
        p_wilcoxon=pair.p_wilcoxon if pair else None,
        decision=decision_of(material, pair),
    )


def _combine(material: ExportContext) -> Combined:
    systems = [row["system"] for row in material.systems]
    means = lift_means(material, reviewed_systems(material))
    truth = material.result.reviewed
    return Combined(
        automated={material.slugs[system]: _metrics(material.by_rules, system) for system in systems},
        human_adjusted={material.slugs[system]: _metrics(material, system) for system in systems}
        if truth
        else None,
        semantic_lift={material.slugs[system]: means.get(system) for system in systems},
        human_review="imported" if means else "not yet completed",
        queries_judged_by_people=len(truth.queries) if truth else 0,
    )
