"""Measures a baseline again and compares quality, model vectors, results, latency and kinds of questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bakeoff.runs.analysis import Result
from bakeoff.runs.compare_runs import changed_models
from bakeoff.runs.gate import GateResult, GateRules, run_gate, same_systems
from bakeoff.types import Role

if TYPE_CHECKING:
    import numpy as np

    from bakeoff.protocols import Embedder

OVERLAP_DEPTH = 10
DRIFT_LEVEL = 0.01
FAR_SHARE = 0.05
SHOWN_QUESTIONS = 3
FEWEST_QUESTIONS = 5
PER_SYSTEM = {"results": "enough top results are unchanged", "latency": "p50 is within the limit"}
"""Checks with one finding per system, and the sentence if all of them pass."""


class WatchLevel(StrEnum):
    """Severity of a finding."""

    FINE = "fine"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WatchFinding:
    """Outcome of one check as a sentence."""

    check: str
    level: WatchLevel
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRules:
    """Tolerances: points of the measure, the share of unchanged results, and the slow-down factor."""

    margin: float = 0.02
    overlap: float = 0.9
    slower: float = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchReport:
    """All findings of a watch, and the gate's result."""

    gate: GateResult
    findings: tuple[WatchFinding, ...]

    def passed(self, *, strict: bool = False) -> bool:
        """Whether nothing failed; `strict` also forbids warnings."""
        bad = {WatchLevel.FAILED, WatchLevel.WARNING} if strict else {WatchLevel.FAILED}
        return not any(one.level in bad for one in self.findings)

    @property
    def shown(self) -> tuple[WatchFinding, ...]:
        """The findings to print: a check that passed for every system is one line."""
        quiet = [one for one in self.findings if one.level is WatchLevel.FINE and one.check in PER_SYSTEM]
        counts = Counter(one.check for one in quiet)
        rest = [one for one in self.findings if one not in quiet]
        return (
            *rest,
            *(
                WatchFinding(
                    check, WatchLevel.FINE, f"{PER_SYSTEM[check]}: {n} {'system' if n == 1 else 'systems'}"
                )
                for check, n in counts.items()
            ),
        )


def watch_runs(
    baseline: Result,
    again: Result,
    rules: WatchRules,
    *,
    renamed: Mapping[str, str] | None = None,
    drift: WatchFinding | None = None,
) -> WatchReport:
    """Compare a new run of the same experiment with its baseline; `drift` is the finding about new questions."""
    gate = run_gate(baseline, again, GateRules(rules.margin), renamed=renamed)
    labels = same_systems(baseline, again, renamed or {})
    findings = (
        *_failure_findings(again),
        _gate_finding(gate),
        _model_finding(baseline, again),
        *(_overlap_finding(baseline, again, old, new, rules) for old, new in labels.items()),
        *(_latency_finding(baseline, again, old, new, rules) for old, new in labels.items()),
        *([drift] if drift else []),
    )
    return WatchReport(gate=gate, findings=findings)


def _failure_findings(again: Result) -> list[WatchFinding]:
    """One finding per system that failed in the new run, with its reason."""
    return [
        WatchFinding("systems", WatchLevel.FAILED, f"{system} failed: {reason}")
        for system, reason in again.failed.items()
    ]


def _gate_finding(gate: GateResult) -> WatchFinding:
    lost = [one.system for one in gate.systems if not one.passed]
    if not lost:
        return WatchFinding(
            "quality", WatchLevel.FINE, f"no system lost {gate.rules.margin:g} {gate.measure} or more"
        )
    text = f"not shown to lose less than {gate.rules.margin:g} {gate.measure}: {'; '.join(lost)}"
    return WatchFinding("quality", WatchLevel.FAILED, text)


