"""Tantivy, embedded: keyword search by BM25 (k1 = 1.2 and b = 0.75, which the engine fixes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tantivy

from bakeoff.corpus import segmentation
from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import NoQuery, installed_engine, require_open
from bakeoff.plugins.kit.payload import PayloadSchemaMixin, Term, terms
from bakeoff.plugins.kit.words import WORDS_ONLY, WordAnalyzer, WordParams
from bakeoff.types import Batch, Hits, Metric, PayloadField, Where

ANALYZER = "bakeoff"
TYPES = {"integer": tantivy.FieldType.Integer, "number": tantivy.FieldType.Float}


def schema(columns: dict[str, PayloadField]) -> tantivy.Schema:
    """Stored ids, indexed words, and a column per payload field."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=False, indexed=False, fast=True)
    builder.add_text_field("text", stored=False, tokenizer_name=ANALYZER, index_option="freq")
    for column, field in columns.items():
        if field.kind == "text":
            builder.add_text_field(column, stored=False, tokenizer_name="raw", index_option="basic")
        elif field.kind == "integer":
            builder.add_integer_field(column, stored=False, indexed=True, fast=True)
        else:
            builder.add_float_field(column, stored=False, indexed=True, fast=True)
    return builder.build()


def comparison_query(of: tantivy.Schema | None, column: str, term: Term) -> tantivy.Query:
    """Query for the rows that satisfy one comparison."""
    if term.sign == "in":
        return tantivy.Query.term_set_query(of, column, list(term.values))
    bound = {"lower_bound" if term.sign == ">=" else "upper_bound": term.values[0]}
    return tantivy.Query.range_query(of, column, TYPES[term.kind], **bound)


HEAP_BYTES = 128_000_000


class TantivyStore(PayloadSchemaMixin):
    """A Tantivy index in a folder, built by one thread so that equal scores keep one order."""

    version: ClassVar[str] = f"2 with {segmentation.VERSION}"
    Params = WordParams
    Query = NoQuery
    fixed: ClassVar[dict[str, float]] = {"k1": 1.2, "b": 0.75}
    gaps: ClassVar[dict[str, str]] = WORDS_ONLY

    def __init__(self, params: WordParams, home: Path) -> None:
        self._home = home
        self._words = WordAnalyzer(params.language, plain=params.words == "plain")
        self._schema: tantivy.Schema | None = None
        self._index: tantivy.Index | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._searcher: tantivy.Searcher | None = None
        self._inserted = 0

    def engine_version(self) -> str:
        return installed_engine("tantivy")

    def create(self, collection: str, dims: int, metric: Metric) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        for old in self._home.iterdir():
            old.unlink()
        self._schema = schema(self.columns())
        self._index = tantivy.Index(self._schema, path=str(self._home))
        self._index.register_tokenizer(ANALYZER, self._words.in_tantivy)
        self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        self._inserted = 0

    def insert(self, batch: Batch) -> None:
        assert self._writer is not None and batch.texts is not None
        names, none = self.column_of(), [dict[str, Any]()] * len(batch.texts)
        for number, text, own in zip(batch.ids.tolist(), batch.texts, batch.payloads or none, strict=True):
            payload = {names[key]: value for key, value in own.items()}
            self._writer.add_document(tantivy.Document(id=number, text=self._words.spaced(text), **payload))
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
        self._schema = schema(self.columns())
        try:
            self._index = tantivy.Index.open(str(self._home))
        except ValueError as exc:
            raise StoreError(f"Tantivy cannot open its index: {exc}") from exc
        self._load()
        assert self._searcher is not None
        return int(self._searcher.num_docs)

    def search_text(self, text: str, k: int, query: NoQuery) -> Hits:
        return self._best(self._word_query(text), k)

    def search_text_where(self, text: str, k: int, query: NoQuery, where: Where) -> Hits:
        words = self._word_query(text)
        if words is None:
            return self._best(None, k)
        names = self.column_of()
        kept = [comparison_query(self._schema, names[term.field], term) for term in terms(self.fields, where)]
        # a required clause adds its score, so it gets none
        must = [(tantivy.Occur.Must, tantivy.Query.const_score_query(one, 0.0)) for one in kept]
        return self._best(tantivy.Query.boolean_query([(tantivy.Occur.Must, words), *must]), k)

    def close(self) -> None:
        self._index = self._writer = self._searcher = None

    def _load(self) -> None:
        assert self._index is not None
        self._index.register_tokenizer(ANALYZER, self._words.in_tantivy)
        self._index.reload()
        self._searcher = self._index.searcher()

    def _word_query(self, text: str) -> tantivy.Query | None:
        """Query for any of a text's words; None if there are none."""
        found = [tantivy.Query.term_query(self._schema, "text", word) for word in self._words.terms(text)]
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, one) for one in found]) if found else None

    def _best(self, asked: tantivy.Query | None, k: int) -> Hits:
        searcher = require_open("Tantivy", self._searcher)
        if asked is None or not searcher.num_docs:
            return Hits(np.empty(0, np.int64), np.empty(0, np.float64))
        hits = searcher.search(asked, limit=k, count=False).hits
        ids = searcher.fast_field_values("id", [address for _, address in hits])
        return Hits(np.array(ids, np.int64), np.array([score for score, _ in hits], np.float64))
