"""Searches of sparse vectors by inner product, and of token vectors by MaxSim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bakeoff.protocols import CompleteStore
from bakeoff.testing.reference_search import maxsim, sparse_products
from bakeoff.testing.store_checks.search import expect_refusal
from bakeoff.testing.store_fixture import FIRST_ID, ContractCheck, StoreFixture, Suite, expect
from bakeoff.types import (
    Batch,
    Condition,
    Hits,
    Metric,
    PayloadField,
    SparseRows,
    SparseVector,
    TokenRows,
    VectorKind,
    Where,
)

suite = Suite()
NAME = "contract_encoded"
ROWS, K, QUERIES = 120, 10, 8
TERMS = 400
FIELDS = (PayloadField("part", "integer"),)
ODD: Where = (Condition("part", among=(1,)),)


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def sparse_rows(rows: int, seed: int) -> SparseRows:
    """Seeded sparse vectors of 3 to 40 terms."""
    generator = np.random.default_rng(seed)
    counts = generator.integers(3, 41, rows)
    terms = np.concatenate([np.sort(generator.choice(TERMS, count, replace=False)) for count in counts])
    weights = generator.gamma(2.0, 1.0, len(terms)).astype(np.float32)
    return SparseRows(_starts(counts), terms.astype(np.int32), weights, TERMS)


def token_rows(rows: int, dims: int, seed: int) -> TokenRows:
    """Seeded unit vectors of 2 to 12 tokens."""
    generator = np.random.default_rng(seed)
    counts = generator.integers(2, 13, rows)
    vectors = generator.normal(size=(int(counts.sum()), dims)).astype(np.float32)
    return TokenRows(_starts(counts), vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class EncodedCase:
    """One kind of vectors: how rows are made, batched, searched, and scored by a plain computation."""

    kind: VectorKind
    ability: str
    make: Callable[[StoreFixture, int, int], SparseRows | TokenRows]
    score: Callable[[SparseRows | TokenRows, SparseVector | np.ndarray], np.ndarray]

    def batch(self, ids: np.ndarray, rows: SparseRows | TokenRows) -> Batch:
        """Rows for a store, with the parity of their ids as payload."""
        payloads: list[dict[str, str | int | float]] = [{"part": int(one) % 2} for one in ids]
        return Batch(
            ids,
            payloads=payloads,
            sparse=rows if isinstance(rows, SparseRows) else None,
            tokens=rows if isinstance(rows, TokenRows) else None,
        )

    def open(self, bench: StoreFixture) -> CompleteStore:
        """A store with the kind of its rows declared."""
        store = bench.make()
        if _filters(bench):
            store.declare(FIELDS)
        store.hold(self.kind)
        return store

    def fill(self, bench: StoreFixture) -> tuple[CompleteStore, SparseRows | TokenRows]:
        """A store with the seeded rows, in two batches."""
        store, rows = self.open(bench), self.make(bench, ROWS, 31)
        store.create(NAME, rows.shape[1], Metric.DOT)
        for part in np.array_split(np.arange(ROWS), 2):
            store.insert(self.batch(part + FIRST_ID, rows[part[0] : part[-1] + 1]))
        store.ready()
        return store, rows

    def search(
        self, bench: StoreFixture, store: CompleteStore, query: SparseVector | np.ndarray, where: Where = ()
    ) -> Hits:
        """The K best rows."""
        if isinstance(query, SparseVector):
            return store.search_sparse(query, K, bench.query(), where)
        return store.search_tokens(query, K, bench.query(), where)


def _filters(bench: StoreFixture) -> bool:
    return hasattr(bench.plugin, "declare")


SPARSE = EncodedCase(
    "sparse", "sparse vectors", lambda _, rows, seed: sparse_rows(rows, seed), sparse_products
)
TOKENS = EncodedCase(
    "tokens", "token vectors", lambda bench, rows, seed: token_rows(rows, bench.dims, seed), maxsim
)


def _finds_the_best(bench: StoreFixture, case: EncodedCase) -> None:
    """Scores match a plain computation, best first, also within a filter and after reopening."""
    store, rows = case.fill(bench)
    filters: list[Where] = [(), ODD] if _filters(bench) else [()]
    for round_ in range(2 if bench.has("reopen") else 1):
        if round_:
            store.close()
            store = case.open(bench)
            held = store.open(NAME, rows.shape[1], Metric.DOT)
            expect(held == ROWS, f"{held} of {ROWS} rows are there when it is opened again.")
        for where in filters:
            _expect_best(bench, case, store, rows, where)


def _expect_best(
    bench: StoreFixture,
    case: EncodedCase,
    store: CompleteStore,
    rows: SparseRows | TokenRows,
    where: Where,
) -> None:
    found = total = 0
    for query in case.make(bench, QUERIES, 32):
        true = case.score(rows, query)
        allowed = (np.arange(ROWS) + FIRST_ID) % 2 == 1 if where else np.ones(ROWS, bool)
        order = np.argsort(np.where(allowed, -true, np.inf), kind="stable")[:K]
        hits = case.search(bench, store, query, where)
        places = hits.ids - FIRST_ID
        expect(len({*places.tolist()}) == K, f"{K} distinct rows expected, got {hits.ids.tolist()}.")
        expect(allowed[places].all(), f"rows outside of the filter came: {hits.ids.tolist()}.")
        expect((np.diff(hits.scores) <= 1e-5).all(), f"scores do not fall: {hits.scores.tolist()}.")
        rounded = max(bench.score_error, getattr(bench.plugin, "weight_error", 0.0))
        close = np.isclose(hits.scores, true[places], rtol=rounded, atol=bench.score_error)
        expect(close.all(), f"scores {hits.scores[~close]} are truly {true[places][~close]}.")
        found, total = found + len({*places.tolist()} & {*order.tolist()}), total + K
    expect(found / total >= bench.recall, f"recall@{K} is {found / total:.2f}, under {bench.recall}.")


def _refuses_what_is_not_finite(bench: StoreFixture, case: EncodedCase) -> None:
    store, rows = case.open(bench), case.make(bench, 3, 33)
    values = rows.weights if isinstance(rows, SparseRows) else rows.vectors
    values[1] = np.nan
    store.create(NAME, rows.shape[1], Metric.DOT)
    insert = partial(store.insert, case.batch(np.arange(3, dtype=np.int64), rows))
    expect_refusal(f"a {case.ability[:-1]} that is not finite", insert, store.ready)


for _case in (SPARSE, TOKENS):
    for _tried, _name in (
        (_finds_the_best, "finds the best of"),
        (_refuses_what_is_not_finite, "refuses NaN in"),
    ):
        suite.append(ContractCheck(f"{_name} {_case.ability}", (_case.ability,), partial(_tried, case=_case)))


@suite.check("sparse vectors")
def empty_sparse_vectors_match_nothing(bench: StoreFixture) -> None:
    """A text without a known word is a row and a query without weights: neither finds anything."""
    store, few = SPARSE.open(bench), sparse_rows(2, 34)
    starts = np.array([0, few.starts[1], few.starts[1], few.starts[2]])
    store.create(NAME, TERMS, Metric.DOT)
    store.insert(
        SPARSE.batch(np.arange(3, dtype=np.int64), SparseRows(starts, few.terms, few.weights, TERMS))
    )
    store.ready()
    hits = SPARSE.search(bench, store, few.row(1))
    expect(1 not in hits.ids.tolist(), f"a row without a weight was found: {hits.ids.tolist()}.")
    nothing = SparseVector(few.terms[:0], few.weights[:0])
    found = SPARSE.search(bench, store, nothing).ids.tolist()
    expect(found == [], f"a query without a weight finds {found}.")
