"""Store settings, quality, equal recall, resources, promises."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from bakeoff.benchmark.ann.recall_tuning import (
    TuningRecall,
    expected_recall,
    least_effort,
    split_queries,
)
from bakeoff.benchmark.load_spec import LoadStep, Slo, lowest_rate, max_rate, parse_slo
from bakeoff.benchmark.loop_report import open_report
from bakeoff.benchmark.open_loop import OpenLoop
from bakeoff.benchmark.passes import Pass
from bakeoff.benchmark.resources.usage import Resources
from bakeoff.benchmark.results.speeds import reaches_target
from bakeoff.benchmark.stores import parse_store_specs
from bakeoff.benchmark.targets import LoadTarget, OpenStats
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.neighbours import exact_neighbours
from bakeoff.benchmark.vectors.quality import answer_quality, quality_table
from bakeoff.errors import SettingError, StoreError, UnknownPluginError
from bakeoff.types import Hits


def sure(recall: float) -> TuningRecall:
    """A recall without uncertainty."""
    return TuningRecall(recall, recall)


def hits(ids: list[int]) -> Hits:
    return Hits(np.array(ids, np.int64), -np.arange(len(ids), dtype=np.float64))


def test_stores_of_a_command_line() -> None:
    pytest.importorskip("faiss")
    exact, graph, cells, flat = parse_store_specs(
        ["exact", "faiss", "faiss:build.index=ivf;build.lists=8", "faiss:build.index=flat"]
    )
    assert exact.knob is None and flat.knob is None
    assert graph.knob is not None and (graph.knob.name, graph.knob.counts_rows) == ("ef", True)
    assert cells.knob is not None and (cells.knob.name, cells.knob.high) == ("probes", 8)
    assert cells.params.build.lists == 8 and graph.query(99).ef == 99
    assert graph.grid(40) == (64, 128, 256) and graph.grid(1000) == (1000,) and exact.grid(10) == (None,)
    assert exact.setting(None) == "default" and cells.setting(4) == "probes=4"


@pytest.mark.parametrize("spec", ["faiss:build.index=tree", "faiss:nothing=1", "faiss:m", "exact:x=1"])
def test_settings_that_are_none(spec: str) -> None:
    with pytest.raises(SettingError, match="--stores"):
        parse_store_specs([spec])


def test_stores_that_are_none() -> None:
    with pytest.raises(UnknownPluginError, match="'faiss'"):
        parse_store_specs(["fais"])
    with pytest.raises(SettingError, match="twice"):
        parse_store_specs(["exact", "exact"])
    with pytest.raises(SettingError):
        parse_store_specs(["tantivy"])
    with pytest.raises(SettingError):
        parse_store_specs([""])


def test_quality_identity_of_recall_and_precision() -> None:
    """S1-10: with 100 true neighbours R100@k is P@k · k / 100."""
    dataset = open_dataset("synthetic:2000x8", queries=30)
    truth = exact_neighbours(dataset.base, dataset.queries, dataset.metric, 100)
    answers = [hits([int(i) for i in [*row[:7], *row[97:100]]]) for row in truth.ids]
    found = answer_quality(answers, truth, dataset, 10)
    assert found.knn == pytest.approx(0.7) and found.r100 == pytest.approx(0.10)
    assert found.precision == 1.0 and found.mrr == 1.0 and found.short == 0


def test_mrr_and_short_answers() -> None:
    dataset = open_dataset("synthetic:2000x8", queries=2)
    truth = exact_neighbours(dataset.base, dataset.queries, dataset.metric, 100)
    far = [i for i in range(2000) if i not in truth.ids[0]]
    found = answer_quality([hits([far[0], far[1], int(truth.ids[0, 0])]), None], truth, dataset, 10)
    assert found.mrr == pytest.approx(1 / 3) and found.knn == pytest.approx(0.1)
    assert found.short == 1 and found.queries == 1


def test_an_equally_near_row_counts() -> None:
    dataset = open_dataset("synthetic:500x8", queries=3)
    doubled = replace(dataset, base=np.vstack([dataset.base, dataset.base]))
    truth = exact_neighbours(doubled.base, doubled.queries, doubled.metric, 100)
    answers = [hits([int((i + 500) % 1000) for i in row[:5]]) for row in truth.ids]
    assert answer_quality(answers, truth, doubled, 5).knn == 1.0


def test_small_bases_have_no_r100() -> None:
    dataset = open_dataset("synthetic:50x8", queries=3)
    truth = exact_neighbours(dataset.base, dataset.queries, dataset.metric, 50)
    found = answer_quality([hits(row[:10].tolist()) for row in truth.ids], truth, dataset, 10)
    assert found.knn == 1.0 and found.r100 is None and found.precision is None and found.mrr is None


@pytest.mark.parametrize(
    ("ids", "message"), [([1, 1], "twice"), ([5], "row 5"), ([1, 2, 3], "3 rows instead of 2")]
)
def test_answers_that_cannot_be(ids: list[int], message: str) -> None:
    with pytest.raises(StoreError, match=message):
        quality_table([hits(ids)], 2, 5)


@pytest.mark.parametrize("needed", [1, 2, 3, 37, 100])
def test_bisection_finds_the_smallest(needed: int) -> None:
    asked: list[int] = []

    def recall(value: int) -> TuningRecall:
        asked.append(value)
        return sure(0.96 if value >= needed else 0.9)

    found = least_effort(recall, 0.95, 1, 100)
    assert found.value == needed and found.reached and found.recall == 0.96
    assert len(asked) == len(set(asked)) <= 15


@pytest.mark.parametrize("needed", [1, 2, 3, 37, 100])
def test_bisection_where_recall_falls_finds_the_largest(needed: int) -> None:
    found = least_effort(lambda value: sure(0.96 if value <= needed else 0.9), 0.95, 1, 100, falling=True)
    assert found.value == needed and found.reached and len(found.tried) <= 15


def test_bisection_that_cannot_reach() -> None:
    found = least_effort(lambda value: sure(value / 200), 0.95, 1, 100)
    assert not found.reached and found.value == 100 and found.recall == 0.5


def test_split_is_disjoint_and_seeded() -> None:
    tuning, rest = split_queries(101, 7)
    assert sorted([*tuning, *rest]) == list(range(101)) and (split_queries(101, 7)[0] == tuning).all()
    with pytest.raises(SettingError):
        split_queries(39, 7)


def test_a_recall_at_the_target_is_the_figure_itself() -> None:
    assert reaches_target(0.95, 0.95) and not reaches_target(0.9499, 0.95) and not reaches_target(None, 0.95)


def test_tuning_needs_a_margin_above_the_target() -> None:
    """At 0.953 ± 0.005 the other half is as likely to be below 0.95 as above it."""

    def recall(value: int) -> TuningRecall:
        return expected_recall(min(1.0, 0.94 + value / 1000), 0.005 if value < 60 else 0.0, 250)

    found = least_effort(recall, 0.95, 1, 100)
    margin = 3.123 * 0.005 * 2**0.5  # Student's 99.9 % quantile at 249 degrees of freedom
    assert found.reached and found.recall == pytest.approx(0.973) and found.value == 33
    assert found.bound == pytest.approx(0.973 - margin, abs=1e-4)
    assert not least_effort(lambda _: expected_recall(0.96, 0.01, 100), 0.95, 1, 100).reached


APART = """\
import subprocess, sys, time
import numpy
from bakeoff.benchmark.resources.usage import Sampler

