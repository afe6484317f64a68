"""S0's files: one JSON a model and a Markdown comparison (S0-2, S0-19, S0-22, S0-25, S0-26, S0-36, S0-37)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from bakeoff.decision_matrix import decision_matrix
from bakeoff.presetrules import preset_trade
from bakeoff.report import marks
from bakeoff.report.exports import lineage_text as words
from bakeoff.report.exports.files import Files, Shape, json_bytes
from bakeoff.report.exports.material import Material
from bakeoff.stats.presets import read_bands, weighted_score

MEASURES = {
    "precision_at_5": ("P", 5),
    "recall_at_10": ("R", 10),
    "mrr": ("RR", None),
    "ndcg_at_5": ("nDCG", 5),
}
CRITERIA = {"precision_at_5": "P@5", "recall_at_10": "R@10", "mrr": "MRR", "ndcg_at_5": "nDCG@5"}
"""The criterion of the preset's data file behind each key."""


class Group(Shape):
    """The queries of one category; `count` is of those that were scored."""

    precision_at_5: float | None
    recall_at_10: float | None
    mrr: float | None
    ndcg_at_5: float | None
    count: int


class ModelResults(Shape):
    """One model; `score` is S0-24's weighted score, `band` S0-27..29's reading of it."""

    model: str
    system: str
    total_queries: int
    precision_at_5: float | None
    recall_at_10: float | None
    mrr: float | None
    ndcg_at_5: float | None
    avg_latency_ms: float | None
    dimensions: int | None
    score: float | None
    band: str
    measures: dict[str, str | None]
    by_category: dict[str, Group]
    by_difficulty: dict[str, Group]


def export(material: Material) -> Files:
    """A JSON file a model, and the comparison."""
    names = model_names(material)
    models = [_model(material, row, names[row["system"]]) for row in material.systems]
    contents = {f"{file_name(model.model)}_results.json": json_bytes(model) for model in models}
    schemas: dict[str, type[Shape]] = dict.fromkeys(contents, ModelResults)
    contents[f"embedding_comparison_{material.stamp[:8]}.md"] = _report(material, models).encode()
    return Files(contents, schemas)


def model_names(material: Material) -> dict[str, str]:
    """The name of each system's model as its engine has it (S0-36); short names of the systems where two are alike."""
    names = {row["system"]: _model_name(row) for row in material.systems}
    files = {file_name(name).casefold() for name in names.values()}
    return names if len(files) == len(names) else material.slugs


def _model_name(row: Mapping[str, Any]) -> str:
    """The name the user gave (`as`), else the model parameter, else the embedder's name; bm25 has its mode's."""
    label, parts = row["embedder"], json.loads(row["params"])
    if label is None:
        return str(row["mode"])
    _, plugin, _, params = parts[1] if len(parts) > 1 and parts[1] else ("", label, "", {})
    if label != plugin and not label.startswith(f"{plugin}("):
        return str(label)
    return str(params.get("model") or label)


def file_name(model: str) -> str:
    """A model's name as part of a file name: nomic-embed-text stays, BAAI/bge becomes BAAI-bge."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"


def _model(material: Material, row: Mapping[str, Any], name: str) -> ModelResults:
    system = row["system"]
    named = {alias: material.pick(*name) for alias, name in MEASURES.items()}
    means = {alias: material.mean(system, measure) for alias, measure in named.items()}
    latency = material.result.timing(system, "total", "mean_ms")
    known = {criterion: means[alias] for alias, criterion in CRITERIA.items()}
    known |= {"latency_ms": latency, "dims": row["dims"]}
    return ModelResults(
        model=name,
        system=system,
        total_queries=len(material.queries),
        **means,
        avg_latency_ms=latency,
        dimensions=row["dims"],
        score=weighted_score(known).value,
        band=read_bands(known).overall,
        measures=named,
        by_category=_groups(material, system, named, "category"),
        by_difficulty=_groups(material, system, named, "difficulty"),
    )


def _groups(material: Material, system: str, named: Mapping[str, str | None], label: str) -> dict[str, Group]:
    parts = {alias: material.groups(system, measure, label) for alias, measure in named.items()}
    first = parts["precision_at_5"]
    return {
        name: Group(**{alias: groups[name][0] for alias, groups in parts.items()}, count=first[name][1])
        for name in first
    }


def _report(material: Material, models: list[ModelResults]) -> str:
    headings = ["model", "P@5", "R@10", "MRR", "nDCG@5", "latency ms", "dims", "score", "band"]
    ranked = sorted(models, key=lambda model: (model.score is None, -(model.score or 0.0)))
    rows = [
        [m.model, *map(_shown, (m.precision_at_5, m.recall_at_10, m.mrr, m.ndcg_at_5, m.avg_latency_ms)),
         m.dimensions if m.dimensions is not None else "–", _shown(m.score), m.band]
        for m in ranked
    ]  # fmt: skip
    best = material.result.verdict.system or material.result.comparison.best
    lines = [
        "# Embedding comparison",
        "",
        f"{_counted(material)}, run {marks.plain(material.result.record.run)}.",
        "",
        "## Why it matters",
        "",
        *words.why(),
        "## Models",
        "",
        *marks.table(headings, rows),
        f"{marks.plain(words.formula())} (unclamped).",
        "",
        *_matrix(material),
        *(_in_words(material, best, models) if best else ()),
        "## Dimensions",
        "",
        words.DIMENSIONS,
        *([words.sizes(material)] if words.sizes(material) else ()),
        "",
        "## Recommendation",
        "",
        marks.plain(material.result.verdict.sentence),
        *(f"\nQuality against latency: {marks.plain(line)}" for line in preset_trade(material.result)),
    ]
    return "\n".join(lines) + "\n"


def _matrix(material: Material) -> list[str]:
    """The decision matrix, where the current model is named (S0-23)."""
    matrix = decision_matrix(material.result)
    if matrix is None:
        return []
    title = ["## Decision matrix", "", marks.plain(matrix.finding), ""]
    return [*title, *marks.table(list(matrix.headings), matrix.rows, left=1)]


def _counted(material: Material) -> str:
    """How many queries there are, and how many of them are in no mean (F48)."""
    negative = sum(bool(query["negative"]) for query in material.queries)
    left = f", {negative} of them without a right answer and in no mean" if negative else ""
    return f"{len(material.queries)} queries{left}"


def _in_words(material: Material, system: str, models: list[ModelResults]) -> list[str]:
    named = next(model.measures for model in models if model.system == system)
    title = f"## The values of {marks.plain(system)} in words"
    return [title, "", *words.readings(material, system, list(named.values())), ""]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
