"""One small search, and the same search as an object of each library that a retriever can wrap."""

from __future__ import annotations

import re
from typing import Any

from bakeoff.testing.retrievers import DOCUMENTS

TEXTS = {one.id: one.text for one in DOCUMENTS}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def ranked(text: str, k: int) -> list[tuple[str, float]]:
    """Documents by shared words; every document is in the ranking, so that the answer is never empty."""
    asked = set(words(text))
    scores = {name: float(len(asked & set(words(body)))) for name, body in TEXTS.items()}
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:k]


def retrieve(text: str, k: int) -> list[dict[str, Any]]:
    return [{"id": name, "text": TEXTS[name], "score": score} for name, score in ranked(text, k)]


def within(text: str, k: int, where: Any) -> list[tuple[str, float]]:
    assert isinstance(where, tuple)
    return ranked(text, k)


def texts_only(text: str, k: int) -> list[str]:
    return [TEXTS[name] for name, _ in ranked(text, k)]


def number(_text: str, _k: int) -> int:
    return 7


def langchain() -> Any:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Words(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [
                Document(page_content=TEXTS[name][4:], metadata={"source": name, "start_index": 4})
                for name, _ in ranked(query, 10)
            ]

    return Words()


def llamaindex() -> Any:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

    class Words(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            return [
                NodeWithScore(
                    node=TextNode(
                        text=TEXTS[name][4:],
                        start_char_idx=4,
                        end_char_idx=len(TEXTS[name]),
                        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=name)},
                    ),
                    score=score,
                )
                for name, score in ranked(query_bundle.query_str, 10)
            ]

    return Words()


def haystack() -> Any:
    from haystack import Document, component

    @component
    class Words:
        @component.output_types(documents=list[Document])
        def run(self, query: str, top_k: int = 10) -> dict[str, Any]:
            return {
                "documents": [
                    Document(content=TEXTS[name], meta={"file_path": name}, score=score)
                    for name, score in ranked(query, top_k)
                ]
            }

    return Words()


def haystack_pipeline() -> Any:
    from haystack import Pipeline

    pipeline = Pipeline()
    pipeline.add_component("words", haystack())
    return pipeline


class MtebWords:
    """A search model with the methods and the keyword arguments of MTEB's SearchProtocol."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}

    def index(
        self,
        corpus: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: Any,
        num_proc: Any,
        **_: Any,
    ) -> None:
        self.rows = {row["id"]: row["text"] for row in corpus}

    def search(
        self,
        queries: Any,
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        top_k: int,
        encode_kwargs: Any,
        top_ranked: Any = None,
        num_proc: Any,
        **_: Any,
    ) -> dict[str, dict[str, float]]:
        assert self.rows.keys() == TEXTS.keys()
        return {row["id"]: dict(ranked(row["text"], top_k)) for row in queries}


class PandasTransformer:
    """A transformer as PyTerrier's: a frame of queries in, a frame of results out."""

    def transform(self, queries: Any) -> Any:
        import pandas as pd

        rows = [
            (row.qid, name, score, rank)
            for row in queries.itertuples()
            for rank, (name, score) in enumerate(ranked(row.query, 10))
        ]
        return pd.DataFrame(rows, columns=["qid", "docno", "score", "rank"]).sample(frac=1, random_state=7)
