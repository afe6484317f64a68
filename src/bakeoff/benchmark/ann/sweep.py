"""Measures every store at every setting in interleaved runs, so that a slow minute affects all equally (F35)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.benchmark.ann.recall_tuning import TunedSetting, TuningRecall, expected_recall, least_effort
from bakeoff.benchmark.resources.usage import Resources, Sampler
from bakeoff.benchmark.session import rotate
from bakeoff.benchmark.stores import BuiltStore
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.benchmark.vectors.neighbours import ExactNeighbours
from bakeoff.benchmark.vectors.quality import AnswerQuality, answer_quality
from bakeoff.errors import StoreError
from bakeoff.pipeline.loops.closed_loop import HARNESS_LIMIT, WARM_UP, WarmUp, closed_loop, warm_up
from bakeoff.pipeline.loops.loop_times import LatencySummary, LoopTimes, overall_latency, statistics
from bakeoff.stats.repeat_summary import RunSummary, summarise


@dataclass(frozen=True, slots=True)
class SweepJob:
    """What is measured and how; `harness` is the loop's overhead in seconds per query, by threads."""

    dataset: VectorSet
    truth: ExactNeighbours
    k: int
    threads: int
    timeout: float
    harness: dict[int, float]
    seed: int = 7

    def of(self, rows: np.ndarray) -> SweepJob:
        """The same for a subset of the queries."""
        part = replace(self.dataset, queries=self.dataset.queries[rows], neighbours=None)
        return replace(
            self, dataset=part, truth=ExactNeighbours(self.truth.ids[rows], self.truth.distances[rows])
        )


@dataclass(frozen=True, slots=True)
class SweepPass:
    """One run of one store at one setting: with one thread and, if requested, with `threads` threads."""

    system: str
    setting: str
    run: int
    nanoseconds: np.ndarray
    unfinished: int
    quality: AnswerQuality
    qps_serial_derived: float | None
    qps_measured: tuple[tuple[int, float | None], ...]
    harness_share: float | None
    warm_up: WarmUp
    resources: Resources
    errors: tuple[str, ...]
    timeouts: int
    stopped: str

    @property
    def harness_over_limit(self) -> bool:
        """Whether the harness is more than 5 % of what was measured (F38)."""
        return self.harness_share is not None and self.harness_share > HARNESS_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """All complete runs of one store at one setting: medians with spread, percentiles over all samples.

    A run that ended early is counted in `cut_short` and its errors are counted, but no figure is of it; without any
    complete run the figures are of what there is, and `complete` is false.
    """

    system: str
    setting: str
    runs: int
    complete: bool
    cut_short: int
    knn: RunSummary
    quality: AnswerQuality
    latencies: tuple[LatencySummary, ...]
    qps_serial_derived: RunSummary
    qps_measured: tuple[tuple[int, RunSummary], ...]
    harness_share: float | None
    first_ms: float | None
    errors: int
    timeouts: int
    stopped: str

    @property
    def harness_over_limit(self) -> bool:
        """Whether the harness is more than 5 % of what was measured (F38)."""
        return self.harness_share is not None and self.harness_share > HARNESS_LIMIT

    def qps(self, threads: int = 1) -> float | None:
        """The median queries per second; null if not measured with this number of threads."""
        summary = dict(self.qps_measured).get(threads)
        return summary.median if summary is not None else None


def interleave_jobs(systems: Sequence[Sequence[int | None]], run: int) -> list[tuple[int, int | None]]:
    """(system, value) pairs of one run: systems take turns, and each run starts with another."""
    turns = [
        (number, value)
        for step in itertools.zip_longest(*([(n, v) for v in values] for n, values in enumerate(systems)))
        for number, value in filter(None, step)
    ]
    return rotate(turns, run)


