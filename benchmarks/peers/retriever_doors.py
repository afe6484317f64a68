"""The exact search of the grid as a function, and as a retriever of LangChain and LlamaIndex; see retrievers.py.

Imported in a folder with `grid.yaml`, whose first system it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bakeoff import registry
from bakeoff.config import experiment
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.query_executor import QueryExecutor
from bakeoff.pipeline.query_pipeline import SearchRequest
from bakeoff.pipeline.read import read_documents
from bakeoff.pipeline.shared_artifacts import SharedArtifacts
from bakeoff.storage.cache import Cache
from bakeoff.truth.queries import read_queries
from bakeoff.types import Hits, Role

PLAN = experiment.load(Path("grid.yaml"))
DEPTH = PLAN.settings.depth
CONTEXT = StageContext(Cache(Path("cache")))
SOURCE = registry.load("sources", PLAN.source.name)(PLAN.source.params)
CORPUS = read_documents(PLAN.source, SOURCE, CONTEXT)
queries = read_queries(PLAN.queries).queries
ARTIFACTS = SharedArtifacts(CORPUS, queries, CONTEXT, metric=PLAN.settings.metric, depth=DEPTH, repeats=1)
SYSTEM = PLAN.systems[0]
assert SYSTEM.embedder is not None
SEARCH = QueryExecutor(ARTIFACTS).pipeline(SYSTEM).searches[0]
EMBEDDER = ARTIFACTS.models.embedder(SYSTEM.embedder)
VECTORS = dict(
    zip(
        (one.text for one in queries),
        ARTIFACTS.query_vectors(SYSTEM.embedder, SYSTEM.chunker).matrix,
        strict=True,
    )
)
NAMES = CORPUS.documents["id"].to_pylist()
CHUNKS = ARTIFACTS.chunking(SYSTEM.chunker).chunks.select(["doc", "start", "end", "text"]).to_pylist()
FIXED = [{"id": NAMES[0], "start": 0, "end": 9, "text": "a text", "score": 1 - n / 100} for n in range(DEPTH)]


def fixed(text: str, k: int) -> list[dict[str, Any]]:  # noqa: ARG001 - as a search is called
    """An answer that takes no time."""
    return FIXED


def retrieve(text: str, k: int) -> list[dict[str, Any]]:
    """The k nearest chunks."""
    vector = VECTORS[text] if text in VECTORS else EMBEDDER.embed([text], Role.QUERY)[0]
    hits = SEARCH(SearchRequest(text, vector))
    assert isinstance(hits, Hits)
    found = zip(hits.ids[:k].tolist(), hits.scores[:k].astype(float).tolist(), strict=True)
    return [_result(CHUNKS[row], score) for row, score in found]


def _result(chunk: dict[str, Any], score: float) -> dict[str, Any]:
    places = {name: chunk[name] for name in ("start", "end", "text")}
    return {"id": NAMES[chunk["doc"]], **places, "score": score}


def langchain() -> Any:
    """The search as LangChain's retriever."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Door(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:  # noqa: ARG002
            return [
                Document(
                    page_content=one["text"],
                    metadata={"source": one["id"], "start_index": one["start"], "score": one["score"]},
                )
                for one in retrieve(query, DEPTH)
            ]

    return Door()


def llamaindex() -> Any:
    """The search as LlamaIndex's retriever."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

    def node(one: dict[str, Any]) -> NodeWithScore:
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=one["id"])}
        text = TextNode(
            text=one["text"], start_char_idx=one["start"], end_char_idx=one["end"], relationships=source
        )
        return NodeWithScore(node=text, score=one["score"])

    class Door(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            return [node(one) for one in retrieve(query_bundle.query_str, DEPTH)]

    return Door()
