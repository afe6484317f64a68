"""opensearch under the contract with its real engine, where one is known: `bakeoff servers up opensearch`."""

from collections.abc import Callable

import pytest

from bakeoff.storage.environment import get_setting
from bakeoff.testing import StoreContract

if not get_setting("BAKEOFF_OPENSEARCH_URL"):
    pytest.skip("no engine: bakeoff servers up opensearch", allow_module_level=True)


class TestContract(StoreContract):
    name = "opensearch"


class TestTwoShards(StoreContract):
    name = "opensearch"
    params = {"build": {"shards": 2}}


def test_a_query_of_another_length_is_refused_in_the_engines_words(
    refuses_another_length: Callable[[str, str], None],
) -> None:
    refuses_another_length("opensearch", r"(?i)dimension")
