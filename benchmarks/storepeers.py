"""Each embedded engine through its bare client: a search on the adapter's index, and the fastest bulk insert.

A search returns a function of one vector; an insert leaves every row searchable, as `ready` does. Metric: cosine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

K, EF, M, EF_CONSTRUCTION = 10, 64, 16, 200
Search = Callable[[np.ndarray], Any]


@dataclass(frozen=True, slots=True)
class Peer:
    """A store's bare client and what it is; `search` is given the adapter, so that both ask one index."""

    store: str
    client: str
    search: Callable[[Any], Search]
    insert: Callable[[np.ndarray, Path], None]
    limits: str = ""
    """What a search of ours costs more for, where it is over the limit."""


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1, for engines whose cosine is the inner product."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def faiss_search(store: Any) -> Search:
    import faiss

    index, how = store._index, faiss.SearchParametersHNSW(efSearch=EF)  # type: ignore[attr-defined]
    return lambda vector: index.search(unit(vector.reshape(1, -1)), K, params=how)


def faiss_insert(rows: np.ndarray, home: Path) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(rows.shape[1], M, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = EF_CONSTRUCTION
    index.add(unit(rows))
    faiss.write_index(index, str(home / "bare"))


def hnswlib_search(store: Any) -> Search:
    index = store._index
    return lambda vector: index.knn_query(vector, K, num_threads=1)


def hnswlib_insert(rows: np.ndarray, home: Path) -> None:
    import hnswlib

    index = hnswlib.Index("cosine", rows.shape[1])
    index.init_index(len(rows), M=M, ef_construction=EF_CONSTRUCTION)
    index.add_items(rows, np.arange(len(rows)))
    index.save_index(str(home / "bare"))


def usearch_search(store: Any) -> Search:
    index = store._index
    return lambda vector: index.search(vector, K, threads=1)


def usearch_insert(rows: np.ndarray, home: Path) -> None:
    from usearch.index import Index

    index = Index(
        ndim=rows.shape[1], metric="cos", dtype="f32", connectivity=M, expansion_add=EF_CONSTRUCTION
    )
    index.add(np.arange(len(rows)), rows)
    index.save(str(home / "bare"))


def lancedb_search(store: Any) -> Search:
    table = store._table
    return lambda vector: (
        table.search(vector, vector_column_name="vector")
        .distance_type("cosine")
        .limit(K)
        .nprobes(20)
        .ef(EF)
        .select(["id", "_distance"])
        .to_arrow()
    )


def lancedb_insert(rows: np.ndarray, home: Path) -> None:
    import lancedb
    import pyarrow as pa
    from lancedb.index import HnswFlat

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    table = lancedb.connect(home).create_table(
        "bare", pa.table({"id": np.arange(len(rows)), "vector": vectors})
    )
    table.create_index(
        "vector", config=HnswFlat(distance_type="cosine", m=M, ef_construction=EF_CONSTRUCTION)
    )


def sqlite_search(store: Any) -> Search:
    connection = store._connections.here()
    asked = 'SELECT id, distance FROM "bench" WHERE vector MATCH ? AND k = ? ORDER BY distance'
    return lambda vector: connection.execute(asked, (vector.tobytes(), K)).fetchall()


def sqlite_insert(rows: np.ndarray, home: Path) -> None:
    import pysqlite3
    import sqlite_vec

    connection = pysqlite3.connect(str(home / "bare"))
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    column = f"vector float[{rows.shape[1]}] distance_metric=cosine"
    connection.execute(f"CREATE VIRTUAL TABLE bare USING vec0(id INTEGER PRIMARY KEY, {column})")
    pairs = ((i, row.tobytes()) for i, row in enumerate(rows))
    connection.executemany("INSERT INTO bare(id, vector) VALUES (?, ?)", pairs)
    connection.commit()
    connection.close()


def duckdb_search(store: Any) -> Search:
    connection = store._table.connection
    asked = f"SELECT id, array_cosine_distance(vector, ?::FLOAT[64]) AS far FROM bench ORDER BY far LIMIT {K}"
    return lambda vector: connection.execute(
        asked, [str(vector.tolist())]
    ).fetchnumpy()  # quicker than an array


def duckdb_insert(rows: np.ndarray, home: Path) -> None:
    import duckdb
    import duckdb_extension_vss
    import pyarrow as pa

    folder = Path(duckdb_extension_vss.__file__).parent
    connection = duckdb.connect(str(home / "bare"))
    connection.execute(f"LOAD '{folder / f'extensions/v{duckdb.__version__}/vss.duckdb_extension'}'")
    connection.execute("SET hnsw_enable_experimental_persistence = true")
    connection.execute(f"CREATE TABLE bare (id BIGINT, vector FLOAT[{rows.shape[1]}])")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    connection.register("batch", pa.table({"id": np.arange(len(rows)), "vector": vectors}))
    connection.execute("INSERT INTO bare SELECT * FROM batch")
    shape = f"metric = 'cosine', M = {M}, ef_construction = {EF_CONSTRUCTION}"
    connection.execute(f"CREATE INDEX bare_hnsw ON bare USING HNSW (vector) WITH ({shape})")
    connection.execute("CHECKPOINT")
    connection.close()


def chroma_search(store: Any) -> Search:
    collection = store._collection
    return lambda vector: collection.query([vector], n_results=K, include=["distances"])


def chroma_insert(rows: np.ndarray, home: Path) -> None:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(path=home / "bare", settings=Settings(anonymized_telemetry=False))
    shape = {"space": "cosine", "max_neighbors": M, "ef_construction": EF_CONSTRUCTION}
    collection = client.create_collection("bare", configuration={"hnsw": shape}, embedding_function=None)
    most = client.get_max_batch_size()
    for begin in range(0, len(rows), most):
        part = rows[begin : begin + most]
        collection.add([str(i) for i in range(begin, begin + len(part))], part)
    collection.query([rows[0]], n_results=1)
    client.close()


def milvus_search(store: Any) -> Search:
    client, name = store._client, store._name
    return lambda vector: client.search(name, data=[vector], limit=K, search_params={"params": {}})


def milvus_insert(rows: np.ndarray, home: Path) -> None:
    from milvus_lite.server_manager import server_manager_instance as lite
    from pymilvus import DataType, MilvusClient

    file = str(home / "bare.db")
    client = MilvusClient(lite.start_and_get_uri(file), dedicated=True)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=rows.shape[1])
    client.create_collection("bare", schema=schema)
    for begin in range(0, len(rows), 2000):
        part = rows[begin : begin + 2000]
        client.insert("bare", [{"id": begin + i, "vector": row} for i, row in enumerate(part)])
    client.flush("bare")
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_index("bare", index)
    client.load_collection("bare")
    client.close()
    lite.release_server(file)


