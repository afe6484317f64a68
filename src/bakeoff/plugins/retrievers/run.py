"""Rankings made elsewhere: a TREC, JSON lines or Parquet file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from bakeoff.errors import RetrieverError
from bakeoff.plugins._settings import Settings
from bakeoff.storage.ranking_files import read_rankings
from bakeoff.types import RetrievedRow, Where


class RunRetriever:
    """Looks up a ranking by query id; nothing is searched, so nothing is timed."""

    version: ClassVar[str] = "1"
    takes_filters = True  # whoever made the rankings applied the filters

    class Params(Settings):
        """Which file."""

        file: Path = Field(..., description="TREC run, .jsonl or .parquet with query, document and score")
        system: str = Field("", description="which system's rankings, in a table of several")

    def __init__(self, params: Params) -> None:
        self._rankings = read_rankings(params.file, params.system)
        self._name = params.file.name
        self.untimed = f"the rankings were read from {self._name}, not searched"

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Raise: a ranking is found by the query's id, never by its text."""
        raise RetrieverError(f"{self._name} holds rankings by query id, so it can't answer {text!r}.")

    def search_id(self, query_id: str, k: int) -> Iterable[RetrievedRow]:
        """Return the first k rows of a query; empty if the file lacks it."""
        return self._rankings.get(query_id, [])[:k]

    def close(self) -> None:
        """Nothing to release."""
