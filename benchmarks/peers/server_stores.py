"""Each engine that is a server by its vendor's client, as its documentation says it is quickest.

What an insert leaves behind is named as the adapter names a collection `bare`, so that the adapter can remove it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psutil

from bakeoff.errors import StoreError
from bakeoff.storage.environment import get_setting
from storepeers import EF, EF_CONSTRUCTION, K, M, Peer, Search

PART = 1000  # rows a request
FOUND = "hits.hits._id,hits.hits._score"
SHAPE = {"m": M, "ef_construction": EF_CONSTRUCTION}
SETTINGS: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0}


def _postgres() -> Any:
    import psycopg
    from pgvector.psycopg import register_vector

    connection = psycopg.connect(get_setting("BAKEOFF_PGVECTOR_DSN") or "", autocommit=True)
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    register_vector(connection)
    return connection


def _on_one_core(*connections: Any) -> None:
    """Let the server's processes of some connections share a core, where that may be said.

    Each has one of its own, and stays where it first ran: on the client's core or not makes a tenth of a search's time,
    with the same client on both sides.
    """
    core = max(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else None
    for connection in connections if core is not None else ():
        with contextlib.suppress(psutil.Error):
            psutil.Process(connection.info.backend_pid).cpu_affinity([core])


def pgvector_search(store: Any) -> Search:
    connection = _postgres()
    _on_one_core(connection, store._sql)
    connection.execute(f"SET hnsw.ef_search = {EF}; SET enable_seqscan = off")  # both go through the index
    asked = f"SELECT id, vector <=> %s AS far FROM bakeoff_bench ORDER BY far LIMIT {K}"
    return lambda vector: connection.execute(asked, (vector,), prepare=True, binary=True).fetchall()


def pgvector_insert(rows: np.ndarray, home: Path) -> None:  # noqa: ARG001 - the server has its own
    with _postgres() as connection:
        connection.execute("DROP TABLE IF EXISTS bakeoff_bare")
        columns = f"id bigint PRIMARY KEY, vector vector({rows.shape[1]})"
        connection.execute(f"CREATE TABLE bakeoff_bare ({columns})")
        with connection.cursor().copy("COPY bakeoff_bare (id, vector) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "vector"])
            for number, row in enumerate(rows):
                copy.write_row((number, row))
        index = f"hnsw (vector vector_cosine_ops) WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})"
        connection.execute(f"CREATE INDEX ON bakeoff_bare USING {index}")
        connection.execute("VACUUM ANALYZE bakeoff_bare")


def _redis() -> Any:
    import redis

    return redis.from_url(get_setting("BAKEOFF_REDIS_URL") or "", protocol=3)


def redis_search(store: Any) -> Search:  # noqa: ARG001 - a client of its own
    client, how = _redis(), ("WITHSCORES", "COUNT", K, "EF", EF)
    return lambda vector: client.execute_command("VSIM", "bakeoff:bench", "FP32", vector.tobytes(), *how)


def redis_insert(rows: np.ndarray, home: Path) -> None:  # noqa: ARG001 - the server has its own
    shape = ("NOQUANT", "EF", EF_CONSTRUCTION, "M", M)
    with _redis() as client:
        client.delete("bakeoff:bare")
        for begin in range(0, len(rows), PART):
            pipe = client.pipeline(transaction=False)
            for number, row in enumerate(rows[begin : begin + PART], begin):
                pipe.execute_command("VADD", "bakeoff:bare", "FP32", row.tobytes(), str(number), *shape)
            pipe.execute()
        if client.info("persistence")["aof_enabled"]:
            client.execute_command("WAITAOF", 1, 0, 0)


def _weaviate() -> Any:
    """The client speaks gRPC, whose port is known for a server that `bakeoff servers up` started."""
    import weaviate
    from weaviate.classes.init import Auth

    from bakeoff.runtime.servers.records import read_place

    place = read_place("weaviate")
    if place is None:
        raise StoreError(
            "weaviate: the gRPC port is only known of a server that `bakeoff servers up` started."
        )
    key = Auth.api_key(get_setting("BAKEOFF_WEAVIATE_KEY") or "")
    host, (http, grpc, *_) = "127.0.0.1", place.ports
    return weaviate.connect_to_local(host, http, grpc, auth_credentials=key, skip_init_checks=True)


def weaviate_search(store: Any) -> Search:  # noqa: ARG001 - a client of its own
    from weaviate.classes.query import MetadataQuery

    near, told = _weaviate().collections.use("Bakeoff_bench").query.near_vector, MetadataQuery(distance=True)
    return lambda vector: near(vector.tolist(), limit=K, return_metadata=told, return_properties=False)


def weaviate_insert(rows: np.ndarray, home: Path) -> None:  # noqa: ARG001 - the server has its own
    from weaviate.classes.config import Configure, VectorDistances
    from weaviate.classes.data import DataObject

    shape: dict[str, Any] = {"max_connections": M, "ef_construction": EF_CONSTRUCTION, "ef": EF}
    graph = Configure.VectorIndex.hnsw(distance_metric=VectorDistances.COSINE, **shape)
    with _weaviate() as client:
        client.collections.delete("Bakeoff_bare")
        made = Configure.Vectors.self_provided(vector_index_config=graph)
        collection = client.collections.create("Bakeoff_bare", vector_config=made)
        for begin in range(0, len(rows), PART):
            part = enumerate(rows[begin : begin + PART].tolist(), begin)
            told = collection.data.insert_many([DataObject({}, UUID(int=i), vector=row) for i, row in part])
            if told.has_errors:
                raise StoreError(f"weaviate refused rows: {next(iter(told.errors.values()))}")
        collection.batch.wait_for_vector_indexing()


def _documents(rows: np.ndarray) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows.tolist()):
        yield {"_index": "bakeoff_bare", "_id": str(number), "vector": row}


def _elasticsearch() -> Any:
    from elasticsearch import Elasticsearch, OrjsonSerializer

    return Elasticsearch(
        get_setting("BAKEOFF_ELASTICSEARCH_URL") or "", serializer=OrjsonSerializer(), request_timeout=600
    )


def elasticsearch_search(store: Any) -> Search:  # noqa: ARG001 - a client of its own
    client, knn = _elasticsearch(), {"field": "vector", "k": K, "num_candidates": EF}
    how = {"size": K, "source": False, "track_total_hits": False, "filter_path": FOUND}
    return lambda vector: client.search(
        index="bakeoff_bench", knn={**knn, "query_vector": vector.tolist()}, **how
    )


def elasticsearch_insert(rows: np.ndarray, home: Path) -> None:  # noqa: ARG001 - the server has its own
    from elasticsearch.helpers import parallel_bulk

    vector = {"type": "dense_vector", "dims": rows.shape[1], "similarity": "cosine"}
    vector |= {"index_options": {"type": "hnsw", **SHAPE}}
    mapping = {"_source": {"excludes": ["vector"]}, "properties": {"vector": vector}}
    with _elasticsearch() as client:
        client.indices.delete(index="bakeoff_bare", ignore_unavailable=True)
        client.indices.create(index="bakeoff_bare", settings=SETTINGS, mappings=mapping)
        for _ in parallel_bulk(client, _documents(rows), thread_count=2, chunk_size=PART):
            pass
        client.indices.forcemerge(index="bakeoff_bare", max_num_segments=1)
        client.indices.refresh(index="bakeoff_bare")


def _opensearch() -> Any:
    from opensearchpy import OpenSearch

    return OpenSearch(get_setting("BAKEOFF_OPENSEARCH_URL"), timeout=600)


def opensearch_search(store: Any) -> Search:  # noqa: ARG001 - a client of its own
    client, how = _opensearch(), {"k": K, "method_parameters": {"ef_search": EF}}
    body = {"size": K, "_source": False, "track_total_hits": False}

    def search(vector: np.ndarray) -> Any:
        asked = {**body, "query": {"knn": {"vector": {**how, "vector": vector.tolist()}}}}
        return client.search(body=asked, index="bakeoff_bench", params={"filter_path": FOUND})

    return search


def opensearch_insert(rows: np.ndarray, home: Path) -> None:  # noqa: ARG001 - the server has its own
    from opensearchpy.helpers import parallel_bulk

    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil", "parameters": SHAPE}
    vector = {"type": "knn_vector", "dimension": rows.shape[1], "method": method}
    mapping = {"_source": {"excludes": ["vector"]}, "properties": {"vector": vector}}
    with _opensearch() as client:
        client.indices.delete(index="bakeoff_bare", ignore_unavailable=True)
        index = {"settings": {"index": {**SETTINGS, "knn": True}}, "mappings": mapping}
        client.indices.create(index="bakeoff_bare", body=index)
        for _ in parallel_bulk(client, _documents(rows), thread_count=2, chunk_size=PART):
            pass
        client.indices.forcemerge(index="bakeoff_bare", max_num_segments=1)
        client.indices.refresh(index="bakeoff_bare")


SERVERS = (
    Peer("pgvector", "psycopg: binary, prepared; COPY", pgvector_search, pgvector_insert),
    Peer("redis", "redis-py with hiredis; pipeline of 1,000", redis_search, redis_insert),
    Peer(
        "weaviate",
        "weaviate-client: gRPC; insert_many",
        weaviate_search,
        weaviate_insert,
    ),
    Peer("opensearch", "opensearch-py; parallel_bulk", opensearch_search, opensearch_insert),
    Peer(
        "elasticsearch", "elasticsearch-py, orjson; parallel_bulk", elasticsearch_search, elasticsearch_insert
    ),
)
