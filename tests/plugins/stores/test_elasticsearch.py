"""elasticsearch under the contract with its real engine, where one is known: `bakeoff servers up elasticsearch`."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.storage.environment import get_setting
from bakeoff.testing import StoreContract
from bakeoff.testing.reference_search import exact
from bakeoff.types import Batch, Metric

if not get_setting("BAKEOFF_ELASTICSEARCH_URL"):
    pytest.skip("no engine: bakeoff servers up elasticsearch", allow_module_level=True)


class TestContract(StoreContract):
    name = "elasticsearch"


class TestTwoShards(StoreContract):
    name = "elasticsearch"
    params = {"build": {"shards": 2}}


def test_a_query_of_another_length_is_refused_in_the_engines_words(
    refuses_another_length: Callable[[str, str], None],
) -> None:
    refuses_another_length("elasticsearch", r"(?i)dimension")


@pytest.mark.parametrize("index", ["int8_hnsw", "int4_hnsw", "bbq_hnsw"])
def test_fewer_bits_find_most_of_the_nearest(index: str, tmp_path: Path) -> None:
    plugin = registry.load("stores", "elasticsearch")
    store = plugin(plugin.Params(build={"index": index}), tmp_path)
    rows = np.random.default_rng(3).normal(size=(300, 128)).astype(np.float32)
    store.create("contract_bits", 128, Metric.COSINE)
    store.insert(Batch(np.arange(300, dtype=np.int64), vectors=rows))
    store.ready()
    found = [store.search(row, 20, plugin.Query()).ids.tolist() for row in rows[:50]]
    store.close()
    assert all(i in ids[:3] for i, ids in enumerate(found))
    kept = [len({*ids} & {*exact(rows, rows[i], Metric.COSINE)[:10].tolist()}) for i, ids in enumerate(found)]
    assert np.mean(kept) > 5  # of the 10 nearest among 20 candidates, by 1 bit a number
