"""F03: SQL checked by a home-made regex that ignores AND/OR and multi-wildcard patterns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bakeoff.errors import TruthError
from bakeoff.truth.sql import SqlEngine

TEXTS = [
    "fatigue crack",
    "crack fatigue",
    "fatigue",
    "rudder at Pittsburgh",
    "Pittsburgh",
    "USAir flight 427",
]
TABLE = pa.table({"text": pa.array(TEXTS, pa.large_string())})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("WHERE lower(chunk_text) LIKE '%fatigue%crack%'", [0]),
        ("chunk_text LIKE '%fatigue%' AND chunk_text LIKE '%crack%'", [0, 1]),
        (
            "chunk_text LIKE '%usair%427%' OR (chunk_text LIKE '%Pittsburgh%' AND chunk_text LIKE '%rudder%')",
            [3],
        ),
        (
            "lower(chunk_text) LIKE '%usair%427%' OR chunk_text LIKE '%Pitts%' AND chunk_text LIKE '%rud%'",
            [3, 5],
        ),
        ("NOT (chunk_text LIKE '%fatigue%' OR chunk_text LIKE '%427%')", [3, 4]),
        ("chunk_text LIKE 'f_tigue'", [2]),
    ],
)
def test_f03_and_or_and_wildcards_mean_what_sql_says(condition: str, expected: list[int]) -> None:
    with SqlEngine("chunks", TABLE, {"chunk_text": "text"}) as engine:
        (rows,) = engine.rows([engine.check(condition)])
    assert not isinstance(rows, TruthError)
    assert rows.tolist() == expected


@pytest.mark.parametrize("condition", ["DELETE FROM chunks", "true; DROP VIEW chunks", "(SELECT 1) = 1"])
def test_f03_the_engine_is_read_only(condition: str) -> None:
    with SqlEngine("chunks", TABLE, {"chunk_text": "text"}) as engine, pytest.raises(TruthError):
        engine.check(condition)
