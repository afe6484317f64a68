"""S2's file: benchmark.json with file-level and answer-level figures (S2-12, S2-23..26)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.report.exports.files import Files, Shape, json_bytes
from bakeoff.report.exports.material import Material

FILE = {
    "ndcg_at_10": ("nDCG", 10),
    "mrr": ("RR", None),
    "recall_at_10": ("R", 10),
    "precision_at_1": ("P", 1),
}
ANSWER = {"hit_at_1": ("Hit", 1), "hit_at_3": ("Hit", 3), "hit_at_5": ("Hit", 5), "mrr_at_10": ("RR", 10)}


class FileLevel(Shape):
    """By file."""

    ndcg_at_10: float | None
    mrr: float | None
    recall_at_10: float | None
    precision_at_1: float | None


class AnswerLevel(Shape):
    """By whether the answer itself was retrieved."""

    hit_at_1: float | None
    hit_at_3: float | None
    hit_at_5: float | None
    mrr_at_10: float | None


class ModelRow(Shape):
    """One system; `embeddings_per_second` is null where the vectors came from an earlier run."""

    model: str | None
    strategy: str
    mode: str
    file_level: FileLevel
    answer_level: AnswerLevel
    embeddings_per_second: float | None
    dimensions: int | None
    chunks: int | None


class Benchmark(Shape):
    """The whole file."""

    name: str
    timestamp: str
    queries: int
    results: list[ModelRow]


def export(material: Material) -> Files:
    """benchmark.json."""
    record = material.result.record
    shape = Benchmark(
        name=record.name,
        timestamp=record.started,
        queries=len(material.queries),
        results=[_row(material, row) for row in material.systems],
    )
    return Files({"benchmark.json": json_bytes(shape)}, {"benchmark.json": Benchmark})


def _row(material: Material, row: Mapping[str, Any]) -> ModelRow:
    system = row["system"]
    return ModelRow(
        model=row["embedder"],
        strategy=row["chunker"],
        mode=row["mode"],
        file_level=FileLevel(**_means(material, system, FILE, "document")),
        answer_level=AnswerLevel(**_means(material, system, ANSWER, "answer")),
        embeddings_per_second=_rate(material, system),
        dimensions=row["dims"],
        chunks=row["chunks"],
    )


def _means(
    material: Material, system: str, wanted: Mapping[str, tuple[str, int | None]], unit: str
) -> dict[str, float | None]:
    """The means of the measures of one unit; None where the run does not have one."""
    return {alias: material.mean(system, material.pick(name, k, unit)) for alias, (name, k) in wanted.items()}


def _rate(material: Material, system: str) -> float | None:
    """Chunks embedded a second in this run; null where nothing was embedded now."""
    for row in material.result.timings.to_pylist():
        if (row["system"], row["phase"]) == (system, "embed_chunks") and row["value"] and row["count"]:
            return float(row["count"] / row["value"])
    return None
