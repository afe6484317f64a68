"""Payloads: they come back as given, and filtered searches find the nearest matching rows."""

from __future__ import annotations

from functools import partial

import numpy as np

from bakeoff.protocols import CompleteStore
from bakeoff.testing.reference_search import exact
from bakeoff.testing.store_checks.search import expect_refusal, expect_sound
from bakeoff.testing.store_fixture import FIRST_ID, DeclaredGap, StoreFixture, Suite, expect
from bakeoff.types import Batch, Condition, Metric, PayloadField, Where

suite = Suite()
Payload = dict[str, str | int | float]
NAME, METRIC, K = "contract_payload", Metric.COSINE, 10
ROWS = 1500
LONG = "A long text, ärgerlich 東京 🗼. " * 3000
FIELDS = (
    PayloadField("id", "text"),
    PayloadField("title", "text"),
    PayloadField("language", "text"),
    PayloadField("year", "integer"),
    PayloadField("rare", "integer"),
    PayloadField("stamp", "integer"),
    PayloadField("price", "number"),
)
LANGUAGES = ("en", "de", "東京", 'o\'neil "quoted" \\ {x} %')
FILTERS: dict[str, Where] = {
    "text equal": (Condition("language", among=("de",)),),
    "text with quotes equal": (Condition("language", among=(LANGUAGES[3],)),),
    "unicode text equal": (Condition("language", among=("東京",)),),
    "integer equal": (Condition("year", among=(1999,)),),
    "large integer equal": (Condition("stamp", among=(2**40 + 77,)),),
    "number equal": (Condition("price", among=(5.25,)),),
    "text among": (Condition("language", among=("de", "東京", "nobody's")),),
    "integer among": (Condition("year", among=(1991, 2005, 2050)),),
    "integer range": (Condition("year", least=1995, most=1999),),
    "integer at least": (Condition("year", least=2010),),
    "number at most": (Condition("price", most=-2.5),),
    "number range": (Condition("price", least=-3.25, most=40.0),),
    "two conditions": (Condition("language", among=("en",)), Condition("year", least=2000, most=2010)),
    "a field called id": (Condition("id", among=("own 12", "own 700")),),
    "every row": (Condition("year", least=0),),
    "no row": (Condition("language", among=("fr",)),),
}
SELECTIVE: Where = (Condition("rare", among=(1,)),)


def payload(i: int) -> Payload:
    """The payload of row i."""
    return {
        "id": f"own {i}",
        "title": "" if i == 3 else f'row {i}: naïve café — 東京 🗼\nit\'s "quoted" \\ {{}} %s',
        "language": LANGUAGES[i % 4],
        "year": 1990 + i % 30,
        "rare": int(i % 100 == 37),
        "stamp": 2**40 + i,
        "price": i / 4 - 20,
    }


def satisfies(row: Payload, where: Where) -> bool:
    """Whether a payload satisfies every condition."""
    return all(_holds(row[one.field], one) for one in where)


def _holds(value: str | float, one: Condition) -> bool:
    if one.among and value not in one.among:
        return False
    if isinstance(value, str):
        return one.least is None and one.most is None
    return (one.least is None or value >= one.least) and (one.most is None or value <= one.most)


def filled_store(bench: StoreFixture, rows: int = ROWS) -> tuple[CompleteStore, np.ndarray]:
    """A store with vectors and payloads."""
    store, vectors = bench.make(), bench.vectors(rows)
    store.declare(FIELDS)
    store.create(NAME, bench.dims, METRIC)
    for part in np.array_split(np.arange(rows), 2):
        payloads = [payload(i) for i in part.tolist()]
        store.insert(
            Batch(
                part.astype(np.int64) + FIRST_ID, vectors=vectors[part[0] : part[-1] + 1], payloads=payloads
            )
        )
    store.ready()
    return store, vectors


def expect_payloads(store: CompleteStore, wanted: dict[int, Payload]) -> None:
    """Raise unless the rows, in some order, have these payloads with the same types."""
    got = store.payloads(np.array(list(wanted), np.int64))
    expect(len(got) == len(wanted), f"{len(got)} payloads came for {len(wanted)} rows.")
    for number, mine, theirs in zip(wanted, wanted.values(), got, strict=True):
        excerpt = {key: str(value)[:60] for key, value in theirs.items()}
        same = mine == theirs and all(type(theirs[key]) is type(value) for key, value in mine.items())
        expect(same, f"row {number} was given {str(mine)[:300]} and has {excerpt}.")


@suite.check("vectors", "payload")
def payloads_come_back(bench: StoreFixture) -> None:
    """In the order of the ids, with unicode, quotes and empty texts, also after reopening."""
    store, _ = filled_store(bench, 120)
    wanted = {FIRST_ID + i: payload(i) for i in (77, 3, 0, 119, 64)}
    expect_payloads(store, wanted)
    if bench.has("reopen"):
        store.close()
        again = bench.make()
        again.declare(FIELDS)
        again.open(NAME, bench.dims, METRIC)
        expect_payloads(again, wanted)
        hits = again.search_where(bench.vectors(120)[0], K, bench.query(), SELECTIVE)
        expect(hits.ids.tolist() == [FIRST_ID + 37], "an index opened again does not filter.")


