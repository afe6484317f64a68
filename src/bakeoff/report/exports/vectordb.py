"""S3's files: one JSON a database with ingestion phases and figures by top_k (S3-7, S3-10, S3-12, S3-14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.report.exports.files import Files, Shape, json_bytes
from bakeoff.report.exports.loaded import Seen, seen_under_load
from bakeoff.report.exports.material import TOP, Material, across_repeats

CUTS = (1, 3, 5, 10, 20)


class Spread(Shape):
    """A figure over repeats; `std` is the sample's (ddof = 1), null with one repeat; `iqr` is [q1, q3]."""

    median: float | None
    std: float | None
    iqr: tuple[float, float] | None = None


class Resources(Shape):
    """CPU and memory of the engine's process in a phase, as the run's newest load saw it; null without one."""

    avg_cpu_percent: float | None
    peak_cpu_percent: float | None
    avg_memory_mb: float | None
    peak_memory_mb: float | None


class Ingestion(Shape):
    """Seconds of each phase; null where this run found the phase's output made already."""

    parsing_time_sec: float | None
    chunking_time_sec: float | None
    embedding_time_sec: float | None
    insertion_time_sec: float | None
    indexing_time_sec: float | None
    total_time_sec: float | None
    resources: Resources | None


class QueryResult(Shape):
    """Figures of the first `top_k` chunks; a ranking is made once, so its quality has no spread over repeats.

    `precision_at_k` is divided by the distinct documents among these chunks, and `mrr` looks no further than they do.
    """

    top_k: int
    avg_latency_ms: Spread
    queries_per_second: float | None
    avg_similarity: float | None
    recall_at_k: Spread
    precision_at_k: Spread
    mrr: float | None
    resources: Resources | None


class DatabaseResults(Shape):
    """One database."""

    database: str | None
    system: str
    timestamp: str
    runs: int
    measures: dict[str, str | None]
    ingestion: Ingestion
    query_results: list[QueryResult]


def export(material: Material) -> Files:
    """One JSON file a system."""
    contents = {}
    for row in material.systems:
        contents[f"{_slug(material, row)}_results.json"] = json_bytes(_database(material, row))
    return Files(contents, dict.fromkeys(contents, DatabaseResults))


def _slug(material: Material, row: Mapping[str, Any]) -> str:
    stores = [other["store"] for other in material.systems]
    return str(row["store"]) if len(set(stores)) == len(stores) else material.slugs[row["system"]]


def _database(material: Material, row: Mapping[str, Any]) -> DatabaseResults:
    system = row["system"]
    seen = seen_under_load(material.result, system)
    named = {f"recall_at_{k}": material.pick("R", k) for k in CUTS}
    named |= {f"precision_at_{k}": material.pick("P_unique", k) for k in CUTS}
    named |= {f"mrr_at_{k}": material.pick("RR", k) for k in CUTS}
    return DatabaseResults(
        database=row["store"],
        system=system,
        timestamp=material.result.record.started,
        runs=material.result.record.runs,
        measures=named,
        ingestion=_ingestion(material, system, seen),
        query_results=[_at(material, system, k, named, seen) for k in CUTS],
    )


def _ingestion(material: Material, system: str, seen: Seen) -> Ingestion:
    def seconds(phase: str) -> float | None:
        return material.result.timing(system, phase, "seconds")

    return Ingestion(
        parsing_time_sec=seconds("read"),
        chunking_time_sec=seconds("chunk"),
        embedding_time_sec=seconds("embed_chunks"),
        insertion_time_sec=seconds("insert"),
        indexing_time_sec=seconds("index"),
        total_time_sec=seconds("ingest"),
        resources=_use(seen.building),
    )


def _use(seen: Mapping[str, Any] | None) -> Resources | None:
    return None if seen is None else Resources(**{name: seen.get(name) for name in Resources.model_fields})


def _at(material: Material, system: str, k: int, named: Mapping[str, str | None], seen: Seen) -> QueryResult:
    repeats = material.repeats(system)
    latency = across_repeats(repeats)
    return QueryResult(
        top_k=k,
        avg_latency_ms=Spread(**latency) if latency else Spread(median=None, std=None),
        queries_per_second=1000 / latency["median"] if latency and latency["median"] else None,
        avg_similarity=_similarity(material, system, k),
        recall_at_k=Spread(median=material.mean(system, named[f"recall_at_{k}"]), std=None),
        precision_at_k=Spread(median=material.mean(system, named[f"precision_at_{k}"]), std=None),
        mrr=material.mean(system, named[f"mrr_at_{k}"]),
        resources=_use(seen.asking),
    )


def _similarity(material: Material, system: str, k: int) -> float | None:
    """The mean score of the first k results; null beyond the ten that are read."""
    if k > TOP:
        return None
    scores = [row["score"] for rows in material.first(system).values() for row in rows if row["rank"] <= k]
    return sum(scores) / len(scores) if scores else None
