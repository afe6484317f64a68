"""The servers that can be started, by the name of the store each serves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bakeoff.servers.base import Server
from bakeoff.servers.chroma import ChromaServer
from bakeoff.servers.elasticsearch import ElasticsearchServer
from bakeoff.servers.milvus import MilvusServer
from bakeoff.servers.opensearch import OpensearchServer
from bakeoff.servers.pgvector import PgvectorServer
from bakeoff.servers.redis import RedisServer
from bakeoff.servers.weaviate import WeaviateServer

_ALL: tuple[Server, ...] = (
    PgvectorServer(),
    ChromaServer(),
    MilvusServer(),
    RedisServer(),
    WeaviateServer(),
    OpensearchServer(),
    ElasticsearchServer(),
)

TABLE: Mapping[str, Server] = MappingProxyType({server.name: server for server in _ALL})


def needing_a_server() -> frozenset[str]:
    """The stores that do nothing without a server, unlike those that also work inside the client."""
    return frozenset(name for name, server in TABLE.items() if not server.optional)
