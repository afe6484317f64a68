"""Protocols of embedders, encoders, rerankers and retrievers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from bakeoff.protocols.plugin import Plugin
from bakeoff.types import Document, ModelInfo, RetrievedRow, Role, SparseRows, TokenRows, VectorKind, Where

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel


class Embedder(Plugin, Protocol):
    """Turns texts into vectors."""

    def __init__(self, params: BaseModel) -> None: ...

    @property
    def info(self) -> ModelInfo:
        """Identity of the vectors this embedder makes."""

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 row per text, in order."""

    def close(self) -> None:
        """Release memory and connections."""


class Encoder(Plugin, Protocol):
    """Turns texts into sparse vectors, or one vector per token.

    `info.dims` is the number of terms, or the length of a token's vector.
    """

    vectors: ClassVar[VectorKind]

    def __init__(self, params: BaseModel) -> None: ...

    @property
    def info(self) -> ModelInfo:
        """Identity of the vectors this encoder makes."""

    def embed(self, texts: Sequence[str], role: Role) -> SparseRows | TokenRows:
        """Return one row per text, in order."""

    def close(self) -> None:
        """Release memory and connections."""


VectorModel = Embedder | Encoder
"""What embeds the chunks and queries of a system."""


def vector_kind(model: VectorModel) -> VectorKind:
    """Kind of vectors a model makes."""
    return getattr(model, "vectors", "dense")


@runtime_checkable
class SupportsFit(Protocol):
    """An encoder with corpus statistics; `info` and `embed` work once it has read the corpus."""

    def fit(self, texts: Iterable[str]) -> None:
        """Read every chunk of the corpus."""


@runtime_checkable
class SupportsStatistics(SupportsFit, Protocol):
    """An encoder whose statistics can be stored, so that a corpus is read once."""

    def save_statistics(self) -> bytes:
        """Serialise the statistics of the corpus it has read."""

    def load_statistics(self, kept: bytes) -> None:
        """Load what `save_statistics` returned, instead of reading the corpus."""


@runtime_checkable
class SupportsTokens(Protocol):
    """An embedder that can count a text's tokens."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation."""


@runtime_checkable
class SupportsDeclaredPooling(Protocol):
    """An embedder that knows the pooling its model was trained with."""

    def declared_pooling(self) -> str:
        """The pooling in the model's files or the catalogue; '' if neither has one."""


class Reranker(Plugin, Protocol):
    """Reorders a few passages by reading them together with the query."""

    def __init__(self, params: BaseModel) -> None: ...

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return one score per passage, higher is better."""

    def close(self) -> None:
        """Release memory and connections."""


@runtime_checkable
class SupportsStoredTokens(Protocol):
    """A reranker that compares token vectors, so that those of the passages can be stored beforehand."""

    @classmethod
    def passage_encoder(cls, params: BaseModel) -> tuple[str, BaseModel] | None:
        """The encoder plug-in for passages and its parameters; None if passages are read as text."""

    def rerank_tokens(self, query: str, passages: Sequence[np.ndarray]) -> np.ndarray:
        """Return one score per passage, given as tokens × dims."""


class Retriever(Plugin, Protocol):
    """An existing search: given a text, it returns documents, characters or texts, best first.

    `takes_filters` is whether it searches within a filter. One whose rankings were made elsewhere has the
    reason why it can't be timed as `untimed: str`. The clock stops when `search` returns: work beyond the
    search itself, such as reading fields of the answer, belongs in the iteration over the rows.
    """

    takes_filters: bool

    def __init__(self, params: BaseModel) -> None: ...

    def search(self, text: str, k: int, where: Where) -> Iterable[RetrievedRow]:
        """Return at most the k best rows for a text, best first."""

    def close(self) -> None:
        """Release memory and connections."""


@runtime_checkable
class SupportsQueryIds(Protocol):
    """A retriever whose rankings are stored by query id."""

    def search_id(self, query_id: str, k: int) -> Iterable[RetrievedRow]:
        """Return at most the k best rows of a query, best first."""


@runtime_checkable
class SupportsDocuments(Protocol):
    """A retriever that builds its own index of the corpus before the first query."""

    def index(self, documents: Iterable[Document]) -> None:
        """Read every document of the corpus."""


@runtime_checkable
class SupportsPacing(Protocol):
    """A retriever with a rate limit; the wait for the next request is not part of a query's time."""

    def pace(self) -> None:
        """Wait until the next request may be sent."""
