"""Queries scored in blocks elsewhere have the values of one pass, under every convention."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bakeoff.measures.conventions import DEFAULT, TREC_EVAL, Conventions
from bakeoff.measures.names import parse
from bakeoff.stages import cell, marking
from bakeoff.stages.losses import reaches
from bakeoff.stages.marking import Marks, mark
from bakeoff.truth.queries import read_queries
from bakeoff.truth.resolve import resolve

MEASURES = (
    "R@2(document)",
    "RR(document)",
    "P_unique@3(document)",
    "P@3(chunk)",
    "Hit@2(section)",
    "RR@5(answer)",
)


def here(
    task: Callable[[Any], Marks], blocks: Iterable[Any], _: str, done: Callable[[int], None]
) -> list[Marks]:
    """Workers that are this process."""
    found = [task(block) for block in blocks]
    for number in range(len(found)):
        done(number)
    return found


@pytest.mark.parametrize("conventions", [DEFAULT, replace(DEFAULT, k_counts="chunks"), TREC_EVAL], ids=str)
def test_blocks_have_the_values_of_one_pass(
    bench: Any, conventions: Conventions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marking, "BLOCK_QUERIES", 5)
    kitchen = bench.kitchen()
    queries = read_queries(bench.plan.queries)
    system = bench.system("line · bm25")
    chunking = kitchen.chunking(system.chunker)
    truth = resolve(queries, kitchen.corpus.documents, {chunking.fingerprint: chunking.chunks}, strict=True)
    names = [name for name in MEASURES if conventions.k_counts == "units" or "answer" not in name]
    answers = kitchen.answers(system)
    task = cell.Measuring("run", system, queries, truth, tuple(names), conventions)
    scored = cell.scoring_inputs(task, kitchen, answers.ranking, lambda: None)
    measures = [parse(name) for name in names]
    steps = reaches(system, answers, kitchen, measures[0])
    whole = mark(scored, measures, steps)
    parts = mark(scored, measures, steps, here)  # type: ignore[arg-type]
    kitchen.close()
    assert list(whole.reachable) == list(parts.reachable)
    for measure in measures:
        assert np.array_equal(whole.columns[measure], parts.columns[measure], equal_nan=True), measure
    for step, values in whole.reachable.items():
        assert np.array_equal(values, parts.reachable[step], equal_nan=True), step
    assert whole.tied == parts.tied
