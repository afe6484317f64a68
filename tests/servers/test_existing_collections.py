"""Collections that strangers filled, on real servers: searched and filtered as they are, compared with exact search,
never written to, and refused where they do not fit."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakeoff
from bakeoff import registry
from bakeoff.config.experiment import load
from bakeoff.types import Role

sys.path.insert(0, str(Path(__file__).parent))
from read_only_proxy import GrpcReads, HttpReads

pytestmark = pytest.mark.slow

PRODUCTS = ("router", "modem", "camera")
FAULTS = (
    "loses its signal at night",
    "is slow since the update",
    "shows a blank picture",
    "makes a loud noise",
)
PLACES = ("in the kitchen", "behind a wall", "on the balcony", "near the window")
DAYS = [datetime(2026, 5, 1, 12, tzinfo=UTC) + timedelta(days=3 * n) for n in range(48)]


@dataclass(frozen=True)
class Ticket:
    """One row of the stranger's collection."""

    name: str
    text: str
    product: str
    year: int
    price: float
    active: bool
    day: datetime


@functools.cache
def tickets() -> list[Ticket]:
    texts = [f"The {p} {f} {w}." for p in PRODUCTS for f in FAULTS for w in PLACES]
    known = [
        Ticket(f"t{n:02}/1", text, text.split()[1], 2020 + n % 5, n / 4, n % 2 == 0, DAYS[n])
        for n, text in enumerate(texts)
    ]
    more = Ticket("nowhere/1", "Something that is not in the corpus.", "other", 2019, 99.0, False, DAYS[0])
    return [*known, more]


@functools.cache
def vectors() -> np.ndarray:
    plugin = registry.load("embedders", "wordllama")
    found: np.ndarray = plugin(plugin.Params()).embed([one.text for one in tickets()], Role.DOCUMENT)
    return found


def rows() -> list[tuple[Ticket, list[float]]]:
    return list(zip(tickets(), vectors().tolist(), strict=True))


FILTERS: dict[str, tuple[str, Callable[[Ticket], bool]]] = {
    "text": ("{product: router}", lambda one: one.product == "router"),
    "texts": ("{product: [modem, camera]}", lambda one: one.product in ("modem", "camera")),
    "integer": ("{year: 2022}", lambda one: one.year == 2022),
    "bounds": ("{year: {least: 2021.5, most: 2023}}", lambda one: 2022 <= one.year <= 2023),
    "number": ("{price: {most: 2.5}}", lambda one: one.price <= 2.5),
    "boolean": ('{active: "true"}', lambda one: one.active),
    "date": ("{opened: {from: 2026-05-04, to: 2026-05-10}}", lambda one: DAYS[1] <= one.day <= DAYS[3]),
    "two": ("{product: modem, year: {least: 2023}}", lambda one: one.product == "modem" and one.year >= 2023),
}
QUESTION = "The router is slow near the window."


@dataclass
class Filled:
    """A collection that a stranger filled: how an experiment names it, its state, and the proxies in front of it."""

    store: str
    state: Callable[[], object]
    guards: list[HttpReads | GrpcReads] = field(default_factory=list)
    kinds: frozenset[str] = frozenset(FILTERS)
    prefix: str = ""
    """What is before the name of a payload field."""


@pytest.fixture
def guard() -> Iterator[Callable[..., Any]]:
    made: list[HttpReads | GrpcReads] = []

    def put(kind: type[HttpReads | GrpcReads], port: int) -> HttpReads | GrpcReads:
        made.append(kind(port))
        return made[-1]

    yield put
    for one in made:
        one.close()


# --- strangers --------------------------------------------------------------------------------------


def payload(one: Ticket, day: object) -> dict[str, Any]:
    return {
        "ref": one.name, "product": one.product, "year": one.year, "price": one.price, "active": one.active, "opened": day,
    }  # fmt: skip


