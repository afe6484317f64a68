"""The retrievers of an experiment, each opened once, and the passages they return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from bakeoff import registry
from bakeoff.config.plan import PluginSpec, System
from bakeoff.errors import RetrieverError
from bakeoff.pipeline.once_map import OnceMap
from bakeoff.pipeline.placement import Placer
from bakeoff.pipeline.query_pipeline import RANKED, AnswerReader
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.retrieved import RetrievedPassages
from bakeoff.protocols import (
    Retriever,
    SupportsDocuments,
    SupportsPacing,
)
from bakeoff.types import Answer, Document, Hits, RetrievedRow


class SharedRetrievers:
    """Opens each retriever once and places what it returns in the corpus; `filtered` are queries with a
    filter."""

    def __init__(self, corpus: ReadCorpus, filtered: Sequence[str], shared: OnceMap) -> None:
        self.corpus, self._filtered, self._shared = corpus, filtered, shared

    def open(self, part: PluginSpec) -> Retriever:
        """Open a retriever on the thread that searches."""
        return self._shared.once(("retriever", part.label), lambda: self._open_retriever(part))

    def _open_retriever(self, part: PluginSpec) -> Retriever:
        retriever = registry.load("retrievers", part.name)(part.params)
        if self._filtered and not retriever.takes_filters:
            raise RetrieverError(
                f"it can't search within a filter, but {len(self._filtered)} queries have one "
                f"({', '.join(self._filtered[:3])}). Remove the retriever or the filters, or map `filters`."
            )
        if isinstance(retriever, SupportsDocuments):
            columns = [self.corpus.documents[name].to_pylist() for name in ("id", "text", "kind", "title")]
            retriever.index(Document(*row) for row in zip(*columns, strict=True))
        return retriever

    def passages(self, part: PluginSpec) -> RetrievedPassages:
        """Passages that a retriever returned, placed in the corpus."""
        return self._shared.once(
            ("retrieved", part.label),
            lambda: RetrievedPassages(part.label, self.corpus.documents, self._placer()),
        )

    def _placer(self) -> Placer:
        return self._shared.once(("placer",), lambda: Placer(self.corpus.documents))

    def answer_reader(self, system: System, depth: int) -> AnswerReader:
        """Return what turns a system's answers into rankings; a retriever's are placed after the clock has
        stopped."""
        if system.retriever is None:
            return RANKED
        passages, retriever = self.passages(system.retriever), self.open(system.retriever)

        def rank(answer: Answer) -> Hits:
            return passages.rank(cast(Iterable[RetrievedRow], answer), depth)

        return AnswerReader(
            rank,
            lambda answer: list(cast(Iterable[RetrievedRow], answer)),
            retriever.pace if isinstance(retriever, SupportsPacing) else None,
            getattr(retriever, "untimed", ""),
        )
