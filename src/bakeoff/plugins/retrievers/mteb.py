"""An MTEB search model: anything with the methods of SearchProtocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import datasets
from pydantic import Field

from bakeoff.plugins.retrievers._code import CodeParams, ObjectName, make_object
from bakeoff.plugins.retrievers._rows import refuse_filter
from bakeoff.types import Document, JsonObject, RetrievedRow, Where

QUERY = "q"


class MtebRetriever:
    """Passes the corpus to `index`, and each query alone to `search`."""

    version: ClassVar[str] = "1"
    takes_filters = False

    class Params(CodeParams):
        """Which object, and how it is called."""

        object: ObjectName = Field(..., description="module:model, or a function that makes one")
        task: str = Field("", description="an MTEB task whose metadata is passed to the model; default: none")
        encode_kwargs: JsonObject = Field({}, description="passed to the model")

    def __init__(self, params: Params) -> None:
        self._model = make_object(params.object, params.folder, ("search",))
        self._about: dict[str, Any] = {
            "task_metadata": _metadata(params.task),
            "hf_split": "test",
            "hf_subset": "default",
            "encode_kwargs": params.encode_kwargs,
            "num_proc": None,
        }

    def index(self, documents: Iterable[Document]) -> None:
        """Pass every document to the model."""
        rows = [{"id": one.id, "title": one.title, "text": one.text} for one in documents]
        self._model.index(datasets.Dataset.from_list(rows), **self._about)

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Return the ranking of one query."""
        refuse_filter(where)
        query = datasets.Dataset.from_dict({"id": [QUERY], "text": [text]})
        return self._rows(self._model.search(query, top_k=k, **self._about))

    def close(self) -> None:
        """Nothing to release."""

    def _rows(self, answer: dict[str, dict[str, float]]) -> Iterator[RetrievedRow]:
        ranking = sorted(answer.get(QUERY, {}).items(), key=lambda one: (-one[1], one[0]))
        for name, score in ranking:
            yield RetrievedRow(document=str(name), score=float(score))


def _metadata(task: str) -> Any:
    if not task:
        return None
    import mteb

    return mteb.get_task(task).metadata