def lucene(name: str, api: Any, url: str, guard: Callable[..., Any], vector: dict[str, Any]) -> Filled:
    """An index with fields inside an object, and texts that are found by their keyword field."""
    inner = {
        "ref": {"type": "keyword"}, "product": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "year": {"type": "integer"}, "price": {"type": "float"}, "active": {"type": "boolean"}, "opened": {"type": "date"},
    }  # fmt: skip
    body: dict[str, Any] = {"mappings": {"properties": {"meta": {"properties": inner}, "embedding": vector}}}
    if name == "opensearch":
        body["settings"] = {"index": {"knn": True}}
    api.indices.delete(index="tickets", ignore_unavailable=True)
    api.indices.create(index="tickets", body=body)
    for one, row in rows():
        api.index(index="tickets", body={"meta": payload(one, one.day.isoformat()), "embedding": row})
    api.index(index="tickets", body={"meta": {"ref": "without a vector"}})
    api.indices.refresh(index="tickets")
    api.indices.put_settings(index="tickets", body={"index": {"blocks.write": True}})

    def state() -> object:
        stats = api.indices.stats(index="tickets")["_all"]["primaries"]
        mapping, settings = (
            api.indices.get_mapping(index="tickets"),
            api.indices.get_settings(index="tickets"),
        )
        return json.dumps([stats["docs"], stats["indexing"]["index_total"], dict(mapping), dict(settings)])

    proxy = guard(HttpReads, int(url.rpartition(":")[2]))
    asked = f'{name}: {{url: "http://127.0.0.1:{proxy.port}", collection: tickets, read_only: true, id: meta.ref}}'
    return Filled(asked, state, [proxy], prefix="meta.")


