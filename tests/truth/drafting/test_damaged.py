"""SQL that once made the drafts of queries fall over."""

from __future__ import annotations

import pytest
import sqlglot

from bakeoff.truth.drafting.relations import columns_of


@pytest.mark.parametrize(
    "text", ["SELECT * FROM a GROUP BY 1", "SELECT * FROM a ORDER BY 7", "SELECT *, b.* FROM a"]
)
def test_a_star_that_cannot_be_resolved(text: str) -> None:
    query = sqlglot.parse_one(text)
    assert columns_of(query, lambda table: table.name, {}, set()) is None  # type: ignore[arg-type]
