"""S0's files: one JSON file per model and a Markdown comparison (S0-2, S0-19, S0-22, S0-25, S0-26, S0-36, S0-37)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.presets.decisions import preset_trade
from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.export_files import Files, Shape, file_name, json_bytes
from bakeoff.presets.lineage import export_text as words
from bakeoff.presets.lineage.decision_matrix import decision_matrix
from bakeoff.presets.rules import read_bands, weighted_score
from bakeoff.runs import markdown_tables
from bakeoff.runs.compare_runs import compare_runs
from bakeoff.runs.recommend import summary_sentence
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import decide
from bakeoff.types import TableRow

MEASURES = {
    "precision_at_5": ("P", 5),
    "recall_at_10": ("R", 10),
    "mrr": ("RR", None),
    "ndcg_at_5": ("nDCG", 5),
}
CRITERIA = {"precision_at_5": "P@5", "recall_at_10": "R@10", "mrr": "MRR", "ndcg_at_5": "nDCG@5"}
"""The criterion of the preset's data file behind each key."""


class CategoryGroup(Shape, title="Group"):
    """The queries of one category; `count` covers scored ones."""

    precision_at_5: float | None
    recall_at_10: float | None
    mrr: float | None
    ndcg_at_5: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The best system and its run, the verdict, and what quality costs in latency; no trade between runs."""

    best: tuple[ExportContext, str] | None
    sentence: str
    trades: tuple[str, ...] = ()


class LineageModelResults(Shape, title="ModelResults"):
    """One model; `score` is S0-24's weighted score, `band` S0-27..29's reading of it."""

    model: str
    system: str
    run: str
    date: str
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
    by_category: dict[str, CategoryGroup]
    by_difficulty: dict[str, CategoryGroup]


def export_lineage(material: ExportContext) -> Files:
    """One JSON file per model, and the comparison."""
    return export_runs([material])


def export_runs(materials: Sequence[ExportContext]) -> Files:
    """One JSON file per model of one or several runs (S0-48), and a comparison of all, dated by the newest."""
    conclusion = conclude(materials)
    names = model_names(materials)
    models = [
        _model(material, row, names[material.run, row["system"]])
        for material in materials
        for row in material.systems
    ]
    contents = {f"{file_name(model.model)}_results.json": json_bytes(model) for model in models}
    schemas: dict[str, type[Shape]] = dict.fromkeys(contents, LineageModelResults)
    day = max(material.stamp for material in materials)[:8]
    contents[f"embedding_comparison_{day}.md"] = _report(materials, models, conclusion).encode()
    return Files(contents, schemas)


def conclude(materials: Sequence[ExportContext]) -> Conclusion:
    """The verdict of one run, or by quality alone over the systems of several runs with the same truth."""
    if len(materials) == 1:
        (material,) = materials
        advice = material.result.recommendation
        found = (material, advice.system) if advice else None
        return Conclusion(found, summary_sentence(material.result), tuple(preset_trade(material.result)))
    runs = compare_runs([material.result for material in materials])
    verdict = decide(Evidence(runs.comparison))
    name = verdict.system or runs.comparison.best
    homes = {system.name: (system.run, system.label) for system in runs.systems}
    by_run = {material.run: material for material in materials}
    best_of_all = (by_run[homes[name][0]], homes[name][1]) if name else None
    return Conclusion(best_of_all, verdict.sentence)


def model_names(materials: Sequence[ExportContext]) -> dict[tuple[str, str], str]:
    """The engine's names of each run's models (S0-36).

    Models of one run with the same name get short names of their systems; models of several runs, the run's name.
    """
    found: dict[tuple[str, str], str] = {}
    for material in materials:
        names = {row["system"]: _model_name(row) for row in material.systems}
        files = {file_name(name).casefold() for name in names.values()}
        alike = len(files) < len(names)
        found |= {(material.run, name): (material.slugs if alike else names)[name] for name in names}
    times = Counter(file_name(name).casefold() for name in found.values())
    return {
        (run, one): name if times[file_name(name).casefold()] == 1 else f"{name} @ {run}"
        for (run, one), name in found.items()
    }


def _model_name(row: TableRow) -> str:
    """The name the user gave (`as`), else the model parameter, else the embedder's name; bm25 has its mode's."""
    label, parts = row["embedder"], json.loads(row["params"])
    if label is None:
        return str(row["mode"])
    _, plugin, _, params = parts[1] if len(parts) > 1 and parts[1] else ("", label, "", {})
    if label != plugin and not label.startswith(f"{plugin}("):
        return str(label)
    return str(params.get("model") or label)


def _model(material: ExportContext, row: TableRow, name: str) -> LineageModelResults:
    system = row["system"]
    named = {alias: material.pick(*name) for alias, name in MEASURES.items()}
    means = {alias: material.mean(system, measure) for alias, measure in named.items()}
    latency = material.result.timing(system, "total", "mean_ms")
    known = {criterion: means[alias] for alias, criterion in CRITERIA.items()}
    known |= {"latency_ms": latency, "dims": row["dims"]}
    return LineageModelResults(
        model=name,
        system=system,
        run=material.run,
        date=material.result.record.started[:10],
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


def _groups(
    material: ExportContext, system: str, named: Mapping[str, str | None], label: str
) -> dict[str, CategoryGroup]:
    parts = {alias: material.groups(system, measure, label) for alias, measure in named.items()}
    first = parts["precision_at_5"]
    return {
        name: CategoryGroup(
            **{alias: groups[name][0] for alias, groups in parts.items()}, count=first[name][1]
        )
        for name in first
    }


def _report(
    materials: Sequence[ExportContext], models: list[LineageModelResults], conclusion: Conclusion
) -> str:
    rows = [row for material in materials for row in material.systems]
    sizes = words.index_sizes(rows)
    lines = [
        "# Embedding comparison",
        "",
        f"{_query_counts(materials)}.",
        "",
        *(
            [markdown_tables.escape_markdown(reviewed.sentence), ""]
            if (reviewed := materials[0].result.reviewed)
            else ()
        ),
        "## Why it matters",
        "",
        *words.rationale(),
        "## Models",
        "",
        *_models(models),
        f"{markdown_tables.escape_markdown(words.formula())} (unclamped).",
        "",
        *([words.OTHER_DAYS, ""] if len(materials) > 1 else ()),
        *_matrix(materials),
        *(_in_words(*conclusion.best, models) if conclusion.best else ()),
        "## Dimensions",
        "",
        words.DIMENSIONS,
        *([sizes] if sizes else ()),
        "",
        "## Recommendation",
        "",
        markdown_tables.escape_markdown(conclusion.sentence),
        *(
            f"\nQuality against latency: {markdown_tables.escape_markdown(line)}"
            for line in conclusion.trades
        ),
    ]
    return "\n".join(lines) + "\n"


def _models(models: list[LineageModelResults]) -> list[str]:
    """The table of models, best score first; with run and date if there are several runs."""
    several = len({model.run for model in models}) > 1
    headings = ["model", "P@5", "R@10", "MRR", "nDCG@5", "latency ms", "dims", "score", "band"]
    ranked = sorted(models, key=lambda model: (model.score is None, -(model.score or 0.0)))
    rows = [
        [m.model, *map(_format_value, (m.precision_at_5, m.recall_at_10, m.mrr, m.ndcg_at_5, m.avg_latency_ms)),
         m.dimensions if m.dimensions is not None else "–", _format_value(m.score), m.band,
         *([m.run, m.date] if several else ())]
        for m in ranked
    ]  # fmt: skip
    return list(markdown_tables.table([*headings, *(["run", "date"] if several else ())], rows))


def _matrix(materials: Sequence[ExportContext]) -> list[str]:
    """The decision matrix, if the current model is named (S0-23)."""
    matrix = decision_matrix(*(material.result for material in materials))
    if matrix is None:
        return []
    title = ["## Decision matrix", "", markdown_tables.escape_markdown(matrix.finding), ""]
    return [*title, *markdown_tables.table(list(matrix.headings), matrix.rows, left=1)]


def _query_counts(materials: Sequence[ExportContext]) -> str:
    """The number of queries, how many are excluded from means (F48), and the runs."""
    queries = materials[0].queries
    negative = sum(bool(query["negative"]) for query in queries)
    left = f", {negative} of them without a right answer and in no mean" if negative else ""
    runs = ", ".join(markdown_tables.escape_markdown(material.run) for material in materials)
    return f"{len(queries)} queries{left}, run{'s' if len(materials) > 1 else ''} {runs}"


def _in_words(material: ExportContext, system: str, models: list[LineageModelResults]) -> list[str]:
    named = next(model.measures for model in models if (model.run, model.system) == (material.run, system))
    title = f"## The values of {markdown_tables.escape_markdown(system)} in words"
    return [title, "", *words.value_readings(material, system, list(named.values())), ""]


def _format_value(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
