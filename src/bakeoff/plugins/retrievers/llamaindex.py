"""A LlamaIndex retriever: any BaseRetriever, with node scores and characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore
from pydantic import Field

from bakeoff.plugins.retrievers._code import CodeParams, ObjectName, make_object
from bakeoff.plugins.retrievers._rows import first, number, refuse_filter
from bakeoff.types import RetrievedRow, Where

IDS = ("document_id", "doc_id", "file_path", "file_name", "source")


class LlamaindexRetriever:
    """Calls `retrieve` for nodes; a node's document is its source document, or a metadata field."""

    version: ClassVar[str] = "1"
    takes_filters = False

    class Params(CodeParams):
        """Which object, and where a node names its document."""

        object: ObjectName = Field(..., description="module:retriever, or a function that makes one")
        id: str = Field(
            "", description="metadata field with the document's id; default: the node's source document"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._retriever: BaseRetriever = make_object(params.object, params.folder, ("retrieve",))

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Return the nodes of one call; their number is the retriever's own setting."""
        refuse_filter(where)
        return self._rows(self._retriever.retrieve(text))

    def close(self) -> None:
        """Nothing to release."""

    def _rows(self, nodes: list[NodeWithScore]) -> Iterator[RetrievedRow]:
        for found in nodes:
            node, about = found.node, found.node.metadata
            name = about.get(self._params.id) if self._params.id else node.ref_doc_id or first(about, IDS)
            yield RetrievedRow(
                None if name is None else str(name),
                getattr(node, "start_char_idx", None),
                getattr(node, "end_char_idx", None),
                node.get_content(metadata_mode=MetadataMode.NONE),
                number(found.score),
            )
