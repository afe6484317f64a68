"""Collections that others filled: searched by real engines, never written to, refused where they do not fit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakeoff
from bakeoff import registry
from bakeoff.config.experiment import load
from bakeoff.errors import ExperimentError, QueryFileError
from bakeoff.types import Role

TEXTS = {
    "wifi/1": "The router loses its wifi at night.",
    "wifi/2": "A new channel helps.",
    "cable/1": "The cable of the modem is too short.",
    "cable/2": "Order a longer one from the shop.",
}
QUERIES = """\
queries:
  - {id: q1, text: router loses wifi, truth: {documents: [wifi]}}
  - {id: q2, text: short modem cable, truth: {chunks: [cable/1]}}
"""
BEST = {"q1": "wifi/1", "q2": "cable/1"}


def vectors() -> np.ndarray:
    plugin = registry.load("embedders", "wordllama")
    found: np.ndarray = plugin(plugin.Params()).embed(list(TEXTS.values()), Role.DOCUMENT)
    return found


@pytest.fixture
def run(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs an experiment over a table of the chunks and one store."""
    monkeypatch.chdir(tmp_path)

    def made(store: str, more: str = "", queries: str = QUERIES, measure: str = "") -> Any:
        rows = [f'"{name}","{name.split("/")[0]}","{text}"' for name, text in TEXTS.items()]
        Path("chunks.csv").write_text("id,doc,text\n" + "\n".join(rows) + "\n")
        Path("queries.yaml").write_text(queries)
        Path("bakeoff.yaml").write_text(
            f"chunks: {{table: chunks.csv, id: id, text: text, document: doc}}\nqueries: queries.yaml\n"
            f"stores: [{store}]\nmodes: [dense]\nmeasures: {{primary: nDCG@10(answer), also: [{measure}]}}\n{more}"
        )
        return bakeoff.run(load(Path("bakeoff.yaml")))

    return made


def best(result: Any) -> dict[str, str]:
    return {row["query_id"]: row["chunk_id"] for row in result.rankings.to_pylist() if row["rank"] == 1}


