"""F57: a headline about a threshold that its own table contradicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff import registry
from bakeoff.benchmark.ann import recall_tuning
from bakeoff.benchmark.ann.compare_stores import AnnOptions, AnnOutcome, _check_targets, compare_stores
from bakeoff.benchmark.ann.record import to_dict
from bakeoff.benchmark.ann.sweep import SweepPass
from bakeoff.benchmark.ann.verdict import closing_sentences
from bakeoff.benchmark.resources.memory import IndexMemory
from bakeoff.benchmark.resources.usage import Resources
from bakeoff.benchmark.results.claims import Claim, Sentence, claim, speed_claim, supported_sentences
from bakeoff.benchmark.results.speeds import SpeedRow, SpeedRows, compare_speeds, recall_text, unstable_share
from bakeoff.benchmark.stores import BuiltStore, Collection, StoreSpec
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors.quality import AnswerQuality
from bakeoff.errors import StoreError
from bakeoff.pipeline.loops.closed_loop import WarmUp
from bakeoff.protocols import SearchKnob
from bakeoff.stats.repeat_summary import compare_runs
from bakeoff.storage.cache import Cache
from bakeoff.types import Hits

EXACT = registry.load("stores", "exact")
DATA = open_dataset("synthetic:60x4", queries=40)
SYSTEMS = ("a", "b", "c")


def _build(outcome: AnnOutcome, system: str) -> None:
    candidate = StoreSpec(system, system, EXACT, EXACT.Params(), SearchKnob("ef", high=100))
    collection = Collection(candidate, DATA)
    outcome.built.append(BuiltStore(candidate, None, collection, 1.0, 1.0, None, False, Resources.none()))
    outcome.memory[system] = IndexMemory(None)


def _pass(
    system: str, ef: int, run: int, recall: float | None, rate: float | None, stopped: str
) -> SweepPass:
    quality = AnswerQuality(recall, None, None, None, 0.01, 20, 0)
    return SweepPass(system, f"ef={ef}", run, np.full(20, 1_000_000), 0, quality, rate, ((1, rate),), 0.0,
                WarmUp(0, None, None), Resources.none(), (), 0, stopped)  # fmt: skip


@st.composite
def outcomes(draw: st.DrawFn) -> AnnOutcome:
    """Comparisons of up to three stores with any recalls, speeds, dead servers and sweeps."""
    target = draw(st.sampled_from([0.5, 0.95, None]))
    outcome = AnnOutcome(DATA, AnnOptions(target=target, runs=3))
    recalls = st.none() | st.sampled_from([0.4, 0.49999, 0.5, 0.9376, 0.94996, 0.95, 0.9508, 1.0])
    rates = st.none() | st.floats(1, 1e6, allow_nan=False)
    for system in draw(st.lists(st.sampled_from(SYSTEMS), unique=True)):
        _build(outcome, system)
        efs = draw(st.lists(st.integers(10, 13), min_size=1, max_size=2, unique=True))
        if draw(st.booleans()):
            outcome.tuned[system] = recall_tuning.TunedSetting(efs[0], 0.96, 0.95, True)
        dies = draw(st.none() | st.integers(0, 2))
        for ef in efs if target is None or system in outcome.tuned else ():
            recall = draw(recalls)
            for run in range(3):
                dead = run == dies
                stopped = "25 searches in a row failed" if dead else ""
                outcome.passes.append(_pass(system, ef, run, recall, draw(rates), stopped))
                if dead:
                    outcome.failed[system] = stopped
                    break
    _check_targets(outcome)
    return outcome


def _claims(outcome: AnnOutcome) -> list[Claim]:
    return [made for one in closing_sentences(outcome) for made in one.claims]


def _median(values: list[float]) -> float:
    return float(np.quantile(values, 0.5))


@given(outcomes())
@settings(max_examples=100, deadline=None)
def test_f57_every_sentence_is_what_the_recorded_rows_say(outcome: AnnOutcome) -> None:
    """Checked against record.json alone, by formulas of this test."""
    record = to_dict(outcome)
    target, points = outcome.options.target, record["points"]
    recalls = {(one["system"], one["setting"]): one["kNN@10"]["across_runs"]["median"] for one in points}
    speeds = {
        (one["system"], one["setting"]): one["qps_measured"]["1"]["across_runs"]["values"]
        for one in points
        if one["complete"]
    }
    at_target = {key for key, recall in recalls.items() if recall is not None and recall >= (target or 2)}
    assert "withheld" not in record["verdict"]
    for made in _claims(outcome):
        match made.kind, made.figures:
            case "Reaches", {"system": system, "setting": setting, "recall": recall}:
                assert (system, setting) in at_target and recalls[system, setting] == recall
                assert system not in outcome.failed
            case "OnlyReaches", {"system": system}:
                assert {one for one, _ in at_target} == {system}
            case "NoneReaches", _:
                assert not at_target
            case "BestRecall", {"system": system, "setting": setting, "recall": recall}:
                assert (
                    recall
                    == recalls[system, setting]
                    == max(one for one in recalls.values() if one is not None)
                )
            case "NotCompared", {"system": system, "setting": setting}:
                assert (system, setting) in at_target
            case "Speed", {"system": system, "setting": setting, "spread": spread, **figures}:
                values = speeds[system, setting]
                assert figures["rate"] == pytest.approx(_median(values))
                assert (figures["runs"], figures["with_clients"]) == (len(values), "1 thread")
                noisy = len(values) > 1 and np.std(values, ddof=1) > 0.1 * np.mean(values)
                assert (spread is not None) == noisy
            case "Fastest", {"first": first, "second": second, "ratio": ratio, "p": p}:
                assert ratio >= 1 and first != second and {first, second} <= {one for one, _ in at_target}
                (pair,) = [one for one in record["comparisons"] if {one["a"], one["b"]} == {first, second}]
                assert pair["p_holm"] == p
            case "OnFront", {"settings": found}:
                assert set(found) <= set(speeds)
    named = " ".join(one["text"] for one in record["sentences"])
    assert all(system in named for system in outcome.failed), "a store that failed is named"
    if target is not None and at_target:
        assert "No measured store" not in named


@given(outcomes(), st.data())
@settings(max_examples=100, deadline=None)
def test_f57_a_sentence_of_other_rows_is_withheld(outcome: AnnOutcome, data: st.DataObject) -> None:
    """The rows of the table change under a sentence: no claim about a changed figure is printed."""
    sentences = closing_sentences(outcome)
    rows = outcome.table()
    kinds = ("Reaches", "Speed", "BestRecall", "NotCompared")
    spoken = [one for one in _claims(outcome) if one.kind in kinds]
    if not spoken:
        return
    drawn = data.draw(st.sampled_from(spoken))
    place = (drawn.figures["system"], drawn.figures["setting"])
    kept = tuple(one for one in rows.rows if (one.system, one.setting) != place)
    for changed in supported_sentences(sentences, SpeedRows(kept, rows.failures, rows.seed)):
        assert drawn not in changed.claims


def test_f57_the_same_words_are_refused_next_to_rows_that_do_not_reach() -> None:
    row = SpeedRow("pgvector", "ef=14", (900.0, 910.0, 905.0), 0.9376, compared=True)
    made = claim("Reaches", system="pgvector", setting="ef=14", recall=0.9376, target=0.95)
    (shown,) = supported_sentences([Sentence((made, "."))], SpeedRows((row,)))
    assert not made.holds(SpeedRows((row,))) and shown.claims == ()


def test_f57_a_dead_server_is_named_and_its_good_row_is_not_denied() -> None:
    outcome = AnnOutcome(DATA, AnnOptions(target=0.95, runs=3))
    _build(outcome, "pgvector")
    outcome.tuned["pgvector"] = recall_tuning.TunedSetting(40, 0.97, 0.951, True)
    outcome.passes += [
        _pass("pgvector", 40, 0, 0.9508, 900.0, ""),
        _pass("pgvector", 40, 1, 0.2, 5.0, "25 searches in a row failed"),
    ]
    outcome.failed["pgvector"] = "25 searches in a row failed"
    (point,) = outcome.points()
    assert (point.knn.median, point.runs, point.cut_short, point.qps()) == (0.9508, 1, 1, 900.0)
    claims = _claims(outcome)
    assert "NoneReaches" not in {one.kind for one in claims}
    assert [one.figures["system"] for one in claims if one.kind == "NotCompared"] == ["pgvector"]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_f57_what_was_tuned_with_a_margin_holds_on_the_measured_half(tmp_path: Path, seed: int) -> None:
    """Recall grows with ef and varies from query to query: at the bare target the other half misses it in every
    second seed."""
    found = _tuned(tmp_path, seed)
    (point,) = found.comparable()
    assert not found.unreached and (point.knn.median or 0) >= 0.95
    assert found.tuned["noisy"].bound >= 0.95


def _tuned(folder: Path, seed: int) -> AnnOutcome:
    dataset = open_dataset("synthetic:300x8", queries=400)
    easy = {
        vector.tobytes(): rank
        for rank, vector in enumerate(np.random.default_rng(5).permutation(dataset.queries))
    }

    class Noisy(EXACT):
        """Leaves out up to half of the neighbours of hard queries, fewer with a larger ef."""

        class Query(EXACT.Query):  # type: ignore[misc,name-defined]
            ef: int = 10

        @classmethod
        def search_knob(cls, params: Any) -> SearchKnob:
            return SearchKnob("ef", high=400)

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            hits = super().search(vector, k, EXACT.Query())
            short = max(0, easy[vector.tobytes()] - query.ef) if vector.tobytes() in easy else 0
            kept = k - min(k // 2, short // 20)
            return Hits(hits.ids[:kept], hits.scores[:kept])

    candidate = StoreSpec("noisy", "noisy", Noisy, Noisy.Params(), Noisy.search_knob(None))
    return compare_stores(
        dataset, [candidate], AnnOptions(target=0.95, runs=1, seed=seed), Cache(folder),
        save=lambda *_: None, tell=lambda _: None,
    )  # fmt: skip


def test_f57_nothing_measured_is_no_recall_of_zero(tmp_path: Path) -> None:
    heard: list[str] = []

    class Silent(EXACT):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            raise StoreError("connection refused.")

    found = compare_stores(
        DATA, [StoreSpec("silent", "silent", Silent, Silent.Params())], AnnOptions(target=0.9, runs=1),
        Cache(tmp_path), save=lambda *_: None, tell=heard.append,
    )  # fmt: skip
    assert "connection refused" in found.failed["silent"] and not found.tuned and not found.points()
    assert not any("recall 0" in line for line in heard)
    assert "NoneReaches" not in {one.kind for one in _claims(found)}


def test_f57_speeds_are_compared_as_ratios() -> None:
    """5,037 against 883 queries per second: the noise of the faster one hid a sixfold difference."""
    runs = {"fast": (5037.0, 3300.0, 5900.0), "slow": (883.0, 860.0, 905.0)}
    (raw,) = compare_runs(runs, 7)
    (pair,) = compare_speeds(runs, 7)
    assert raw.p_holm is not None and pair.p_holm is not None
    assert raw.p_holm > 0.03 and pair.p_holm < 0.02
    assert pair.ratio == pytest.approx(5037 / 883) and pair.low is not None and pair.low > 3


@pytest.mark.parametrize(
    ("recall", "shown"), [(0.95, "0.9500"), (0.94996, "0.94996"), (0.9376, "0.9376"), (0.950004, "0.9500")]
)
def test_f57_a_rounded_recall_stays_on_its_side_of_the_target(recall: float, shown: str) -> None:
    assert recall_text(recall, 0.95) == shown
    assert (float(shown) >= 0.95) == (recall >= 0.95)


def test_f57_unstable_runs_are_part_of_the_speed() -> None:
    values = (1000.0, 2000.0, 1400.0)
    row = SpeedRow("a", "4 threads", values)
    made, rows = speed_claim(row, "4 threads"), SpeedRows((row,))
    assert made.figures["spread"] == pytest.approx(0.343, abs=1e-3) == unstable_share(values)
    assert made.holds(rows) and "4 threads" in made.text and "34%" in made.text
    assert not Claim("Speed", {**made.figures, "spread": None}).holds(rows)
