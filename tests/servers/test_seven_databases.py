"""S3-8, S3-9, S3-25: FAISS, Chroma, Qdrant, pgvector, Weaviate, Milvus and OpenSearch in one experiment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = {
    "test_cases": [
        {"id": "t1", "query": "how long is an access token valid", "relevant_doc_ids": ["guide/auth"]},
        {"id": "t2", "query": "get my money back after a purchase", "relevant_doc_ids": ["guide/billing"]},
        {
            "id": "t3",
            "query": "turn a title with accents into a web address",
            "relevant_doc_ids": ["src/slug.py"],
        },
    ]
}
EMBEDDED = ("faiss", "chroma", "qdrant")
SERVERS = ("pgvector", "weaviate", "milvus", "opensearch")


def shape(value: Any) -> Any:
    """The keys of a value of JSON, at every level."""
    if isinstance(value, list):
        return [shape(one) for one in value[:1]]
    return {key: shape(one) for key, one in value.items()} if isinstance(value, dict) else None


@pytest.mark.timeout(1800)
def test_seven_databases_give_the_same_measures_in_one_schema(
    engine: Callable[[str], dict[str, str]], known: Callable[[str], str], small: Path, cli: Any
) -> None:
    where = {name: known(name) for name in ("weaviate", "milvus", "opensearch")}
    engine("pgvector")
    Path("test_cases.json").write_text(json.dumps(CASES))
    assert cli("import", "vectordb", "test_cases.json", "--out", "queries.yaml", "--force").code == 0
    milvus = {"milvus": {"uri": where["milvus"]}}
    stores = [*EMBEDDED, *(milvus if name == "milvus" else name for name in SERVERS)]
    experiment = yaml.safe_load(small.read_text())
    small.write_text(
        yaml.safe_dump(experiment | {"stores": stores, "preset": "vectordb", "top_k": [1, 5], "runs": 2})
    )
    done = cli("run", "--json", "--out", "out")
    assert done.code == 0 and len(done.json["systems"]) == 7
    assert cli("export", "out", "--preset", "vectordb", "--out", "files").code == 0
    told = {
        name: json.loads(Path(f"files/{name}_results.json").read_text()) for name in (*EMBEDDED, *SERVERS)
    }
    assert len({json.dumps(shape(one), sort_keys=True) for one in told.values()}) == 1, "one schema"
    for name, one in told.items():
        assert one["runs"] == 2 and [row["top_k"] for row in one["query_results"]] == [1, 5], name
        for row in one["query_results"]:
            assert row["recall_at_k"] == told["faiss"]["query_results"][row["top_k"] == 5]["recall_at_k"], (
                name
            )
            assert row["knn_recall"]["median"] == 1, f"{name} misses a neighbour among a few dozen rows"
            assert row["avg_latency_ms"]["median"] > 0 and row["queries_per_second"] > 0
        assert one["ingestion"]["insertion_time_sec"] > 0, name
    pairs = json.loads(Path("files/speed_comparisons.json").read_text())["pairs"]
    assert len(pairs) == 2 * 21
