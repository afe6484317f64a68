"""The contract of retrievers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, cast

import pytest

from bakeoff.errors import RetrieverError
from bakeoff.protocols import Retriever, SupportsDocuments, SupportsQueryIds
from bakeoff.testing.contracts import PluginContract
from bakeoff.types import Condition, Document, RetrievedRow

DOCUMENTS = (
    Document("pets.md", "The cat sleeps on the sofa. A kitten naps on the couch."),
    Document("tax.md", "Quarterly tax returns are due in April. Value added tax is paid monthly."),
    Document("tower.md", "東京タワー 🗼 is 333 metres tall."),
)


class RetrieverContract(PluginContract):
    """At most k rows with an id or text, best first, reproducible, for any question.

    `question` is a text that finds something, or a query id for a retriever that goes by ids.
    """

    kind = "retrievers"
    question: ClassVar[str] = "where does the cat sleep?"

    @pytest.fixture
    def retriever(self) -> Iterator[Retriever]:
        plugin = cast("type[Retriever]", self.plugin())
        retriever = plugin(plugin.Params(**self.params))
        if isinstance(retriever, SupportsDocuments):
            retriever.index(iter(DOCUMENTS))
        yield retriever
        retriever.close()

    def ask(self, retriever: Retriever, question: str, k: int) -> list[RetrievedRow]:
        """The rows of one question."""
        if isinstance(retriever, SupportsQueryIds):
            return list(retriever.search_id(question, k))
        return list(retriever.search(question, k, ()))

    def test_rows_have_an_id_or_a_text(self, retriever: Retriever) -> None:
        rows = self.ask(retriever, self.question, 10)
        assert rows, "`question` finds nothing"
        assert all(isinstance(row, RetrievedRow) for row in rows)
        assert all(row.document is not None or row.text for row in rows)
        assert all((row.start is None) == (row.end is None) for row in rows)

    def test_scores_fall_or_are_missing_together(self, retriever: Retriever) -> None:
        scores = [row.score for row in self.ask(retriever, self.question, 10)]
        if any(score is not None for score in scores):
            known = [score for score in scores if score is not None]
            assert len(known) == len(scores) and all(map(math.isfinite, known))
            assert known == sorted(known, reverse=True)

    def test_same_twice(self, retriever: Retriever) -> None:
        first, second = (self.ask(retriever, self.question, 10) for _ in range(2))
        assert first == second

    def test_odd_questions(self, retriever: Retriever) -> None:
        for text in ("", "🗼 東京", "\x00", '"quotes" {braces} %20 \\', "word " * 2000):
            self.ask(retriever, text, 3)

    def test_filters_are_taken_or_refused(self, retriever: Retriever) -> None:
        if isinstance(retriever, SupportsQueryIds) or retriever.takes_filters:
            return
        with pytest.raises(RetrieverError):
            list(retriever.search(self.question, 3, (Condition("kind", ("guide",)),)))

    def test_closing_twice(self, retriever: Retriever) -> None:
        retriever.close()
        retriever.close()
