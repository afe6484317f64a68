"""How a vector reaches DuckDB: as a text, and none of its bits is lost."""

from __future__ import annotations

import numpy as np
import pytest

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("duckdb_extension_vss", reason="pip install 'bakeoff[duckdb_vss]'")


def test_a_vector_as_text_is_the_vector_to_the_last_bit() -> None:
    from bakeoff.plugins.stores.duckdb_vss import written

    limits = np.finfo(np.float32)
    edges = [
        0.0,
        -0.0,
        limits.max,
        limits.min,
        limits.tiny,
        limits.smallest_subnormal,
        limits.eps,
        1 / 3,
        1e-7,
        16777217,
    ]
    vectors = [
        np.array(edges, np.float32),
        *np.random.default_rng(1).normal(size=(50, 10)).astype(np.float32),
    ]
    with duckdb.connect() as connection:
        for vector in vectors:
            (back,) = connection.execute("SELECT ?::FLOAT[10]", [written(vector)]).fetchone()
            assert np.array(back, np.float32).tobytes() == vector.tobytes()