busy = "import sys, time\\nprint('up', flush=True)\\nsys.stdin.readline()\\nwhile time.process_time() < 2: pass\\nprint('done', flush=True)\\ntime.sleep(600)"
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
with Sampler() as sampler, subprocess.Popen([sys.executable, "-c", busy], **pipes) as child:
    child.stdout.readline()
    sampler._take_sample(scan=True)
    child.stdin.write(b"\\n")
    child.stdin.flush()
    until = time.process_time() + 0.3
    while time.process_time() < until: pass
    child.stdout.readline()
    sampler._take_sample(scan=True)
    child.kill()
found = sampler.result
assert found.server.avg_cpu_percent > found.client.avg_cpu_percent > 0, found
assert 0 < found.server.peak_memory_mb < found.client.peak_memory_mb, found
"""


@pytest.mark.slow
def test_resources_of_client_and_server_apart() -> None:
    """In a process of its own: engines that other tests left running would be seen as its children."""
    subprocess.run([sys.executable, "-c", APART], check=True)


def test_promises() -> None:
    assert parse_slo("p99<50ms") == Slo(99, 50.0) and parse_slo("p50 < 2s") == Slo(50, 2000.0)
    assert parse_slo("p95<=500us").milliseconds == 0.5
    assert lowest_rate(Slo(99, 1), 5) == 100
    for text in ("p99", "p98<5ms", "p99<5", "p99<.ms", "99<5ms"):
        with pytest.raises(SettingError, match="--slo"):
            parse_slo(text)


def test_highest_rate_by_bisection() -> None:
    use = Resources.none()

    def send(rate: float) -> Pass:
        latency = np.full(1000, 1_000_000 if rate <= 700 else 90_000_000, np.int64)
        loop = OpenLoop(latency, latency * 0, rate, 1000 / rate, (1.0, 1.0), 4, (), 0, 0, "")
        target = LoadTarget("one", "exact", lambda *_: None, (), (), 10, OpenStats(0.0, None, None, use))
        report = open_report(loop, target, use.client, began=0, ended=10**9)
        step = LoadStep("open", 4, rate)
        return Pass(system="one", load=step, run=0, loop=report, harness_seconds=None, resources=use)

    found = max_rate(send, Slo(99, 50.0), 100)
    assert found.rate == 700 and [rate for rate, _ in found.tried[:4]] == [100, 200, 400, 800]
    assert max_rate(send, Slo(99, 0.5), 100).rate is None
    assert max_rate(send, Slo(99, 500.0), 100, highest=1000).rate == 1000
