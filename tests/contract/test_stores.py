"""Every registered store under the contract, with its real engine; a gap is a skip with its reason."""

import os
from importlib.util import find_spec

import pytest

from bakeoff import registry
from bakeoff.runtime.servers.control import needing_a_server
from bakeoff.testing import StoreContract

BY_URL = {"pinecone", "vespa"}  # no engine of theirs can be had here: their own tests say what was tried
OPTIONAL = {"duckdb_vss": "duckdb_extension_vss", "hnswlib": "hnswlib"}  # the extra `all` leaves them out
ABSENT = {name for name, package in OPTIONAL.items() if find_spec(package) is None}
SLOW = {"lancedb", "milvus"}  # the second starts a process
NAMES = {*registry.names("stores")} - needing_a_server() - BY_URL - ABSENT  # servers: test_server_stores.py
for name in sorted(NAMES):
    contract = type(f"Test_{name}", (StoreContract,), {"name": name})
    globals()[f"Test_{name}"] = pytest.mark.slow(contract) if name in SLOW else contract


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
    gaps = {"storage": "PQ has codes of its own"}
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


ADDRESS = os.environ.get("BAKEOFF_TEST_QDRANT_URL")
if ADDRESS:  # a Qdrant server that was started by hand

    class TestQdrantServer(StoreContract):
        name = "qdrant"
        params = {"url": ADDRESS}
        no_gaps = ("clients",)

    class TestQdrantServerTwoShards(TestQdrantServer):
        params = {"url": ADDRESS, "build": {"shards": 2}}
