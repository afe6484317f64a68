import numpy as np
import pytest

from bakeoff.errors import CacheError
from bakeoff.storage.row_keys import BLOCK, InputKeys, KeyIndex


def test_the_first_place_of_a_key_counts() -> None:
    keys = InputKeys.collect(["b", "a", "b", "c", "a"])
    assert keys.distinct.tolist() == [0, 1, 3]
    assert keys.names([3, 0]) == ["c", "b"]
    wanted = InputKeys.collect(["a", "x", "c", "b", "ab"]).array
    assert KeyIndex(keys.array).find(wanted).tolist() == [1, -1, 3, 0, -1]


def test_an_index_of_nothing_finds_nothing() -> None:
    nothing = InputKeys.collect([])
    assert len(nothing) == 0 and nothing.distinct.tolist() == []
    assert KeyIndex(nothing.array).find(InputKeys.collect(["a"]).array).tolist() == [-1]


def test_many_keys_take_their_width_and_no_more() -> None:
    keys = InputKeys.collect(f"{n:032x}" for n in range(BLOCK + 7))
    assert keys.array.nbytes == 32 * (BLOCK + 7)
    backwards = keys.array[::-1]
    assert np.array_equal(KeyIndex(keys.array).find(backwards), np.arange(BLOCK + 7)[::-1])


def test_a_key_that_would_be_cut_is_refused() -> None:
    with pytest.raises(CacheError, match="32"):
        InputKeys.collect(["a" * 33])
