"""Your own function: `call(text, k)` returns results."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import ClassVar

from pydantic import Field

from bakeoff.plugins.retrievers._code import CodeParams, ObjectName, load_object
from bakeoff.plugins.retrievers._rows import refuse_filter, to_rows
from bakeoff.types import RetrievedRow, Where


class PythonRetriever:
    """Calls a function with the text and k, and the filter if it has a third parameter."""

    version: ClassVar[str] = "1"

    class Params(CodeParams):
        """Which function."""

        call: ObjectName = Field(..., description="module:function, called as function(text, k[, where])")

    def __init__(self, params: Params) -> None:
        self._call = load_object(params.call, params.folder)
        self.takes_filters = len(inspect.signature(self._call).parameters) > 2

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Return the function's results; they are parsed after the clock has stopped."""
        if self.takes_filters:
            return to_rows(self._call(text, k, where))
        if where:
            refuse_filter(where)
        return to_rows(self._call(text, k))

    def close(self) -> None:
        """Nothing to release."""
