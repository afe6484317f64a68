"""What validate passes, run can score; what run cannot score, validate refuses: one module decides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.errors import ExperimentError
from bakeoff.measures.catalogue import all_measures
from bakeoff.measures.definitions import Cutoff
from bakeoff.measures.names import Measure
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.run import run
from bakeoff.types import Unit

UNITS = (Unit.CHUNK, Unit.DOCUMENT, Unit.SECTION, Unit.ANSWER, Unit.VECTOR)


def every_measure() -> list[str]:
    """Each measure at each unit that it is defined for."""
    found = []
    for row in all_measures():
        k = 3 if row.cutoff is Cutoff.REQUIRED else None
        t = 0.5 if row.cutoff is Cutoff.THRESHOLD else None
        p = 0.8 if "p" in row.params else None
        found += [str(Measure(row.name, k, unit, p, t=t)) for unit in UNITS if unit in row.units]
    return [*found, "kNN@50(vector)"]


def written(small: Path, measures: list[str], more: str = "") -> Path:
    also = "\n".join(f"    - {name!r}" for name in measures)
    base = (small.parent / "base.yaml").read_text()
    small.write_text(f"{base}measures:\n  primary: nDCG@10(document)\n  also:\n{also}\n{more}")
    return small


@pytest.fixture
def ask(small: Path) -> Callable[..., Path]:
    """Writes the small experiment with these measures."""
    (small.parent / "base.yaml").write_text(small.read_text())
    return lambda measures, more="": written(small, measures, more)


def refused(path: Path, measures: list[str]) -> set[str]:
    """The measures that validate refuses."""
    found = {finding.message for finding in validate(path).of("error") if finding.code == "measure"}
    return {name for name in measures if any(message.startswith(f"{name} ") for message in found)}


@pytest.mark.parametrize("more", ["", "conventions: {k_counts: chunks}\n"])
def test_what_validate_passes_is_scored_and_what_it_refuses_stops_the_run(
    ask: Callable[..., Path], more: str
) -> None:
    """The corpus has fewer than 100 chunks, the system searches by vector, and nothing is reviewed."""
    measures = every_measure()
    wrong = refused(ask(measures, more), measures)
    assert {"R100@3(vector)", "P@3(vector)", "kNN@50(vector)", "SemLift@3(chunk)"} <= wrong
    assert ("P@3(answer)" in wrong) is bool(more)
    result = run(ask([name for name in measures if name not in wrong], more), out="run")
    assert not result.failed
    assert set(result.scores["measure"].to_pylist()) >= set(measures) - wrong
    with pytest.raises(ExperimentError) as stopped:
        run(ask(measures, more), out="other")
    assert {name for name in measures if f"{name} " in str(stopped.value)} == wrong


def test_a_preset_for_vectors_on_a_small_corpus_is_refused_by_both(small: Path) -> None:
    small.write_text(small.read_text() + "preset: ann\n")
    assert [finding.code for finding in validate(small).of("error")] == ["measure"] * 5
    with pytest.raises(ExperimentError):
        run(small, out="run")


def test_a_primary_measure_without_any_value_is_refused_by_both(small: Path) -> None:
    """Nothing is searched by vector, so no query has neighbours."""
    text = small.read_text().replace("modes: [dense]", "modes: [bm25]")
    small.write_text(text + "measures: {primary: kNN@3(vector)}\n")
    (found,) = validate(small).of("error")
    assert found.code == "measure"
    with pytest.raises(ExperimentError) as stopped:
        run(small, out="run")
    assert found.message in str(stopped.value)
