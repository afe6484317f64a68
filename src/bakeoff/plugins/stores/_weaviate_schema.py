"""Weaviate's settings, and a collection's schema made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from bakeoff.plugins.kit.adapter import GraphBuild, GraphQuery, Settings
from bakeoff.plugins.kit.server import Address, ShardSettings
from bakeoff.types import Metric, PayloadField

DISTANCES = {Metric.COSINE: "cosine", Metric.DOT: "dot", Metric.L2: "l2-squared"}
TEXT = {"dataType": ["text"], "tokenization": "field", "indexSearchable": False}
KINDS: dict[str, dict[str, Any]] = {
    "text": TEXT,
    "integer": {"dataType": ["int"]},
    "number": {"dataType": ["number"]},
}
WORDS = {"name": "text", "dataType": ["text"], "indexFilterable": False}


class Build(GraphBuild, ShardSettings):
    """What shapes the graph of each shard; the words of a shard are counted in it alone."""


class WeaviateParams(Settings):
    """Where Weaviate is and how its index is built; a key comes from BAKEOFF_WEAVIATE_KEY."""

    url: Address = None
    build: Build = Build()
    write_consistency: Annotated[
        Literal["ONE", "QUORUM", "ALL"], Field(description="copies of a shard that must confirm a write")
    ] = "QUORUM"
    k1: Annotated[float, Field(ge=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    tokenization: Annotated[
        Literal["word", "lowercase", "whitespace", "trigram", "gse", "gse_ch", "kagome_ja", "kagome_kr"],
        Field(
            description="of texts; trigram serves scripts without blanks, gse and kagome must be on in the server"
        ),
    ] = "word"

    def described(self, name: str, metric: Metric, columns: dict[str, PayloadField]) -> dict[str, Any]:
        """A collection with whole vectors in its graph."""
        build, shape = self.build, {"distance": DISTANCES[metric], "maxConnections": self.build.m}
        payload = [{"name": column, **KINDS[field.kind]} for column, field in columns.items()]
        graph = {**shape, "efConstruction": build.ef_construction, "skipDefaultQuantization": True}
        return {
            "class": name,
            "vectorizer": "none",
            "vectorIndexType": "hnsw",
            "vectorIndexConfig": graph,
            "invertedIndexConfig": {"bm25": {"k1": self.k1, "b": self.b}},
            "shardingConfig": {"desiredCount": build.shards},
            "replicationConfig": {"factor": build.replicas + 1},
            "properties": [WORDS | {"tokenization": self.tokenization}, *payload],
        }


class WeaviateQuery(GraphQuery):
    """What shapes a search; the engine keeps `ef` with the collection, so a new value is written there first."""

    alpha: Annotated[float, Field(ge=0, le=1, description="hybrid: the share of the vector")] = 0.5
    fusion: Literal["relativeScoreFusion", "rankedFusion"] = "relativeScoreFusion"
    consistency_level: Annotated[
        Literal["ONE", "QUORUM", "ALL"], Field(description="copies of a shard that must answer a search")
    ] = "ONE"
