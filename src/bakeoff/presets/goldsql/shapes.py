"""The shapes of S4's JSON files (S4-60)."""

from __future__ import annotations

from bakeoff.presets.export_files import Shape


class Metrics(Shape):
    """Means over the scored queries."""

    mean_mrr: float | None
    std_mrr: float | None
    mean_hit_at_1: float | None
    mean_hit_at_5: float | None
    mean_hit_at_10: float | None
    mean_precision_at_5: float | None
    mean_ndcg_at_10: float | None
    mean_embed_latency_ms: float | None
    mean_search_latency_ms: float | None


class MetricGroup(Shape, title="Group"):
    """The scored queries of one category or difficulty."""

    mean_mrr: float | None
    count: int


class TopResult(Shape):
    """One result of a query."""

    rank: int
    chunk_id: str
    document_id: str
    section: str | None
    score: float


class GoldQueryResult(Shape, title="QueryResult"):
    """One query."""

    query_id: str
    query_text: str
    mrr: float | None
    hit_at_10: bool | None
    top_results: list[TopResult]


class GoldModelResults(Shape, title="ModelResults"):
    """One model's results (S4-60); `measures` maps short names to measures."""

    model_name: str
    collection_name: str
    total_queries: int
    timestamp: str
    measures: dict[str, str | None]
    metrics: Metrics
    category_metrics: dict[str, MetricGroup]
    difficulty_metrics: dict[str, MetricGroup]
    query_results: list[GoldQueryResult]


class GoldSide(Shape, title="Side"):
    """One model in the comparison."""

    model: str
    mean_mrr: float | None
    mean_latency_ms: float | None


class ComparisonReport(Shape):
    """The two best models, or the requested pair, paired by query; wins and losses are those of `second`."""

    measure: str
    models: list[GoldSide]
    first: str | None
    second: str | None
    mrr_difference: float | None
    interval: tuple[float | None, float | None] | None
    wins: int | None
    losses: int | None
    ties: int | None
    p_holm: float | None
    p_wilcoxon: float | None
    decision: str


class Combined(Shape):
    """Figures by rules, figures with human judgments, and semantic lift on common queries."""

    automated: dict[str, Metrics]
    human_adjusted: dict[str, Metrics] | None
    semantic_lift: dict[str, float | None]
    human_review: str
    queries_judged_by_people: int
