"""A comparison on disk: record.json, passes.parquet, and the raw nanoseconds of every finished pass (F40)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bakeoff.benchmark.ann.compare_stores import AnnOutcome
from bakeoff.benchmark.ann.sweep import SweepPass, SweepPoint
from bakeoff.benchmark.ann.verdict import closing_sentences, compare_tuned_stores
from bakeoff.benchmark.results.records import make_record, write_record, write_rows
from bakeoff.benchmark.results.speeds import reaches_target
from bakeoff.benchmark.stores import BuiltStore
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.stats.repeat_summary import RunSummary
from bakeoff.storage.schemas import Schema
from bakeoff.types import JsonObject

PASSES = Schema(
    "passes",
    (
        ("system", "string"),
        ("setting", "string"),
        ("run", "int32"),
        ("knn", "double"),
        ("r100", "double"),
        ("precision", "double"),
        ("mrr", "double"),
        ("queries", "int64"),
        ("short", "int64"),
        ("qps_serial_derived", "double"),
        ("threads", "int32"),
        ("qps_measured", "double"),
        ("harness_share", "double"),
        ("errors", "int64"),
        ("timeouts", "int64"),
        ("stopped", "string"),
    ),
)
"""One row per pass and number of threads; null means not measured."""
LATENCIES = Schema(
    "latencies", (("system", "string"), ("setting", "string"), ("run", "int32"), ("ns", "int64"))
)


def save_record(folder: Path, outcome: AnnOutcome, one: SweepPass | None) -> None:
    """Write the results so far, and the samples of the pass that has just ended."""
    (folder / "latencies").mkdir(parents=True, exist_ok=True)
    if one is not None:
        name = f"{len(outcome.passes):04d}.parquet"
        write_rows(folder / "latencies" / name, LATENCIES, _samples(one))
        write_rows(folder / "passes.parquet", PASSES, _pass_rows(outcome.passes))
    write_record(folder, to_dict(outcome))


def to_dict(outcome: AnnOutcome) -> dict[str, object]:
    """Everything but the samples, as plain values."""
    dataset, options = outcome.dataset, outcome.options
    flags, sentences = outcome.on_front(), closing_sentences(outcome)
    content = {
        "verdict": " ".join(one.text for one in sentences),
        "sentences": [one.to_dict() for one in sentences],
        "dataset": {
            **dataset.facts(),
            "duplicates": dataset.duplicates,
            "queries_in_base": dataset.leaked,
            "notes": list(dataset.notes),
        },
        "options": asdict(options),
        "harness_us": {str(threads): seconds * 1e6 for threads, seconds in outcome.harness.items()},
        "stores": [_store(built, outcome) for built in outcome.built],
        "failed": outcome.failed,
        "unreached": outcome.unreached,
        "left": outcome.left,
        "points": [
            _point(point, on_front, outcome) for point, on_front in zip(outcome.points(), flags, strict=True)
        ],
        "comparisons": [asdict(pair) for pair in compare_tuned_stores(outcome)],
    }
    return make_record("ann", outcome.status, outcome.stopped, content)


def _store(built: BuiltStore, outcome: AnnOutcome) -> dict[str, object]:
    tuned = outcome.tuned.get(built.candidate.label)
    return {
        "system": built.candidate.label,
        "store": built.candidate.name,
        "collection": built.collection.name,
        "params": built.candidate.params.model_dump(mode="json"),
        "guarantees": [asdict(one) for one in built.candidate.guarantees()],
        "insert_s": built.insert_seconds,
        "index_s": built.index_seconds,
        "build_time_s": built.build_seconds,
        "index_mb": None if built.index_bytes is None else built.index_bytes / 1e6,
        "index_is": "in a server" if built.elsewhere else "vectors in memory" if built.in_memory else "files",
        "memory": asdict(outcome.memory[built.candidate.label]),
        "resources": asdict(built.resources),
        "tuned": asdict(tuned) if tuned is not None else None,
    }


def _point(point: SweepPoint, on_front: bool, outcome: AnnOutcome) -> JsonObject:
    k, target, quality = outcome.options.k, outcome.options.target, point.quality
    used = [
        one.resources for one in outcome.passes if (one.system, one.setting) == (point.system, point.setting)
    ]
    return {
        "system": point.system,
        "setting": point.setting,
        "runs": point.runs,
        "complete": point.complete,
        "cut_short": point.cut_short,
        "reaches_target": None if target is None else reaches_target(point.knn.median, target),
        "queries": quality.queries,
        f"kNN@{k}": _spread(point.knn),
        f"R100@{k}": quality.r100,
        f"R100@{k}_ceiling": min(1.0, k / TRUE_NEIGHBOURS),
        f"P@{k}": quality.precision,
        f"MRR@{k}": quality.mrr,
        "short_answers": quality.short,
        "latency_across_queries": {row.name: row.to_dict() for row in point.latencies},
        "first_search_ms": point.first_ms,
        "qps_serial_derived": _spread(point.qps_serial_derived),
        "qps_measured": {str(threads): _spread(summary) for threads, summary in point.qps_measured},
        "harness_share": point.harness_share,
        "harness_over_limit": point.harness_over_limit,
        "front": on_front,
        "errors": point.errors,
        "timeouts": point.timeouts,
        "stopped": point.stopped,
        "resources": [asdict(one) for one in used],
    }


def _spread(summary: RunSummary) -> dict[str, object]:
    """Across runs: median, [q1, q3], sample standard deviation, every value (S3-14)."""
    return {
        "across_runs": {
            "runs": summary.n,
            "median": summary.median,
            "iqr": None if summary.q1 is None else [summary.q1, summary.q3],
            "std": summary.sd,
            "values": list(summary.values),
            "note": summary.note,
        }
    }


def _pass_rows(passes: Sequence[SweepPass]) -> list[tuple[object, ...]]:
    return [_row(one, threads, qps) for one in passes for threads, qps in one.qps_measured]


def _row(one: SweepPass, threads: int, qps: float | None) -> tuple[object, ...]:
    quality = one.quality
    return (
        one.system, one.setting, one.run, quality.knn, quality.r100, quality.precision, quality.mrr, quality.queries,
        quality.short, one.qps_serial_derived, threads, qps, one.harness_share, len(one.errors), one.timeouts,
        one.stopped,
    )  # fmt: skip


def _samples(one: SweepPass) -> list[tuple[object, ...]]:
    return [(one.system, one.setting, one.run, int(nanoseconds)) for nanoseconds in one.nanoseconds]
