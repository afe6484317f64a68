"""A Qdrant server by URL, through qdrant-client."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from grpc import RpcError
from httpx import HTTPError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import expect_dims
from bakeoff.plugins.kit.existing import no_such_collection
from bakeoff.plugins.kit.http_limits import BoundedTransport
from bakeoff.plugins.kit.payload import Payload, Term
from bakeoff.plugins.kit.rest import wait_until
from bakeoff.plugins.kit.server import (
    PREFIX,
    expect_spread,
    own_collections,
    request_timeout,
    translate_server_errors,
)
from bakeoff.plugins.stores._qdrant import (
    INDEXES,
    SPARSE,
    THRESHOLD_KB,
    Build,
    PointId,
    QdrantSearch,
    QdrantShape,
    QdrantWords,
    ScoredPoint,
    StoredPoint,
)
from bakeoff.types import Metric, Storage

if TYPE_CHECKING:  # its vectors have the same shapes
    from qdrant_edge import NamedVector, Vector

DEADLINE_S = 3600
READS: dict[str, object] = {"one": None, **{one.value: one for one in models.ReadConsistencyType}}
"""Read consistency in the client's form; None is the default: the answer of one copy."""
INT8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
BINARY = models.BinaryQuantizationConfig(always_ram=True)
DISTANCES = {
    Metric.COSINE: models.Distance.COSINE,
    Metric.DOT: models.Distance.DOT,
    Metric.L2: models.Distance.EUCLID,
}
MAXSIM = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
DATATYPES: dict[Storage, models.Datatype] = {"float16": models.Datatype.FLOAT16}
QUANTISATION: dict[Storage, models.QuantizationConfig] = {
    "int8": models.ScalarQuantization(scalar=INT8),
    "binary": models.BinaryQuantization(binary=BINARY),
}


def _key_advice(exc: Exception) -> str:
    """Advice if the server rejects the key; '' for other errors."""
    refused = isinstance(exc, UnexpectedResponse) and exc.status_code in (401, 403)
    return ". Set QDRANT_API_KEY in the environment or .env to a key with this permission." if refused else ""


