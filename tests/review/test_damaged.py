"""Damaged files of a review that once made their reader fall over."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.review.pool import read_pool


@pytest.mark.parametrize("content", ["null", "3", "[]", '"x"'])
def test_a_pool_that_is_no_object(content: str, tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(content)
    with pytest.raises(DataError, match="is damaged"):
        read_pool(tmp_path / "pool.json")
