"""F23: a published interval and p-value that do not follow from the stored data."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np

from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import decide


def test_f23_stored_rows_give_back_every_number_and_the_sentence() -> None:
    rng = np.random.default_rng(3)
    values = rng.choice([0.0, 0.25, 0.5, 1.0], (3, 40))
    values[1, 3] = np.nan
    matrix = ScoreMatrix(("a", "b", "c"), tuple(f"q{i}" for i in range(40)), values, "RR@10")
    rows = [
        (system, query, None if np.isnan(value) else float(value))
        for system, line in zip(matrix.systems, matrix.values, strict=True)
        for query, value in zip(matrix.queries, line, strict=True)
    ]
    rng.shuffle(rows)
    rows.sort(key=lambda row: row[0])
    read: dict[str, dict[str, float]] = {}
    for system, query, value in json.loads(json.dumps(rows)):
        read.setdefault(system, {})[query] = np.nan if value is None else value
    first, again = compare(matrix, seed=7), compare(ScoreMatrix.of(read, "RR@10"), seed=7)
    assert asdict(first) == asdict(again)
    assert decide(Evidence(first)) == decide(Evidence(again))


def test_f23_every_number_of_the_sentence_stands_in_the_comparison() -> None:
    rng = np.random.default_rng(1)
    base = rng.uniform(0.2, 0.6, 60)
    values = np.vstack([base + 0.15 + rng.normal(0, 0.1, 60), base])
    matrix = ScoreMatrix(("a", "b"), tuple(f"q{i}" for i in range(60)), np.clip(values, 0, 1), "nDCG@10")
    comparison = compare(matrix, seed=7)
    pair = comparison.pair("a", "b")
    sentence = decide(Evidence(comparison)).sentence
    for number in (pair.difference, pair.interval.low, pair.interval.high):
        assert f"{number:.2f}".removeprefix("0") in sentence
    assert f"better on {pair.wins} questions, worse on {pair.losses}, equal on {pair.ties}" in sentence