def qdrant_search(store: Any) -> Search:
    import qdrant_edge as edge

    shard, how = store._engine._shard, edge.SearchParams(hnsw_ef=EF)
    return lambda vector: shard.search(edge.SearchRequest(edge.Query.Nearest(vector.tolist()), K, params=how))


def qdrant_insert(rows: np.ndarray, home: Path) -> None:
    import qdrant_edge as edge

    config = edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=rows.shape[1], distance=edge.Distance.Cosine),
        hnsw_config=edge.HnswIndexConfig(M, EF_CONSTRUCTION, full_scan_threshold=1),
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),
    )
    shard = edge.EdgeShard.create(str(home / "bare"), config)
    points = [edge.Point(i, row, {}) for i, row in enumerate(rows.tolist())]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.optimize()
    shard.flush()
    shard.close()


PEERS = (
    Peer(
        "chroma",
        "chromadb's collection.query and .add",
        chroma_search,
        chroma_insert,
        "its ids are texts: they become integers, and two lists become arrays",
    ),
    Peer("duckdb_vss", "SQL, the vector as text; an Arrow table inserted", duckdb_search, duckdb_insert),
    Peer("faiss", "IndexHNSWFlat", faiss_search, faiss_insert),
    Peer("hnswlib", "knn_query, add_items", hnswlib_search, hnswlib_insert),
    Peer("lancedb", "lancedb, an Arrow table created", lancedb_search, lancedb_insert),
    Peer("milvus", "pymilvus with milvus-lite", milvus_search, milvus_insert),
    Peer("qdrant", "qdrant-edge, one upsert", qdrant_search, qdrant_insert),
    Peer("sqlite_vec", "SQL, executemany", sqlite_search, sqlite_insert),
    Peer("usearch", "Index.search, .add", usearch_search, usearch_insert),
)
