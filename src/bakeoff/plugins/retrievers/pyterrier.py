"""A PyTerrier transformer or pipeline: anything with `transform` for a data frame of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import pandas as pd
from pydantic import Field

from bakeoff.errors import RetrieverError
from bakeoff.plugins.retrievers._code import CodeParams, ObjectName, make_object
from bakeoff.plugins.retrievers._rows import refuse_filter
from bakeoff.types import RetrievedRow, Where

QUERY = "q"


class PyterrierRetriever:
    """Passes a transformer one query; rows are ordered by rank, or by score if there is none."""

    version: ClassVar[str] = "1"
    takes_filters = False

    class Params(CodeParams):
        """Which object, and the columns of its answer."""

        object: ObjectName = Field(..., description="module:transformer, or a function that makes one")
        id: str = Field("docno", description="column with the document's id")
        text: str = Field("text", description="column with the passage, if any")

    def __init__(self, params: Params) -> None:
        self._params = params
        self._transformer = make_object(params.object, params.folder, ("transform",))

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Return the results of one query."""
        refuse_filter(where)
        return self._rows(self._transformer.transform(pd.DataFrame({"qid": [QUERY], "query": [text]})))

    def close(self) -> None:
        """Nothing to release."""

    def _rows(self, frame: pd.DataFrame) -> Iterator[RetrievedRow]:
        columns = [name for name in (self._params.id, self._params.text) if name in frame.columns]
        if not columns:
            raise RetrieverError(
                f"the answer has the columns {', '.join(map(str, frame.columns))}, and neither {self._params.id} nor "
                f"{self._params.text}. Name them with id or text."
            )
        if "rank" in frame.columns:
            frame = frame.sort_values("rank", kind="stable")
        elif "score" in frame.columns:
            frame = frame.sort_values("score", ascending=False, kind="stable")
        for row in frame.to_dict("records"):
            yield RetrievedRow(
                _text(row, self._params.id),
                text=_text(row, self._params.text),
                score=_number(row.get("score")),
            )


def _text(row: dict[Any, Any], name: str) -> str | None:
    value = row.get(name)
    return None if value is None or value != value else str(value)  # noqa: PLR0124 - NaN is a missing value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
