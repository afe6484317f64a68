"""opensearch under the contract with its real engine, where one is known: `bakeoff servers up opensearch`."""

from collections.abc import Callable

import pytest

from bakeoff.storage.environment import get_setting
from bakeoff.testing import StoreContract

there = pytest.mark.skipif(
    not get_setting("BAKEOFF_OPENSEARCH_URL"), reason="no engine: bakeoff servers up opensearch"
)


@there
class TestContract(StoreContract):
    name = "opensearch"


@there
class TestTwoShards(StoreContract):
    name = "opensearch"
    params = {"build": {"shards": 2}}


@there
def test_a_query_of_another_length_is_refused_in_the_engines_words(
    refuses_another_length: Callable[[str, str], None],
) -> None:
    refuses_another_length("opensearch", r"(?i)dimension")
