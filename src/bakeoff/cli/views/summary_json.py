"""A run's result as JSON: systems, recommendation, verdict, what explains the differences."""

from __future__ import annotations

from dataclasses import asdict

from bakeoff.cli.views.key_measures import key_measures_json
from bakeoff.runs.analysis import Result
from bakeoff.runs.decisive_systems import compares_all
from bakeoff.runs.stored_times import embed_speeds
from bakeoff.runs.vector_forms import form_rows
from bakeoff.runs.verdict import (
    explain_variation,
    verdict_without_leaks,
)
from bakeoff.stats.clusters import EffectiveQuestions
from bakeoff.stats.comparison import SystemSummary
from bakeoff.stats.factors import FactorAnalysis
from bakeoff.stats.recommendation_text import Recommendation
from bakeoff.stats.verdict import Verdict


def result_json(result: Result) -> dict[str, object]:
    """The result as JSON."""
    rows, speeds = [], embed_speeds(result)
    stored = result.systems.select(["system", "vector_bytes"]).to_pylist()
    sizes = {row["system"]: row["vector_bytes"] for row in stored}
    for system in result.done:
        means = {
            name: {
                **mean_json(result.summaries(name)[system]),
                "incomplete_truth": len(result.incomplete(name)),
            }
            for name in result.record.measures
        }
        p50 = result.timing(system, "total", "p50_ms")
        model = speeds.get(system)
        rows.append(
            {
                "system": system,
                "measures": means,
                "p50_ms": p50,
                "index_bytes": index_size(result, system),
                "vector_bytes": sizes[system],
                "embeddings_per_second": model.speed.value if model else None,
                "embeddings_measured": (model.speed.note or None) if model else None,
                "model_start_seconds": model.start.value if model else None,
            }
        )
    outcome: dict[str, object] = {"run": str(result.path), "systems": rows, "failed": result.failed}
    if result.done:
        outcome["recommendation"] = recommendation_json(result.recommendation)
    if result.done and compares_all(result):
        outcome["verdict"] = {**verdict_json(result.verdict), "without_leaks": _without_leaks(result)}
        outcome["questions"] = _questions_json(result.comparison.questions)
        outcome["factors"] = _factors_json(explain_variation(result))
    if forms := list(form_rows(result)):
        outcome["vector_forms"] = forms
    if keys := key_measures_json(result):
        outcome["key_measures"] = keys
    return outcome


def recommendation_json(recommendation: Recommendation | None) -> dict[str, object] | None:
    """A recommendation as JSON."""
    return (
        None
        if recommendation is None
        else {
            **asdict(recommendation),
            "strength": str(recommendation.strength),
            "grounds": str(recommendation.grounds),
        }
    )


def verdict_json(verdict: Verdict) -> dict[str, object]:
    """A verdict as JSON."""
    return {
        "kind": str(verdict.kind),
        "rule": verdict.rule,
        "system": verdict.system,
        "recommended": list(verdict.recommended),
        "holds_level": verdict.holds_level,
        "possible": list(verdict.group),
        "sentence": verdict.sentence,
        "reasons": list(verdict.reasons),
        "would_settle": verdict.would_settle,
    }


def _without_leaks(result: Result) -> dict[str, object] | None:
    """The verdict without queries that occur verbatim in a document; None if there are none."""
    verdict = verdict_without_leaks(result)
    if verdict is None:
        return None
    return {
        "leaked": list(result.record.leaked),
        "kind": str(verdict.kind),
        "system": verdict.system,
        "sentence": verdict.sentence,
    }


def _questions_json(questions: EffectiveQuestions | None) -> dict[str, object] | None:
    """The numbers of questions, of clusters and of effective independent questions."""
    return None if questions is None else {**asdict(questions), "effective": questions.effective}


def _factors_json(analysis: FactorAnalysis | None) -> dict[str, object] | None:
    """Each factor's share of the variation; factors that change together are one entry. None if nothing varies."""
    if analysis is None:
        return None
    shares = [
        {
            "factor": factor.factor,
            "levels": factor.levels,
            "share": factor.adjusted,
            "interval": [factor.low, factor.high],
        }
        for factor in analysis.factors
    ]
    confounded = [list(group) for group in analysis.confounded]
    return {"shares": shares, "confounded": confounded, "notes": list(analysis.notes)}


def mean_json(summary: SystemSummary) -> dict[str, object]:
    """A mean with its interval, as JSON."""
    interval = [summary.interval.low, summary.interval.high]
    return {"mean": summary.mean, "interval": interval, "n": summary.n, "excluded": len(summary.excluded)}


def index_size(result: Result, system: str) -> int | None:
    """The bytes of a system's index; None if unknown."""
    sizes = zip(result.systems["system"].to_pylist(), result.systems["index_bytes"].to_pylist(), strict=True)
    return dict(sizes)[system]
