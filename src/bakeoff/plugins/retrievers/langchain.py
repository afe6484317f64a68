"""A LangChain retriever: any BaseRetriever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from bakeoff.plugins.retrievers._code import CodeParams, ObjectName, make_object
from bakeoff.plugins.retrievers._rows import integer, number, refuse_filter
from bakeoff.types import RetrievedRow, Where


class LangchainRetriever:
    """Calls `invoke` for documents; the order of the answer is the ranking, since documents have no score.

    A `score` in the metadata is used if every document has one.
    """

    version: ClassVar[str] = "1"
    takes_filters = False

    class Params(CodeParams):
        """Which object, and where a document has its id."""

        object: ObjectName = Field(..., description="module:retriever, or a function that makes one")
        id: str = Field("", description="metadata field with the document's id; default: id, else source")
        start: str = Field("start_index", description="metadata field with the passage's first character")
        k_argument: str = Field(
            "", description="argument of invoke that takes k; default: the retriever's own k"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._retriever: BaseRetriever = make_object(params.object, params.folder, ("invoke",))

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Return the documents of one call."""
        refuse_filter(where)
        argument = {self._params.k_argument: k} if self._params.k_argument else {}
        return self._rows(self._retriever.invoke(text, **argument))

    def close(self) -> None:
        """Nothing to release."""

    def _rows(self, documents: list[Document]) -> Iterator[RetrievedRow]:
        for one in documents:
            about = one.metadata
            name = (
                about.get(self._params.id)
                if self._params.id
                else one.id or about.get("id") or about.get("source")
            )
            start = integer(about.get(self._params.start))
            yield RetrievedRow(
                None if name is None else str(name),
                start,
                None if start is None else start + len(one.page_content),
                one.page_content,
                number(about.get("score")),
            )