def _model_finding(baseline: Result, again: Result) -> WatchFinding:
    changed = changed_models(baseline.record, again.record)
    if changed:
        return WatchFinding("models", WatchLevel.FAILED, " ".join(changed))
    before, after = ({(one.embedder, one.model) for one in run.record.canaries} for run in (baseline, again))
    if missing := sorted(name for name, _ in before - after):
        text = f"not compared: {', '.join(missing)} made no vectors in the new run"
        return WatchFinding("models", WatchLevel.WARNING, text)
    return WatchFinding("models", WatchLevel.FINE, "every model returns the same vectors as before")


def _overlap_finding(baseline: Result, again: Result, old: str, new: str, rules: WatchRules) -> WatchFinding:
    """How many of the top results are unchanged."""
    before, after = _first_results(baseline, old), _first_results(again, new)
    shares = [
        len(before[query] & after[query]) / max(len(before[query]), len(after[query]), 1)
        for query in before.keys() & after.keys()
        if before[query] or after[query]
    ]
    share = sum(shares) / len(shares) if shares else 1.0
    level = WatchLevel.FINE if share >= rules.overlap else WatchLevel.WARNING
    return WatchFinding(
        "results", level, f"{old}: {share:.0%} of the top {OVERLAP_DEPTH} results are unchanged"
    )


def _first_results(result: Result, system: str) -> dict[str, set[tuple[str, int, int]]]:
    import pyarrow.compute as pc

    table = result.rankings
    chosen = table.filter(
        pc.and_(pc.equal(table["system"], system), pc.less_equal(table["rank"], OVERLAP_DEPTH))
    )
    results: dict[str, set[tuple[str, int, int]]] = {
        query: set() for query in result.queries["query_id"].to_pylist()
    }
    for row in chosen.select(["query_id", "document_id", "start", "end"]).to_pylist():
        results[row["query_id"]].add((row["document_id"], row["start"], row["end"]))
    return results


def _latency_finding(baseline: Result, again: Result, old: str, new: str, rules: WatchRules) -> WatchFinding:
    before, after = baseline.timing(old, "total", "p50_ms"), again.timing(new, "total", "p50_ms")
    if not before or after is None:
        return WatchFinding("latency", WatchLevel.FINE, f"{old}: not measured in both runs")
    level = WatchLevel.WARNING if after > before * rules.slower else WatchLevel.FINE
    return WatchFinding("latency", level, f"{old}: p50 {before:.3g} ms before, {after:.3g} ms now")


def question_drift(judged: Sequence[str], new: Sequence[str], embedder: Embedder) -> WatchFinding:
    """Whether new questions resemble the judged ones, by cosine to the nearest judged question.

    A judged question is compared with the other judged ones, so both sides are comparable.
    """
    import numpy as np
    from scipy.stats import mannwhitneyu

    if len(judged) < FEWEST_QUESTIONS or len(new) < FEWEST_QUESTIONS:
        text = f"not compared: {len(new)} new and {len(judged)} judged questions; {FEWEST_QUESTIONS} of each are needed"
        return WatchFinding("questions", WatchLevel.WARNING, text)
    judged_rows, new_rows = (_unit_rows(embedder.embed(texts, Role.QUERY)) for texts in (judged, new))
    between = judged_rows @ judged_rows.T
    np.fill_diagonal(between, -1.0)
    usual, nearest = between.max(axis=1), (new_rows @ judged_rows.T).max(axis=1)
    p = float(mannwhitneyu(nearest, usual, alternative="less").pvalue)
    far = nearest < np.quantile(usual, FAR_SHARE)
    text = f"{far.mean():.0%} of {len(new)} new questions are unlike every judged one (p {p:.3g})"
    if p > DRIFT_LEVEL:
        return WatchFinding("questions", WatchLevel.FINE, text)
    examples = "; ".join(new[place] for place in np.argsort(nearest)[:SHOWN_QUESTIONS])
    return WatchFinding("questions", WatchLevel.WARNING, f"{text}. Judge questions such as: {examples}")


def _unit_rows(vectors: np.ndarray) -> np.ndarray:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