@translate_server_errors("Qdrant", ApiException, HTTPError, RpcError, OSError, ValueError, advice=_key_advice)
class QdrantServer(QdrantWords[models.Filter, models.SearchParams]):
    """One collection of a server; its optimizers work in the background, so `ready` waits for them."""

    models: ClassVar[ModuleType] = models
    request_rows = 1000  # well under the server's limit of 32 MB

    def __init__(self, url: str, key: str | None, build: Build) -> None:
        self.address = url
        seconds = request_timeout()
        self._client = QdrantClient(
            url=url, api_key=key, timeout=math.ceil(seconds), check_compatibility=False,
            transport=BoundedTransport(url, seconds),
        )  # fmt: skip
        self._build, self._name = build, ""

    def _float_range(self, **bounds: float) -> object:
        return models.Range(**bounds)

    def _date_range(self, **bound: datetime) -> object:
        return models.DatetimeRange(**bound)

    def _equal(self, field: str, value: bool) -> object:
        return models.FieldCondition(key=field, match=models.MatchValue(value=value))

    def version(self) -> str:
        return f"Qdrant {self._client.info().version} (server)"

    def collections(self) -> list[str]:
        return own_collections(one.name for one in self._client.get_collections().collections)

    def drop(self, collection: str) -> None:
        self._client.delete_collection(PREFIX + collection)

    def create(self, collection: str, shape: QdrantShape) -> None:
        self.drop(collection)
        self._name = PREFIX + collection
        self._client.create_collection(
            self._name,
            vectors_config={}
            if shape.is_sparse
            else models.VectorParams(
                size=shape.dims,
                distance=DISTANCES[shape.metric],
                multivector_config=MAXSIM if shape.kind == "tokens" else None,
                datatype=DATATYPES.get(shape.storage),
                quantization_config=QUANTISATION.get(shape.storage),
            ),
            sparse_vectors_config={SPARSE: models.SparseVectorParams()} if shape.is_sparse else None,
            hnsw_config=models.HnswConfigDiff(m=self._build.m, ef_construct=self._build.ef_construction),
            optimizers_config=models.OptimizersConfigDiff(indexing_threshold=THRESHOLD_KB),
            shard_number=self._build.shards,
            replication_factor=self._build.replicas + 1,
            write_consistency_factor=self._build.write_consistency_factor,
        )
        for field in shape.fields:
            self._client.create_payload_index(self._name, field.name, INDEXES[field.kind].lower(), wait=True)

    def insert(self, ids: list[int], vectors: list[Vector], payloads: list[Payload] | None) -> None:
        points: list[models.PointStruct] | models.Batch
        if isinstance(vectors[0], dict):  # named vectors, which a point may lack
            each = zip(ids, vectors, payloads or [{}] * len(ids), strict=True)
            points = [models.PointStruct(id=one, vector=vector, payload=own) for one, vector, own in each]
        else:
            points = models.Batch(ids=ids, vectors=vectors, payloads=payloads)
        self._client.upsert(self._name, points, wait=self._build.wait)

    def ready(self, shape: QdrantShape, rows: int) -> None:
        indexed = lambda: self._is_indexed(shape, rows)  # noqa: E731
        wait_until("Qdrant", f"all {rows} rows are indexed", indexed, DEADLINE_S, pause=0.05)
        self._expect_copies()

    def open(self, collection: str, shape: QdrantShape) -> int:
        self._name = PREFIX + collection
        vectors = self._client.get_collection(self._name).config.params.vectors
        if shape.kind != "sparse":
            expect_dims("Qdrant", vectors.size, shape.dims)
        self._expect_copies()
        rows = self._count()
        if not self._is_indexed(shape, rows):
            raise StoreError(f"Qdrant is still indexing {self._name!r}.")
        return rows

    def open_existing(self, collection: str) -> tuple[int, dict[str, tuple[int, str]]]:
        if not self._client.collection_exists(collection):
            known = [one.name for one in self._client.get_collections().collections]
            raise no_such_collection("Qdrant", collection, known)
        self._name = collection
        vectors = self._client.get_collection(collection).config.params.vectors
        named = vectors if isinstance(vectors, dict) else {"": vectors}
        return self._count(), {name: (one.size, one.distance.value) for name, one in named.items()}

    def search(self, vector: NamedVector, search: QdrantSearch) -> Sequence[ScoredPoint]:
        found = self._client.query_points(
            self._name,
            vector,
            using=search.using,
            limit=search.k,
            search_params=self._params(search),
            query_filter=self._filter(search.where),
            with_payload=[search.id_field] if search.id_field else False,
            consistency=READS[search.consistency],
        )
        return found.points

    def search_many(self, vectors: np.ndarray, search: QdrantSearch) -> Sequence[Sequence[ScoredPoint]]:
        params = self._params(search)
        requests = [models.QueryRequest(query=row, limit=search.k, params=params) for row in vectors.tolist()]
        found = self._client.query_batch_points(self._name, requests, consistency=READS[search.consistency])
        return [one.points for one in found]

    def read(
        self, limit: int, where: tuple[Term, ...], after: PointId | None, vector: str | None
    ) -> tuple[Sequence[StoredPoint], PointId | None]:
        page = {"scroll_filter": self._filter(where), "limit": limit, "offset": after}
        vectors = [vector] if vector else vector is not None
        return self._client.scroll(self._name, **page, with_payload=True, with_vectors=vectors)

    def payloads(self, ids: list[int]) -> dict[int, Payload]:
        points = self._client.retrieve(self._name, ids, with_payload=True)
        return {int(point.id): point.payload or {} for point in points}

    def delete(self, ids: list[int]) -> None:
        self._client.delete(self._name, models.PointIdsList(points=ids), wait=True)

    def close(self) -> None:
        self._client.close()

    def _expect_copies(self) -> None:
        """Raise unless every shard has the requested copies, all active."""
        cluster = self._client.collection_cluster_info(self._name)
        states = [(one.shard_id, one.state) for one in (*cluster.local_shards, *cluster.remote_shards)]
        active = [shard for shard, state in states if state == models.ReplicaState.ACTIVE]
        copies = min(active.count(shard) for shard in {*active}) if active else 0
        expect_spread("Qdrant", (len({*active}), copies - 1), self._build)

    def _is_indexed(self, shape: QdrantShape, rows: int) -> bool:
        """Whether no optimizer is running, the graph covers what it must, and every write is applied."""
        state = self._client.get_collection(self._name)
        covered = (state.indexed_vectors_count or 0) >= shape.rows_to_index(rows)
        applied = self._build.wait or self._count() >= rows
        return state.status == models.CollectionStatus.GREEN and covered and applied

    def _count(self) -> int:
        return self._client.count(self._name, exact=True).count