@suite.check("vectors", "payload")
def long_payloads(bench: StoreFixture) -> None:
    """A text of 100 kB comes back whole, or is rejected if that is a declared gap."""
    store, rows = bench.make(), bench.vectors(2)
    mine = [payload(0), payload(1) | {"title": LONG}]
    store.declare(FIELDS)
    store.create(NAME, bench.dims, METRIC)
    batch = Batch(np.array([1, 2], np.int64), vectors=rows, payloads=mine)
    if "long payloads" in bench.gaps:
        expect_refusal(
            "a payload of 100 kB, a declared gap,", partial(store.insert, batch), partial(store.ready)
        )
        raise DeclaredGap(bench.gaps["long payloads"])
    store.insert(batch)
    store.ready()
    expect_payloads(store, {1: mine[0], 2: mine[1]})
    hits = store.search_where(rows[1], 1, bench.query(), (Condition("id", among=("own 1",)),))
    expect(hits.ids.tolist() == [2], "the row with a long payload is not found by a filter.")


@suite.check("vectors", "payload")
def a_collection_without_payload(bench: StoreFixture) -> None:
    """Without declared fields, rows without payload are inserted and found as before."""
    store, rows = bench.make_filled()
    expect(store.search(rows[5], 1, bench.query()).ids.tolist() == [FIRST_ID + 5], "a row is not found.")


@suite.check("vectors", "payload")
def filters_are_honoured(bench: StoreFixture) -> None:
    """Equality, membership, inclusive ranges, two conditions: against brute force over the matching rows."""
    store, vectors = filled_store(bench)
    for case, where in FILTERS.items():
        _expect_filtered(bench, store, vectors, case, where)


@suite.check("vectors", "payload")
def a_filter_of_one_row_in_a_hundred(bench: StoreFixture) -> None:
    """k rows are found if k match, and all that match if they are fewer."""
    store, vectors = filled_store(bench)
    _expect_filtered(bench, store, vectors, "1 % of the rows", SELECTIVE)
    every = store.search_where(vectors[0], ROWS, bench.query(), SELECTIVE).ids.tolist()
    expect(len(every) == ROWS // 100, f"{len(every)} of {ROWS // 100} rows come for a k of {ROWS}.")


def _expect_filtered(
    bench: StoreFixture, store: CompleteStore, vectors: np.ndarray, case: str, where: Where
) -> None:
    allowed = np.array([satisfies(payload(i), where) for i in range(len(vectors))])
    count, found = min(K, int(allowed.sum())), 0
    queries = bench.vectors(12, seed=8)
    for vector in queries:
        hits = store.search_where(vector, K, bench.query(), where)
        inside = allowed[hits.ids - FIRST_ID].all()
        expect(inside, f"{case}: rows come that do not satisfy {where}.")
        expect(
            len(hits.ids) == count, f"{case}: {len(hits.ids)} rows come, {count} of {allowed.sum()} were due."
        )
        expect_sound(hits, count, vectors, vector, METRIC, bench.score_error)
        order = exact(vectors, vector, METRIC)
        found += len({*(order[allowed[order]][:K] + FIRST_ID).tolist()} & {*hits.ids.tolist()})
    due = count * len(queries)
    expect(
        found >= bench.recall * due,
        f"{case}: recall@{K} among the rows it leaves is {found / max(due, 1):.2f}.",
    )


@suite.check("vectors", "payload")
def a_field_that_was_not_declared_is_refused(bench: StoreFixture) -> None:
    store, vectors = filled_store(bench, 20)
    where = (Condition("no such field", among=("x",)),)
    asking = partial(store.search_where, vectors[0], 3, bench.query(), where)
    expect_refusal("a filter on a field that was not declared", asking)


@suite.check("vectors", "payload", "replace")
def a_replaced_row_has_its_new_payload(bench: StoreFixture) -> None:
    store, vectors = filled_store(bench, 120)
    changed = payload(5) | {"language": "fr", "year": 2024}
    store.replace(Batch(np.array([FIRST_ID + 5], np.int64), vectors=vectors[5:6], payloads=[changed]))
    expect_payloads(store, {FIRST_ID + 5: changed, FIRST_ID + 6: payload(6)})
    found = store.search_where(vectors[0], K, bench.query(), FILTERS["no row"]).ids.tolist()
    expect(found == [FIRST_ID + 5], f"{found} comes for a payload that was put in place of another.")
    old = store.search_where(
        vectors[5], K, bench.query(), (Condition("id", among=("own 5",)), Condition("year", most=2000))
    )
    expect(len(old.ids) == 0, "a row is found by the payload it had before.")


@suite.check("vectors", "payload", "delete")
def a_deleted_row_is_not_found_by_a_filter(bench: StoreFixture) -> None:
    store, vectors = filled_store(bench, 120)
    store.delete(np.array([FIRST_ID + 37], np.int64))
    found = store.search_where(vectors[37], K, bench.query(), SELECTIVE).ids.tolist()
    expect(found == [], f"{found} comes after it was deleted.")
