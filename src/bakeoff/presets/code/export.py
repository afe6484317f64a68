"""S2's files: benchmark.json and a report, with file-level and answer-level figures (S2-2, S2-12, S2-23..26)."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.export_files import Files, Shape, json_bytes
from bakeoff.runs import markdown_tables
from bakeoff.runs.recommend import summary_sentence
from bakeoff.runs.stored_times import START, embed_speeds
from bakeoff.types import TableRow

FILE = {
    "ndcg_at_10": ("nDCG", 10),
    "mrr": ("RR", None),
    "recall_at_10": ("R", 10),
    "precision_at_1": ("P", 1),
}
REPORT = "public_embedding_benchmark_report.md"
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
    """One system; `embeddings_measured` names the earlier run that measured the speed, null if it was this one.

    The speed excludes the model's start, which is in `model_start_seconds`, always from this run.
    """

    model: str | None
    strategy: str
    mode: str
    file_level: FileLevel
    answer_level: AnswerLevel
    embeddings_per_second: float | None
    embeddings_measured: str | None
    model_start_seconds: float | None
    dimensions: int | None
    chunks: int | None


class Benchmark(Shape):
    """The whole file."""

    name: str
    timestamp: str
    queries: int
    results: list[ModelRow]


def export_code(material: ExportContext) -> Files:
    """benchmark.json, and its table as a Markdown report."""
    record = material.result.record
    shape = Benchmark(
        name=record.name,
        timestamp=record.started,
        queries=len(material.queries),
        results=[_row(material, row) for row in material.systems],
    )
    contents = {"benchmark.json": json_bytes(shape), REPORT: _report(material, shape).encode()}
    return Files(contents, {"benchmark.json": Benchmark})


def _report(material: ExportContext, shape: Benchmark) -> str:
    """The verdict first, then every model with the level of each figure in its heading (C-28)."""
    headings = [
        "model",
        "chunker",
        "mode",
        *(f"file {name}" for name in FILE),
        *(f"answer {name}" for name in ANSWER),
    ]
    rows = [
        [row.model or "–", row.strategy, row.mode, *_level_lines(row.file_level), *_level_lines(row.answer_level),
         *_speed(material, index)]
        for index, row in enumerate(shape.results)
    ]  # fmt: skip
    earlier = dict.fromkeys(row.embeddings_measured for row in shape.results if row.embeddings_measured)
    lines = [
        "# Embedding benchmark",
        "",
        f"**In short:** {markdown_tables.escape_markdown(summary_sentence(material.result))}",
        "",
        f"{shape.queries} queries, run {markdown_tables.escape_markdown(material.result.record.run)}. "
        "“file” counts whole files, “answer” "
        "whether a result contained the answer itself; a dash means not measured. Speeds come from this run, or have "
        "the date of the run that made the vectors.",
        "",
        *markdown_tables.table([*headings, START, "emb/sec"], rows, left=3),
        *(f"emb/sec {markdown_tables.escape_markdown(note)}." for note in earlier),
    ]
    return "\n".join(lines)


def _level_lines(level: FileLevel | AnswerLevel) -> list[str]:
    return ["–" if value is None else f"{value:.3f}" for value in level.model_dump().values()]


def _row(material: ExportContext, row: TableRow) -> ModelRow:
    system = row["system"]
    speed = embed_speeds(material.result).get(system)
    return ModelRow(
        model=row["embedder"],
        strategy=row["chunker"],
        mode=row["mode"],
        file_level=FileLevel(**_means(material, system, FILE, "document")),
        answer_level=AnswerLevel(**_means(material, system, ANSWER, "answer")),
        embeddings_per_second=speed.speed.value if speed else None,
        embeddings_measured=(speed.speed.note or None) if speed else None,
        model_start_seconds=speed.start.value if speed else None,
        dimensions=row["dims"],
        chunks=row["chunks"],
    )


def _means(
    material: ExportContext, system: str, wanted: Mapping[str, tuple[str, int | None]], unit: str
) -> dict[str, float | None]:
    """The means of the measures of one unit; None if the run lacks one."""
    return {alias: material.mean(system, material.pick(name, k, unit)) for alias, (name, k) in wanted.items()}


def _speed(material: ExportContext, index: int) -> tuple[str, str]:
    found = embed_speeds(material.result).get(material.systems[index]["system"])
    return (found.start_text, found.speed_text) if found else ("–", "–")
