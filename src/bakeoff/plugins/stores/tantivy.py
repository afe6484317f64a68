"""Tantivy, embedded: keyword search by BM25 (k1 = 1.2 and b = 0.75, which the engine fixes)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import tantivy
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import StoreError
from bakeoff.types import Batch, Hits, Metric

HEAP_BYTES = 128_000_000
ANALYZER = "bakeoff"


class TantivyParams(BaseModel):
    """How texts are cut into words."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    words: Annotated[
        Literal["english", "plain"],
        Field(description="english: stemmed, without stop words; plain: lower-cased only"),
    ] = "english"


class TantivyQuery(BaseModel):
    """Nothing to choose."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TantivyStore:
    """A Tantivy index in a folder, built by one thread so that equal scores keep one order."""

    version: ClassVar[str] = "1"
    Params = TantivyParams
    Query = TantivyQuery

    def __init__(self, params: TantivyParams, home: Path) -> None:
        self._home = home
        self._analyzer = _analyzer(params.words)
        self._schema = _schema()
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._searcher: tantivy.Searcher | None = None
        self._inserted = 0

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        for old in self._home.iterdir():
            old.unlink()
        self._index = tantivy.Index(self._schema, path=str(self._home))
        self._index.register_tokenizer(ANALYZER, self._analyzer)
        self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        self._inserted = 0

    def insert(self, batch: Batch) -> None:
        assert self._writer is not None and batch.texts is not None
        for number, text in zip(batch.ids.tolist(), batch.texts, strict=True):
            self._writer.add_document(tantivy.Document(id=number, text=text))
        self._inserted += len(batch.ids)

    def ready(self) -> None:
        assert self._index is not None and self._writer is not None
        self._writer.commit()
        self._writer.wait_merging_threads()
        self._writer = None
        self._load()
        assert self._searcher is not None
        if self._searcher.num_docs != self._inserted:
            raise StoreError(
                f"Tantivy holds {self._searcher.num_docs} of {self._inserted} texts after its commit."
            )

    def open(self, collection: str, dims: int, metric: Metric) -> int:
        try:
            self._index = tantivy.Index.open(str(self._home))
        except ValueError as exc:
            raise StoreError(f"Tantivy cannot open its index: {exc}") from exc
        self._load()
        assert self._searcher is not None
        return int(self._searcher.num_docs)

    def search_text(self, text: str, k: int, query: TantivyQuery) -> Hits:
        assert self._searcher is not None
        words = self._analyzer.analyze(text)
        terms = [tantivy.Query.term_query(self._schema, "text", word) for word in words]
        if not terms or not self._searcher.num_docs:
            return Hits(np.empty(0, np.int64), np.empty(0, np.float64))
        asked = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        hits = self._searcher.search(asked, limit=k, count=False).hits
        ids = self._searcher.fast_field_values("id", [address for _, address in hits])
        return Hits(np.array(ids, np.int64), np.array([score for score, _ in hits], np.float64))

    def close(self) -> None:
        self._index = self._writer = self._searcher = None

    def _load(self) -> None:
        assert self._index is not None
        self._index.register_tokenizer(ANALYZER, self._analyzer)
        self._index.reload()
        self._searcher = self._index.searcher()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=False, indexed=False, fast=True)
    builder.add_text_field("text", stored=False, tokenizer_name=ANALYZER, index_option="freq")
    return builder.build()


def _analyzer(words: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    if words == "english":
        builder = builder.filter(tantivy.Filter.stopword("english")).filter(tantivy.Filter.stemmer("english"))
    return builder.build()
