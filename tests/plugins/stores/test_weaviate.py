"""weaviate under the contract with its real engine, where one is known: `bakeoff servers up weaviate`."""

from pathlib import Path

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.environment import setting
from bakeoff.errors import StoreError
from bakeoff.testing import StoreContract
from bakeoff.types import Batch, Metric

there = pytest.mark.skipif(
    not setting("BAKEOFF_WEAVIATE_URL"), reason="no engine: bakeoff servers up weaviate"
)


@there
class TestContract(StoreContract):
    name = "weaviate"


@there
class TestTwoShards(StoreContract):
    name = "weaviate"
    params = {"build": {"shards": 2}}


@there
def test_a_query_of_another_length_is_refused_in_the_engines_words(tmp_path: Path) -> None:
    plugin = registry.load("stores", "weaviate")
    store = plugin(plugin.Params(), tmp_path)
    store.create("contract_length", 16, Metric.COSINE)
    store.insert(Batch(np.arange(20, dtype=np.int64), vectors=np.eye(20, 16, dtype=np.float32) + 0.1))
    store.ready()
    with pytest.raises(StoreError, match=r"(?i)vector lengths don"):
        store.search(np.ones(5, np.float32), 3, plugin.Query())
    store.close()