def reason(result: Any) -> str:
    (system,) = result.systems.to_pylist()
    assert system["status"] == "failed"
    return str(system["reason"])


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- Chroma -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Chroma with one collection, ids of its own and ours in the metadata."""
    chromadb = pytest.importorskip("chromadb")
    folder = tmp_path_factory.mktemp("chroma")
    client = chromadb.PersistentClient(path=folder)
    made = client.create_collection(
        "tickets", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    made.add(
        [f"own-{n}" for n in range(len(TEXTS))],
        embeddings=vectors().tolist(),
        metadatas=[{"chunk": name, "topic": name.split("/")[0], "pages": n} for n, name in enumerate(TEXTS)],
    )
    made.add(["other"], embeddings=[[1.0] * 256], metadatas=[{"chunk": "nowhere/1", "topic": "none"}])
    client.close()
    return folder


@pytest.fixture
def folder(chroma: Path, tmp_path: Path) -> Path:
    return shutil.copytree(chroma, tmp_path / "engine")


STORE = "{chroma: {path: engine, collection: tickets, read_only: true, id: chunk}}"


def test_a_collection_of_chroma_is_searched_and_not_changed(folder: Path, run: Callable[..., Any]) -> None:
    before = content(folder)
    result = run(STORE)
    assert best(result) == BEST
    assert content(folder) == before
    (note,) = [one for one in result.record.notes if "holds 5 rows" in one]
    assert "4 chunks" in note and "1 of 5 ids" in note
    assert "read only" in str(result.record.model_dump())


@pytest.mark.parametrize(
    ("old", "new", "more", "message"),
    [
        ("tickets", "tickts", "", 'no collection "tickts". Did you mean "tickets"?'),
        ("id: chunk", "id: chunk_id", "", 'no payload field of ids "chunk_id". Known: chunk'),
        (", id: chunk", "", "", "none of 5 ids, such as "),
        ("engine", "nowhere", "", "is not a folder"),
        ("tickets", "tickets", "metric: l2\n", "searched by cosine, but the experiment says l2"),
        ("tickets", "tickets", "embedders: [{wordllama: {dims: 64}}]\n", "vectors of 256 dimensions, but the model makes 64"),
        ("chroma", "exact", "", "exact cannot search an existing collection"),
    ],
)  # fmt: skip
def test_collections_that_do_not_fit_fail_their_system(
    folder: Path, run: Callable[..., Any], old: str, new: str, more: str, message: str
) -> None:
    assert message in reason(run(STORE.replace(old, new), more))


def test_filters_use_the_payload_fields_of_the_collection(folder: Path, run: Callable[..., Any]) -> None:
    """No document has a field `topic`: the collection has."""
    result = run(STORE, queries=QUERIES.replace("wifi, truth", "wifi, filter: {topic: cable}, truth"))
    found = {row["rank"]: row["chunk_id"] for row in result.rankings.to_pylist() if row["query_id"] == "q1"}
    assert sorted(found.values()) == ["cable/1", "cable/2"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("{topik: cable}", "no payload field is called 'topik'. Did you mean 'topic'?"),
        ("{topic: {least: 2}}", "a filter has bounds for 'topic', which holds text"),
        ("{pages: {from: 2026-05-01}}", "a filter has dates for 'pages', which holds integers"),
        ("{pages: many}", "a filter compares 'pages' with 'many', but it holds integers"),
    ],
)
def test_filters_that_the_collection_cannot_answer_fail_its_system(
    folder: Path, run: Callable[..., Any], asked: str, message: str
) -> None:
    assert message in reason(
        run(STORE, queries=QUERIES.replace("wifi, truth", f"wifi, filter: {asked}, truth"))
    )


def test_the_same_filter_needs_a_field_of_the_documents_for_an_index_of_ours(
    folder: Path, run: Callable[..., Any]
) -> None:
    with pytest.raises(QueryFileError, match='"topic"'):
        run(f"{STORE}, exact", queries=QUERIES.replace("wifi, truth", "wifi, filter: {topic: cable}, truth"))


def test_its_vectors_are_the_reference_and_the_chunks_are_not_embedded(
    folder: Path, run: Callable[..., Any]
) -> None:
    """The first vector of the collection is another one than the model makes: exact search uses the collection's."""
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(path=folder)
    rows = vectors()
    client.get_collection("tickets", embedding_function=None).update("own-0", embeddings=(-rows[0]).tolist())
    client.close()
    result = run(STORE, "depth: 3\n", measure="kNN@3")
    assert best(result)["q1"] != "wifi/1"
    assert [one.mean for one in result.summaries("kNN@3").values()] == [1.0]
    assert result.losses.num_rows and "index misses" in result.losses["step"].to_pylist()
    timings = {row["phase"]: row["note"] for row in result.timings.to_pylist()}
    assert timings["ingest"].endswith("elsewhere") and "embed_chunks" not in timings


def test_a_collection_must_be_read_only(folder: Path, run: Callable[..., Any]) -> None:
    with pytest.raises(ExperimentError, match="read_only: true"):
        run("{chroma: {path: engine, collection: tickets}}")


def test_ids_of_documents_fit_whole_documents(folder: Path, run: Callable[..., Any]) -> None:
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(path=folder)
    made = client.get_collection("tickets", embedding_function=None)
    made.update([f"own-{n}" for n in range(len(TEXTS))], metadatas=[{"doc": n.split("/")[0]} for n in TEXTS])
    made.delete(["other"])
    client.close()
    result = run(STORE.replace("id: chunk", "id: doc"), "chunkers: [whole]\n")
    scored = {row["chunker"]: row["status"] for row in result.systems.to_pylist()}
    assert scored == {"chunks": "failed", "whole": "done"}
    rows = [row for row in result.rankings.to_pylist() if row["query_id"] == "q2"]
    assert [row["document_id"] for row in rows] == ["cable", "wifi"]


