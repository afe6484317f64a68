"""The shared work of a run: each chunking, embedding, index and search is made once, whoever asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bakeoff import registry
from bakeoff.errors import BakeoffError
from bakeoff.modes import Hybrid
from bakeoff.plan import Part, System
from bakeoff.protocols import Embedder
from bakeoff.stages import fuse, retrieve
from bakeoff.stages.chunk import Chunking, chunk, embedded_texts, token_counts
from bakeoff.stages.embed import QueryVectors, Vectors, embed_chunks, embed_queries
from bakeoff.stages.index import Content, Index, open_index
from bakeoff.stages.lengths import Lengths, lengths
from bakeoff.stages.read import Corpus
from bakeoff.stages.rerank import rerank
from bakeoff.stages.retrieve import Leg
from bakeoff.stages.work import Workshop
from bakeoff.types import Metric, Query

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
WARM_UP_TEXTS = 10
EXACT = "exact"
WARM_UP_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Answers:
    """A system's rankings and what each of their steps cost; a step that did not happen is None."""

    ranking: Leg
    embed: QueryVectors | None
    legs: tuple[Leg, ...]
    fuse: Leg | None
    rerank: Leg | None


@dataclass(slots=True)
class _Slot:
    """One shared thing: not made yet, made, or failed for good."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: bool = False
    value: Any = None
    error: BakeoffError | None = None


class Kitchen:
    """Makes and keeps what systems share; safe to ask from several threads."""

    def __init__(
        self,
        corpus: Corpus,
        queries: tuple[Query, ...],
        shop: Workshop,
        *,
        metric: Metric,
        depth: int,
        repeats: int,
    ) -> None:
        self.corpus, self._shop = corpus, shop
        self._texts = [query.text for query in queries]
        self._metric, self._depth, self._repeats = metric, depth, repeats
        self._slots: dict[tuple[Any, ...], _Slot] = {}
        self._lock = threading.Lock()

    def chunking(self, part: Part) -> Chunking:
        """The corpus cut by a chunker."""
        plugin = registry.load("chunkers", part.name)
        return self._once(
            ("chunk", part.label), lambda: chunk(part, plugin(part.params), self.corpus, self._shop)
        )

    def tokens(self, part: Part) -> np.ndarray:
        """Tokens of each chunk of a chunking."""
        return self._once(("tokens", part.label), lambda: token_counts(self.chunking(part)))

    def embedder(self, part: Part) -> Embedder:
        """A model, loaded once."""
        plugin = registry.load("embedders", part.name)
        return self._once(("embedder", part.label), lambda: cast(Embedder, plugin(part.params)))

    def vectors(self, embedder: Part, chunker: Part) -> Vectors:
        """A chunking's vectors."""

        def make() -> Vectors:
            self.lengths(embedder, chunker)
            return embed_chunks(embedder, self.embedder(embedder), self.chunking(chunker), self._shop)

        return self._once(("vectors", embedder.label, chunker.label), make)

    def lengths(self, embedder: Part, chunker: Part) -> Lengths | None:
        """How long a chunking's chunks are for a model."""
        return self._once(
            ("lengths", embedder.label, chunker.label),
            lambda: lengths(embedder, self.embedder(embedder), self.chunking(chunker), self._shop),
        )

    def known_lengths(self) -> list[Lengths]:
        """The lengths that were counted, by model and chunker."""
        made = [slot.value for key, slot in self._slots.items() if key[0] == "lengths" and slot.made]
        found = [one for one in made if one is not None]
        return sorted(found, key=lambda one: (one.embedder, one.chunker))

    def query_vectors(self, embedder: Part) -> QueryVectors:
        """The queries' vectors with their times."""
        return self._once(
            ("queries", embedder.label),
            lambda: embed_queries(
                embedder,
                self.embedder(embedder),
                self._texts,
                self._warm_up(),
                self._repeats,
                self._shop,
            ),
        )

    def index(self, store: Part, chunker: Part, embedder: Part | None) -> Index:
        """An open index over a chunking's vectors, or over its texts where there is no embedder."""

        def make() -> Index:
            vectors = self.vectors(embedder, chunker) if embedder else None
            return open_index(store, Content(self.chunking(chunker), vectors), self._metric, self._shop)

        return self._once(("index", _which(store), chunker.label, embedder.label if embedder else ""), make)

    def answers(self, system: System) -> Answers:
        """A system's rankings for all queries, timed; call it for one system at a time."""
        legs: list[Leg] = []
        if system.store is not None:
            legs.append(self._dense(system))
        if system.keyword is not None:
            legs.append(self._keywords(system))
        fused = None
        if len(legs) == 2:
            fused = fuse.reciprocal_rank((legs[0], legs[1]), cast(Hybrid, system.mode.params), self._depth)
        ranking = fused or legs[0]
        reranked = self._reranked(system, ranking)
        embedded = self.query_vectors(system.embedder) if system.embedder else None
        return Answers(reranked or ranking, embedded, tuple(legs), fused, reranked)

    def reference(self, system: System) -> Leg:
        """Exact search with a system's vectors: what its index would find if it missed nothing."""
        embedder, store = system.embedder, system.store
        assert embedder is not None and store is not None
        if store.name == EXACT:
            return self._dense(system)
        plugin = registry.load("stores", EXACT)
        exact = Part("stores", EXACT, EXACT, plugin.Params())
        return self._dense(replace(system, store=exact, search=plugin.Query()))

    def prepare(self, system: System) -> None:
        """Everything a system needs that is not timed one query at a time."""
        if system.keyword is not None:
            self.index(system.keyword, system.chunker, None)
        if system.store is not None:
            self.index(system.store, system.chunker, system.embedder)

    def close(self) -> None:
        """Close every store and model that was opened."""
        for key, slot in self._slots.items():
            if slot.made and key[0] in ("index", "embedder", "reranker"):
                (slot.value.store if isinstance(slot.value, Index) else slot.value).close()

    def _dense(self, system: System) -> Leg:
        store, embedder = system.store, system.embedder
        assert store is not None and embedder is not None
        search = system.search.model_dump_json() if system.search else ""
        vectors = self.query_vectors(embedder)

        def make() -> Leg:
            index = self.index(store, system.chunker, embedder)
            warm_up = self.vectors(embedder, system.chunker).matrix[:WARM_UP_TEXTS]
            return retrieve.dense(
                index, vectors.matrix, warm_up, k=self._depth, query=system.search, repeats=self._repeats
            )

        return self._once(("dense", system.chunker.label, embedder.label, _which(store), search), make)

    def _keywords(self, system: System) -> Leg:
        keyword = system.keyword
        assert keyword is not None

        def make() -> Leg:
            index = self.index(keyword, system.chunker, None)
            query = registry.load("stores", keyword.name).Query()
            warm_up = self._warm_up()
            return retrieve.keywords(
                index, self._texts, warm_up, k=self._depth, query=query, repeats=self._repeats
            )

        return self._once(("keywords", system.chunker.label, _which(keyword)), make)

    def _reranked(self, system: System, ranking: Leg) -> Leg | None:
        part = system.reranker
        if part is None:
            return None
        plugin = registry.load("rerankers", part.name)
        reranker = self._once(("reranker", part.label), lambda: plugin(part.params))
        passages = embedded_texts(self.chunking(system.chunker).chunks)
        return rerank(reranker, ranking, self._texts, passages)

    def _warm_up(self) -> list[str]:
        """Texts that are not queries, the same for every system: pieces of the first documents."""
        texts = self.corpus.documents["text"][:WARM_UP_TEXTS].to_pylist()
        starts = range(0, WARM_UP_TEXTS * WARM_UP_CHARACTERS, WARM_UP_CHARACTERS)
        pieces = [text[at : at + WARM_UP_CHARACTERS].strip() for at in starts for text in texts]
        return [piece for piece in pieces if piece][:WARM_UP_TEXTS]

    def _once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` gives, made by the first who asks; the others wait, and share its failure too."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
        with slot.lock:
            if slot.error is not None:
                raise slot.error
            if not slot.made:
                try:
                    slot.value = make()
                except BakeoffError as exc:
                    slot.error = exc
                    raise
                slot.made = True
            return cast(T, slot.value)


def _which(store: Part) -> str:
    """A store by what it is: a label is the user's to choose, and may be that of another store."""
    return f"{store.name} {store.params.model_dump_json()}"