def elasticsearch(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    from elasticsearch import Elasticsearch

    url = known("elasticsearch")
    client = Elasticsearch(url)
    request.addfinalizer(client.close)
    request.addfinalizer(lambda: client.indices.delete(index="tickets", ignore_unavailable=True))
    return lucene(
        "elasticsearch",
        client,
        url,
        guard,
        {"type": "dense_vector", "dims": 256, "index_options": {"type": "hnsw"}},
    )


def opensearch(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    from opensearchpy import OpenSearch

    url = known("opensearch")
    client = OpenSearch(url)
    request.addfinalizer(client.close)
    request.addfinalizer(lambda: client.indices.delete(index="tickets", ignore_unavailable=True))
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    return lucene(
        "opensearch", client, url, guard, {"type": "knn_vector", "dimension": 256, "method": method}
    )


def weaviate(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    """A collection with a named vector; its shard is then closed to writes by the engine itself."""
    import weaviate as client_package
    from weaviate.classes.config import Configure, DataType, Property, Tokenization
    from weaviate.classes.init import Auth

    page, _, port = known("weaviate").partition("?grpc=")
    host, http_port = page.removeprefix("http://").split(":")
    key = os.environ.get("BAKEOFF_WEAVIATE_KEY")
    client = client_package.connect_to_local(
        host,
        int(http_port),
        int(port),
        auth_credentials=Auth.api_key(key) if key else None,
        skip_init_checks=True,
    )
    request.addfinalizer(client.close)
    client.collections.delete("Tickets")
    made = client.collections.create(
        "Tickets",
        properties=[
            Property(name="ref", data_type=DataType.TEXT),
            Property(name="product", data_type=DataType.TEXT, tokenization=Tokenization.FIELD),
            Property(name="year", data_type=DataType.INT),
            Property(name="price", data_type=DataType.NUMBER),
            Property(name="active", data_type=DataType.BOOL),
            Property(name="opened", data_type=DataType.DATE),
        ],
        vector_config=[
            Configure.Vectors.self_provided(name="body"),
            Configure.Vectors.self_provided(name="title"),
        ],
    )
    for one, row in rows():
        made.data.insert(payload(one, one.day), vector={"body": row, "title": row[::-1]})
    made.config.update_shards("READONLY")

    def delete() -> None:
        made.config.update_shards("READY")
        client.collections.delete("Tickets")

    request.addfinalizer(delete)

    def state() -> object:
        objects = sorted(
            str((one.uuid, one.metadata.last_update_time))
            for one in made.iterator(return_metadata=["last_update_time"])
        )
        return objects, json.dumps(made.config.get().to_dict(), default=str)

    proxies = [guard(HttpReads, int(http_port)), guard(GrpcReads, int(port))]
    at = f"http://127.0.0.1:{proxies[0].port}?grpc={proxies[1].port}"
    asked = f'weaviate: {{url: "{at}", collection: Tickets, read_only: true, id: ref, vector: body}}'
    return Filled(asked, state, proxies)


def milvus(
    request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path, others: np.ndarray | None = None
) -> Filled:
    """A collection with a key of its own, and JSON; the engine has no dates. With `others`, its index is IVF."""
    from pymilvus import DataType, MilvusClient

    url = known("milvus")
    client = MilvusClient(url, dedicated=True)
    request.addfinalizer(client.close)
    client.drop_collection("tickets")
    schema = client.create_schema(auto_id=True, enable_dynamic_field=False)
    schema.add_field("pk", DataType.INT64, is_primary=True)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=256)
    schema.add_field("product", DataType.VARCHAR, max_length=40)
    schema.add_field("year", DataType.INT32)
    schema.add_field("price", DataType.FLOAT)
    schema.add_field("active", DataType.BOOL)
    schema.add_field("extra", DataType.JSON)
    index = client.prepare_index_params()
    kind, shape = (
        ("HNSW", {"M": 16, "efConstruction": 100}) if others is None else ("IVF_FLAT", {"nlist": 1024})
    )
    index.add_index("embedding", index_type=kind, metric_type="COSINE", params=shape)
    client.create_collection("tickets", schema=schema, index_params=index)
    data = [
        {"embedding": row, "product": one.product, "year": one.year, "price": one.price, "active": one.active,
         "extra": {"ref": one.name, "note": f"n{one.year}"}}
        for one, row in rows()
    ]  # fmt: skip
    other = {"product": "other", "year": 0, "price": 0.0, "active": False, "extra": {"ref": "elsewhere"}}
    data += [{"embedding": row, **other} for row in (others if others is not None else ())]
    client.insert("tickets", data)
    client.flush("tickets")
    while client.describe_index("tickets", "embedding").get("pending_index_rows"):
        time.sleep(0.2)
    client.release_collection(
        "tickets"
    )  # what was in memory before its index was built is compared row by row
    client.load_collection("tickets")
    request.addfinalizer(lambda: client.drop_collection("tickets"))

    def state() -> object:
        count = client.query("tickets", output_fields=["count(*)"], consistency_level="Strong")
        held = [client.describe_collection("tickets"), client.describe_index("tickets", "embedding")]
        return json.dumps([count, client.get_load_state("tickets"), *held], default=str)

    proxy = guard(GrpcReads, int(url.rpartition(":")[2]))
    asked = f'milvus: {{uri: "http://127.0.0.1:{proxy.port}", collection: tickets, read_only: true, id: extra.ref}}'
    return Filled(asked, state, [proxy], frozenset(FILTERS) - {"date"})


def chroma(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    import chromadb

    url = request.getfixturevalue("engine")("chroma")["BAKEOFF_CHROMA_URL"]
    client = chromadb.HttpClient(url.split("//")[1].split(":")[0], int(url.rpartition(":")[2]))
    if "tickets" in [one.name for one in client.list_collections()]:
        client.delete_collection("tickets")
    made = client.create_collection(
        "tickets", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    made.add(
        [f"own-{n}" for n in range(len(tickets()))],
        embeddings=vectors().tolist(),
        metadatas=[payload(one, one.day.isoformat()) for one in tickets()],
    )
    request.addfinalizer(lambda: client.delete_collection("tickets"))

    def state() -> object:
        held = made.get(include=["metadatas", "embeddings"])
        return (
            held["ids"],
            held["metadatas"],
            np.asarray(held["embeddings"]).tobytes(),
            str(made.configuration_json),
        )

    proxy = guard(HttpReads, int(url.rpartition(":")[2]))
    asked = f'chroma: {{url: "http://127.0.0.1:{proxy.port}", collection: tickets, read_only: true, id: ref}}'
    return Filled(asked, state, [proxy], frozenset(FILTERS) - {"date"})


def pgvector(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    """A table as LangChain makes one, with JSON; asked as a user who may only select."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.types.json import Jsonb

    dsn = request.getfixturevalue("engine")("pgvector")["BAKEOFF_PGVECTOR_DSN"]
    connection = psycopg.connect(dsn, autocommit=True)
    request.addfinalizer(connection.close)
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute("CREATE SCHEMA IF NOT EXISTS shop")
    connection.execute("DROP TABLE IF EXISTS shop.tickets")
    connection.execute(
        "CREATE TABLE shop.tickets (number serial, meta jsonb, opened timestamp, embedding vector(256))"
    )
    for one, row in rows():
        meta = {key: value for key, value in payload(one, "").items() if key != "opened"}
        connection.execute(
            "INSERT INTO shop.tickets (meta, opened, embedding) VALUES (%s, %s, %s::vector)",
            [Jsonb({"inner": meta}), one.day.replace(tzinfo=None), str(row)],
        )
    connection.execute("CREATE INDEX ON shop.tickets USING hnsw (embedding vector_cosine_ops)")
    connection.execute("DROP ROLE IF EXISTS reader")
    connection.execute("CREATE ROLE reader LOGIN PASSWORD 'only-reads'")
    connection.execute("GRANT USAGE ON SCHEMA shop TO reader; GRANT SELECT ON shop.tickets TO reader")

    def clean() -> None:
        connection.execute("DROP SCHEMA shop CASCADE; DROP OWNED BY reader; DROP ROLE reader")

    request.addfinalizer(clean)
    reader = conninfo_to_dict(dsn) | {"user": "reader", "password": "only-reads"}
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)
    patch.setenv("BAKEOFF_PGVECTOR_DSN", make_conninfo(**reader))

    def state() -> object:
        rows_now = "SELECT md5(string_agg(t::text || xmin::text, ',' ORDER BY number)) FROM shop.tickets t"
        return connection.execute(rows_now).fetchall()

    asked = "pgvector: {collection: shop.tickets, read_only: true, id: meta.inner.ref}"
    return Filled(asked, state, prefix="meta.inner.")


class ReadingClient:
    """Qdrant's client with its methods that read; any other is an error."""

    READS = (
        "collection_exists",
        "get_collections",
        "get_collection",
        "count",
        "scroll",
        "query_points",
        "info",
        "close",
    )

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        assert name in self.READS, f"{name} writes"
        return (lambda: None) if name == "close" else getattr(self._client, name)


def qdrant(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    """The client's own engine in memory, since no registry has the server: the same calls, other code behind them."""
    qdrant_client = pytest.importorskip("qdrant_client")
    from qdrant_client import models

    client = qdrant_client.QdrantClient(":memory:")
    shape = models.VectorParams(size=256, distance=models.Distance.COSINE)
    client.create_collection("tickets", vectors_config={"body": shape, "title": shape})
    points = [
        models.PointStruct(id=n, vector={"body": row, "title": row[::-1]}, payload={"metadata": payload(one, one.day.isoformat())})
        for n, (one, row) in enumerate(rows())
    ]  # fmt: skip
    client.upsert("tickets", points)
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)
    patch.setattr("bakeoff.plugins.stores._qdrant_server.QdrantClient", lambda **_: ReadingClient(client))

    def state() -> object:
        held, _ = client.scroll("tickets", limit=100)  # vectors change in the last digit when it searches
        return [(one.id, one.payload) for one in held], str(client.get_collection("tickets"))

    asked = "qdrant: {url: 'http://127.0.0.1:1', collection: tickets, read_only: true, id: metadata.ref, vector: body}"
    return Filled(asked, state, prefix="metadata.")


def qdrant_edge(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    """A shard of the embedded engine, in a folder that must keep its bytes."""
    edge = pytest.importorskip("qdrant_edge")
    folder = tmp_path / "engine" / "tickets"
    folder.parent.mkdir()
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=256, distance=edge.Distance.Cosine))
    shard = edge.EdgeShard.create(str(folder), config)
    points = [
        edge.Point(n, row, {"metadata": payload(one, one.day.isoformat())})
        for n, (one, row) in enumerate(rows())
    ]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.flush()
    shard.close()

    def state() -> object:
        return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    asked = f"qdrant: {{path: '{folder.parent}', collection: tickets, read_only: true, id: metadata.ref}}"
    return Filled(asked, state, [], frozenset(FILTERS) - {"boolean"}, "metadata.")


STRANGERS = (elasticsearch, opensearch, weaviate, milvus, chroma, pgvector, qdrant, qdrant_edge)


@pytest.fixture(params=STRANGERS, ids=lambda one: one.__name__)
def filled(request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path) -> Filled:
    found: Filled = request.param(request, known, guard, tmp_path)
    return found


# --- the experiment ---------------------------------------------------------------------------------


@pytest.fixture
def run(home: Path) -> Callable[..., Any]:
    """Runs an experiment over a table of the tickets and some stores."""

    def made(*stores: str, queries: str, more: str = "", out: str = "run") -> Any:
        lines = [f'"{one.name}","{one.name.split("/")[0]}","{one.text}"' for one in tickets()[:-1]]
        Path("chunks.csv").write_text("id,doc,text\n" + "\n".join(lines) + "\n")
        Path("queries.yaml").write_text(f"queries:\n{queries}")
        listed = ", ".join(f"{{{one}}}" if ":" in one else one for one in stores)
        Path("bakeoff.yaml").write_text(
            "chunks: {table: chunks.csv, id: id, text: text, document: doc}\nqueries: queries.yaml\n"
            f"stores: [{listed}]\nmodes: [dense]\ndepth: 12\n"
            f'measures: {{primary: "nDCG@10(answer)", also: ["kNN@10"]}}\nallow: [duplicate]\n{more}'
        )
        return bakeoff.run(load(Path("bakeoff.yaml")), out=Path(out))

    return made


def query(name: str, among: str = "") -> str:
    kept = f", filter: {among}" if among else ""
    return f"  - {{id: {name}, text: {QUESTION}, truth: {{chunks: [t07/1]}}{kept}}}\n"


def ranked(result: Any, name: str, store: str) -> list[str]:
    kept = [row for row in result.rankings.to_pylist() if row["query_id"] == name and store in row["system"]]
    return [row["chunk_id"] for row in sorted(kept, key=lambda row: row["rank"])]


def nearest(keep: Callable[[Ticket], bool] = lambda _: True, more: np.ndarray | None = None) -> list[str]:
    """What comparing every row finds, those that are nowhere in the corpus left out."""
    plugin = registry.load("embedders", "wordllama")
    asked = plugin(plugin.Params()).embed([QUESTION], Role.QUERY)[0]
    matrix = vectors() if more is None else np.concatenate([vectors(), more])
    scores = matrix @ asked / np.linalg.norm(matrix, axis=1)
    known = {n: one for n, one in enumerate(tickets()) if keep(one)}
    order = [n for n in np.argsort(-scores, kind="stable").tolist() if n in known or n >= len(tickets())][:12]
    return [known[n].name for n in order if n in known and known[n].name != "nowhere/1"]


def test_it_is_searched_and_filtered_as_it_is_and_nothing_is_written(
    filled: Filled, run: Callable[..., Any]
) -> None:
    before = filled.state()
    asked = {name: FILTERS[name] for name in sorted(filled.kinds)}
    fields = {name: _prefixed(given, filled.prefix) for name, (given, _) in asked.items()}
    text = query("plain") + "".join(query(name, given) for name, given in fields.items())
    result = run(filled.store, queries=text)
    assert not result.failed
    (label,) = result.done
    assert ranked(result, "plain", label) == nearest()
    for name, (_, keep) in asked.items():
        assert ranked(result, name, label) == nearest(keep), name
    (recall,) = [one.mean for one in result.summaries("kNN@10").values()]
    assert recall == 1.0
    assert "index misses" in result.losses["step"].to_pylist()
    assert any("holds 49 rows" in note or "holds 50 rows" in note for note in result.record.notes)
    assert filled.state() == before
    assert [one.refused for one in filled.guards] == [[]] * len(filled.guards)
    assert all(one.passed for one in filled.guards)


def _prefixed(given: str, prefix: str) -> str:
    """A filter with the payload's path before each of its fields; PostgreSQL has its dates in a column."""
    for name in ("product", "year", "price", "active", "opened"):
        inner = "" if prefix == "meta.inner." and name == "opened" else prefix
        given = given.replace(f"{name}:", f'"{inner}{name}":')
    return given


@pytest.mark.parametrize(
    ("old", "new", "more", "message"),
    [
        ("tickets", "tickts", "", "Did you mean"),
        ("Tickets", "Tickts", "", "Did you mean"),
        ("ref", "reference", "", "reference"),
        ("", "", "metric: l2\n", "is searched by cosine, but the experiment says l2"),
        (
            "",
            "",
            "embedders: [{wordllama: {dims: 64}}]\n",
            "has vectors of 256 dimensions, but the model makes 64",
        ),
    ],
    ids=["name", "Name", "id", "metric", "dims"],
)
def test_what_does_not_fit_fails_alone(
    filled: Filled, run: Callable[..., Any], old: str, new: str, more: str, message: str
) -> None:
    if old not in filled.store:
        pytest.skip("the collection is called otherwise")
    before = filled.state()
    store = (
        filled.store.replace(f": {old}", f": {new}").replace(f".{old}", f".{new}") if old else filled.store
    )
    if "shop." in store:
        store = store.replace("shop.tickets", f"shop.{new}" if old == "tickets" else "shop.tickets")
    result = run(store, "exact", queries=query("plain"), more=more)
    (reason,) = result.failed.values()
    assert message in reason
    assert [one for one in result.done if "exact" in one]
    assert filled.state() == before
    assert [one.refused for one in filled.guards] == [[]] * len(filled.guards)


def test_a_filter_on_a_field_that_is_not_there_fails_alone(filled: Filled, run: Callable[..., Any]) -> None:
    result = run(
        filled.store, queries=query("plain") + query("wrong", f'{{"{filled.prefix}prodct": router}}')
    )
    (system,) = result.systems.to_pylist()
    assert system["status"] in ("failed", "partial")
    assert "prodct" in system["reason"] and f"{filled.prefix}product" in system["reason"]


# --- what an index misses ---------------------------------------------------------------------------


def test_what_an_index_misses_is_measured(
    request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path, run: Callable[..., Any]
) -> None:
    """An IVF index of 1,024 cells, of which one is looked at, misses what exact search of its vectors finds."""
    noise = np.random.default_rng(0).normal(0, 0.1, (3000, 256))  # fewer rows are compared one by one
    others = (vectors()[np.arange(3000) % 48] + noise).astype(np.float32)
    filled = milvus(request, known, guard, tmp_path, others)
    result = run(filled.store.replace("}", ", query: {probes: 1}}"), queries=query("plain"))
    (label,) = result.done
    found, exact = ranked(result, "plain", label), nearest(more=others)
    assert found != exact
    (recall,) = [one.mean for one in result.summaries("kNN@10").values()]
    assert recall == len({*found[:10]} & {*exact[:10]}) / min(10, len(exact)) < 1


@pytest.fixture
def without_source(request: pytest.FixtureRequest, known: Any) -> str:
    """An index that does not keep its vectors where they can be read."""
    from elasticsearch import Elasticsearch

    client = Elasticsearch(known("elasticsearch"))
    request.addfinalizer(client.close)
    fields = {"ref": {"type": "keyword"}, "embedding": {"type": "dense_vector", "dims": 256}}
    client.indices.delete(index="sparse", ignore_unavailable=True)
    client.indices.create(
        index="sparse", mappings={"_source": {"excludes": ["embedding"]}, "properties": fields}
    )
    request.addfinalizer(lambda: client.indices.delete(index="sparse", ignore_unavailable=True))
    for one, row in rows():
        client.index(index="sparse", document={"ref": one.name, "embedding": row})
    client.indices.refresh(index="sparse")
    return "elasticsearch: {collection: sparse, read_only: true, id: ref}"


def test_what_is_not_returned_is_not_measured_and_the_reason_is_given(
    without_source: str, run: Callable[..., Any]
) -> None:
    result = run(without_source, queries=query("plain"))
    assert not result.failed
    (note,) = [one for one in result.record.notes if "index misses were not measured" in one]
    assert "'embedding'" in note
    assert [one.mean for one in result.summaries("kNN@10").values()] == [None]
    assert "index misses" not in result.losses["step"].to_pylist()


def test_vectors_given_with_the_chunks_are_the_reference_where_none_are_returned(
    without_source: str, home: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kept = tickets()[:-1]
    table = {
        "id": [one.name for one in kept],
        "doc": [one.name.split("/")[0] for one in kept],
        "text": [one.text for one in kept],
        "vector": vectors()[:-1].tolist(),
    }
    pq.write_table(pa.table(table), "chunks.parquet")
    Path("queries.yaml").write_text(f"queries:\n{query('plain')}")
    Path("bakeoff.yaml").write_text(
        "chunks: {table: chunks.parquet, id: id, text: text, document: doc, vector: vector, model: wordllama}\n"
        f"queries: queries.yaml\nstores: [{{{without_source}}}]\nmodes: [dense]\nembedders: [wordllama]\ndepth: 12\n"
        'measures: {primary: "nDCG@10(answer)", also: ["kNN@10"]}\n'
    )
    result = bakeoff.run(load(Path("bakeoff.yaml")))
    (recall,) = [one.mean for one in result.summaries("kNN@10").values()]
    assert recall is not None and recall > 0.8
    assert not [one for one in result.record.notes if "not measured" in one]


def test_a_collection_that_was_not_in_memory_is_taken_out_again(
    request: pytest.FixtureRequest, known: Any, guard: Any, tmp_path: Path, run: Callable[..., Any]
) -> None:
    from pymilvus import MilvusClient

    filled, url = milvus(request, known, guard, tmp_path), known("milvus")
    client = MilvusClient(url, dedicated=True)
    request.addfinalizer(client.close)
    client.release_collection("tickets")
    port = str(filled.guards[0].port)
    result = run(filled.store.replace(port, url.rpartition(":")[2]), queries=query("plain"))
    assert not result.failed
    assert str(client.get_load_state("tickets")["state"]) == "NotLoad"