# --- others -----------------------------------------------------------------------------------------


def test_an_edge_shard_of_qdrant(tmp_path: Path, run: Callable[..., Any]) -> None:
    edge = pytest.importorskip("qdrant_edge")
    folder = tmp_path / "engine" / "tickets"
    folder.parent.mkdir()
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=256, distance=edge.Distance.Cosine))
    shard = edge.EdgeShard.create(str(folder), config)
    rows = zip(TEXTS, vectors().tolist(), strict=True)
    points = [edge.Point(n, row, {"chunk": name}) for n, (name, row) in enumerate(rows)]
    shard.update(edge.UpdateOperation.upsert_points(points))
    shard.flush()
    shard.close()
    before = content(folder)
    assert best(run(STORE.replace("chroma", "qdrant"))) == BEST
    assert content(folder) == before
    assert '"nothing"' in reason(run("{qdrant: {path: engine, collection: nothing, read_only: true}}"))


@pytest.mark.slow
def test_a_table_of_postgresql(engine: Callable[[str], dict[str, str]], run: Callable[..., Any]) -> None:
    import psycopg

    dsn = engine("pgvector")["BAKEOFF_PGVECTOR_DSN"]
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("DROP TABLE IF EXISTS tickets")
        connection.execute("CREATE TABLE tickets (number serial, chunk text, embedding vector(256))")
        for name, row in zip(TEXTS, vectors().tolist(), strict=True):
            connection.execute(
                "INSERT INTO tickets (chunk, embedding) VALUES (%s, %s::vector)", [name, str(row)]
            )
        store = "{pgvector: {collection: tickets, read_only: true, id: chunk}}"
        assert best(run(store)) == BEST
        connection.execute("CREATE INDEX ON tickets USING hnsw (embedding vector_l2_ops)")
        assert "l2" in reason(run(store))
        assert best(run(store, "metric: l2\n")) == BEST
        assert '"tcikets"' in reason(run(store.replace("tickets", "tcikets")))
        assert '"id"' in reason(run(store.replace(", id: chunk", "")))
        connection.execute("ALTER TABLE tickets ADD half halfvec(256)")
        connection.execute("UPDATE tickets SET half = embedding::halfvec")
        connection.execute("CREATE INDEX ON tickets USING hnsw (half halfvec_cosine_ops)")
        halved = run(store.replace("id: chunk", "id: chunk, vector: half"), "depth: 3\n", measure="kNN@3")
        assert best(halved) == BEST
        assert [one.mean for one in halved.summaries("kNN@3").values()] == [1.0]
        assert connection.execute("SELECT count(*) FROM tickets").fetchone() == (4,)
        connection.execute("DROP TABLE tickets")


@pytest.mark.slow
def test_a_file_of_milvus_lite(tmp_path: Path, run: Callable[..., Any]) -> None:
    pytest.importorskip("milvus_lite")
    from bakeoff.plugins.stores._milvus import connect

    folder = tmp_path / "engine"
    folder.mkdir()
    client = connect(None, folder / "milvus.db")
    client.create_collection(
        "tickets",
        dimension=256,
        metric_type="COSINE",
        id_type="string",
        primary_field_name="chunk",
        max_length=40,
    )
    rows = zip(TEXTS, vectors().tolist(), strict=True)
    client.insert("tickets", [{"chunk": name, "vector": row} for name, row in rows])
    client.close()
    from milvus_lite.server_manager import server_manager_instance as lite

    lite.release_server(str(folder / "milvus.db"))
    assert best(run(STORE.replace("chroma", "milvus").replace(", id: chunk", ""))) == BEST
    assert "by cosine" in reason(run(STORE.replace("chroma", "milvus"), "metric: dot\n"))
