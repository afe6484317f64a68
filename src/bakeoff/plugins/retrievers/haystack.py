"""A Haystack retriever component, or a pipeline that ends in documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from haystack import Document, Pipeline
from pydantic import Field

from bakeoff.errors import RetrieverError
from bakeoff.plugins.retrievers._code import CodeParams, ObjectName, make_object
from bakeoff.plugins.retrievers._rows import first, integer, number, refuse_filter
from bakeoff.types import JsonObject, RetrievedRow, Where

IDS = ("document_id", "source_id", "file_path", "source")
QUERY, K = "{query}", "{k}"


class HaystackRetriever:
    """Calls a component's `run` with query and top_k, or a pipeline's with the configured inputs."""

    version: ClassVar[str] = "1"
    takes_filters = False

    class Params(CodeParams):
        """Which object, its inputs, and where the documents come out."""

        object: ObjectName = Field(
            ..., description="module:component or module:pipeline, or a function that makes one"
        )
        inputs: dict[str, JsonObject] = Field(
            {}, description='for a pipeline, for example {retriever: {query: "{query}", top_k: "{k}"}}'
        )
        output: str = Field(
            "", description="the pipeline's component with the documents; default: the only one"
        )
        id: str = Field(
            "", description="meta field with the document's id; default: source_id, file_path or the id"
        )

    def __init__(self, params: Params) -> None:
        self._params = params
        self._object = make_object(params.object, params.folder, ("run",))
        if isinstance(self._object, Pipeline) and not params.inputs:
            raise RetrieverError(
                'a pipeline needs inputs, as in {retriever: {query: "{query}", top_k: "{k}"}}.'
            )
        if hasattr(self._object, "warm_up"):
            self._object.warm_up()

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """The documents of one call."""
        refuse_filter(where)
        if not self._params.inputs:
            return self._rows(self._object.run(query=text, top_k=k)["documents"])
        values = {QUERY: text, K: k}
        data = {
            name: {
                key: values.get(value, value) if isinstance(value, str) else value
                for key, value in one.items()
            }
            for name, one in self._params.inputs.items()
        }
        return self._rows(self._documents(self._object.run(data)))

    def close(self) -> None:
        """Nothing to release."""

    def _documents(self, answer: dict[str, Any]) -> list[Document]:
        names = [self._params.output] if self._params.output else list(answer)
        found = [answer[name]["documents"] for name in names if "documents" in answer.get(name, {})]
        if len(found) != 1:
            raise RetrieverError(
                f"{len(found)} components return documents, of {', '.join(answer)}. Choose one with output."
            )
        documents: list[Document] = found[0]
        return documents

    def _rows(self, documents: list[Document]) -> Iterator[RetrievedRow]:
        for one in documents:
            about = one.meta
            name = about.get(self._params.id) if self._params.id else first(about, IDS) or one.id
            start = integer(about.get("split_idx_start"))
            text = one.content
            end = None if start is None or text is None else start + len(text)
            yield RetrievedRow(str(name), start if end else None, end, text, number(one.score))
