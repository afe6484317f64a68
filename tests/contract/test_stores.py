"""Every registered store under the contract, with its real engine; a gap is a skip with its reason."""

import os

import pytest

from bakeoff import registry
from bakeoff.servers.table import needing_a_server
from bakeoff.testing import StoreContract

BY_URL = {"pinecone", "vespa"}  # no engine of theirs can be had here: their own tests say what was tried
for name in sorted({*registry.names("stores")} - needing_a_server() - BY_URL):  # those: test_server_stores.py
    contract = type(f"Test_{name}", (StoreContract,), {"name": name})
    globals()[f"Test_{name}"] = (
        pytest.mark.slow(contract) if name == "milvus" else contract
    )  # it starts a process


class TestFaissFlat(StoreContract):
    name = "faiss"
    params = {"build": {"index": "flat"}}
    recall = 1.0


class TestFaissIvf(StoreContract):
    name = "faiss"
    params = {"build": {"index": "ivf", "lists": 4}}


class TestFaissPq(StoreContract):
    name = "faiss"
    params = {"build": {"index": "pq", "lists": 2, "sub_vectors": 8}}
    recall = 0.6  # 8 bytes for 16 numbers
    score_error = 1.0  # distances to the codes, not to the vectors


@pytest.mark.slow
class TestLancedbNone(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "none"}}
    recall = 1.0


@pytest.mark.slow
class TestLancedbIvfFlat(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "ivf_flat", "partitions": 4}}


@pytest.mark.slow
class TestLancedbIvfPq(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "ivf_pq", "partitions": 2, "sub_vectors": 8}}
    recall = 0.6  # 8 bytes for 16 numbers
    score_error = 1.0  # distances to the codes, not to the vectors


@pytest.mark.slow
class TestLancedbHnswSq(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "ivf_hnsw_sq"}}
    score_error = 0.1  # distances to bytes


class TestUsearchHalf(StoreContract):
    name = "usearch"
    params = {"build": {"precision": "f16", "threads": 1}}
    score_error = 0.01


class TestQdrantServer(StoreContract):
    """A server that is started by hand: its address is given to the tests in the environment."""

    name = "qdrant"
    no_gaps = ("clients",)

    @pytest.fixture(autouse=True)
    def _at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        address = os.environ.get("BAKEOFF_TEST_QDRANT_URL")
        if not address:
            pytest.skip("no Qdrant server: set BAKEOFF_TEST_QDRANT_URL to the address of one")
        monkeypatch.setattr(type(self), "params", {**type(self).params, "url": address})


class TestQdrantServerTwoShards(TestQdrantServer):
    params = {"build": {"shards": 2}}