def measure_sweep(built: BuiltStore, value: int | None, run: int, work: SweepJob) -> SweepPass:
    """One pass over the queries: warm-up with other vectors, the loops, then conversion and scoring."""
    search, query = built.store.search, built.candidate.query(value)
    queries, others = work.dataset.queries, work.dataset.warm_up(WARM_UP, work.seed)
    with Sampler() as sampler:
        warm = warm_up(search, others, work.k, query, timeout=work.timeout)
        loops: list[LoopTimes] = []
        for threads in dict.fromkeys((1, work.threads)):
            if not any(loop.stopped for loop in loops):
                loops.append(
                    closed_loop(
                        search, queries, work.k, query, threads=threads, timeout=work.timeout, keep=True,
                        before=lambda: search(others[0], work.k, query),
                    )
                )  # fmt: skip
    if not len(loops[0].done) and loops[0].errors:
        raise StoreError(f"every search of run {run + 1} failed: {loops[0].errors[0]}")
    serial = loops[0]
    each = serial.seconds / max(1, len(serial.done))
    return SweepPass(
        system=built.candidate.label,
        setting=built.candidate.setting(value),
        run=run,
        nanoseconds=serial.done,
        unfinished=len(serial.nanoseconds) - len(serial.done),
        quality=answer_quality(serial.answers, work.truth, work.dataset, work.k),
        qps_serial_derived=serial.qps_serial_derived,
        qps_measured=tuple((loop.threads, loop.qps_measured) for loop in loops),
        harness_share=work.harness[1] / each if each > 0 else None,
        warm_up=warm,
        resources=sampler.result,
        errors=tuple(error for loop in loops for error in loop.errors),
        timeouts=sum(loop.timeouts for loop in loops),
        stopped=next((loop.stopped for loop in loops if loop.stopped), ""),
    )


def tune_stores(built: BuiltStore, target: float, work: SweepJob) -> TunedSetting:
    """The smallest setting above the target by a margin on the tuning queries; untimed."""
    candidate, k = built.candidate, work.k

    def recall_at(value: int | None) -> TuningRecall:
        query = candidate.query(value)
        loop = closed_loop(built.store.search, work.dataset.queries, k, query, timeout=work.timeout)
        quality = answer_quality(overall_latency(loop).answers, work.truth, work.dataset, k)
        if quality.knn is None:
            why = loop.errors[0] if loop.errors else "none was sent"
            raise StoreError(f"no tuning search was answered with {candidate.setting(value)}: {why}")
        return expected_recall(quality.knn, quality.knn_error, quality.queries)

    knob = candidate.knob
    if knob is None:
        recall = recall_at(None)
        return TunedSetting(None, recall.mean, recall.bound, recall.bound >= target)
    low, high = knob.bounds(k, len(work.dataset.base))
    return least_effort(recall_at, target, low, high, falling=knob.recall == "falls")


def summarise_points(passes: Sequence[SweepPass]) -> tuple[SweepPoint, ...]:
    """One point per store and setting, in the order first measured."""
    keys = dict.fromkeys((one.system, one.setting) for one in passes)
    return tuple(_point([one for one in passes if (one.system, one.setting) == key]) for key in keys)


def _point(everything: Sequence[SweepPass]) -> SweepPoint:
    passes = [one for one in everything if not one.stopped] or everything
    first = passes[0]
    threads = dict.fromkeys(count for one in passes for count, _ in one.qps_measured)
    measured = [
        (count, summarise([_number(dict(one.qps_measured).get(count)) for one in passes]))
        for count in threads
    ]
    shares = [one.harness_share for one in passes if one.harness_share is not None]
    return SweepPoint(
        system=first.system,
        setting=first.setting,
        runs=len(passes),
        complete=not first.stopped,
        cut_short=sum(bool(one.stopped) for one in everything),
        knn=summarise([_number(one.quality.knn) for one in passes]),
        quality=first.quality,
        latencies=statistics(
            np.concatenate([one.nanoseconds for one in passes]), sum(one.unfinished for one in passes)
        ),
        qps_serial_derived=summarise([_number(one.qps_serial_derived) for one in passes]),
        qps_measured=tuple(measured),
        harness_share=float(np.median(shares)) if shares else None,
        first_ms=everything[0].warm_up.first_ms,
        errors=sum(len(one.errors) for one in everything),
        timeouts=sum(one.timeouts for one in everything),
        stopped=next((one.stopped for one in everything if one.stopped), ""),
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
