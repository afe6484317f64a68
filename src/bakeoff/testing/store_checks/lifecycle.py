"""A collection's life: recreated, closed, reopened, changed, and shared by two clients."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from bakeoff.fingerprint import file_fingerprint
from bakeoff.testing.store_checks.search import expect_refusal
from bakeoff.testing.store_fixture import FIRST_ID, StoreFixture, Suite, expect
from bakeoff.types import Batch, Metric

suite = Suite()
NAME, METRIC = "contract_rows", Metric.COSINE


@suite.check("vectors")
def create_replaces(bench: StoreFixture) -> None:
    store, rows = bench.make_filled()
    store.create(NAME, bench.dims, METRIC)
    store.insert(Batch(np.array([5], np.int64), vectors=rows[:1]))
    store.ready()
    found = store.search(rows[0], 10, bench.query()).ids.tolist()
    expect(found == [5], f"after create and one row, {found} comes.")


@suite.check("vectors")
def a_collection_of_another_dimension(bench: StoreFixture) -> None:
    """`create` replaces it; `open` refuses it."""
    store, rows = bench.make_filled()
    wide = np.hstack([rows, rows[::-1]])[:40]
    store.create(NAME, bench.dims * 2, METRIC)
    store.insert(Batch(np.arange(40, dtype=np.int64), vectors=wide))
    store.ready()
    found = store.search(wide[3], 1, bench.query()).ids.tolist()
    expect(found == [3], f"after create with another dimension, {found} comes for the row 3.")
    if bench.has("reopen"):
        store.close()
        again = bench.make()
        again.open(NAME, bench.dims * 2, METRIC)
        again.close()
        opening = partial(bench.make().open, NAME, bench.dims, METRIC)
        expect_refusal(f"opening {bench.dims * 2} numbers a vector as {bench.dims}", opening)


@suite.check("vectors", "reopen")
def reopens(bench: StoreFixture) -> None:
    store, rows = bench.make_filled()
    before = store.search(rows[3], 5, bench.query()).ids.tolist()
    store.close()
    again = bench.make()
    held = again.open(NAME, bench.dims, METRIC)
    expect(held == bench.rows, f"{held} of {bench.rows} rows are there when it is opened again.")
    after = again.search(rows[3], 5, bench.query()).ids.tolist()
    expect(before == after, f"{before} came before it was closed, {after} when it was opened again.")


@suite.check("vectors", "reopen")
def opening_leaves_the_files_as_they_are(bench: StoreFixture) -> None:
    """An index is sealed and moved when it is built, and each file is verified before it is opened again."""
    store, rows = bench.make_filled()
    store.close()
    moved = (bench.folder / "home").rename(bench.folder / "moved")
    before = {path: file_fingerprint(path) for path in moved.rglob("*") if path.is_file()}
    again = bench.make("moved")
    again.open(NAME, bench.dims, METRIC)
    again.search(rows[3], 5, bench.query())
    again.close()
    changed = [path.name for path, was in before.items() if file_fingerprint(path) != was]
    expect(not changed, f"opening and searching changed {', '.join(changed)}.")


@suite.check("reopen")
def opening_what_is_not_there(bench: StoreFixture) -> None:
    expect_refusal(
        "opening no collection", partial(bench.make().open, "contract_nothing", bench.dims, METRIC)
    )


@suite.check("vectors", "delete")
def deletes(bench: StoreFixture) -> None:
    store, rows = bench.make_filled()
    gone = np.arange(FIRST_ID, FIRST_ID + 20, dtype=np.int64)
    store.delete(gone)
    _expect_rows(bench, store, rows, {*range(FIRST_ID + 20, FIRST_ID + bench.rows)}, "after deleting 20")
    if bench.has("reopen"):
        store.close()
        again = bench.make()
        held = again.open(NAME, bench.dims, METRIC)
        expect(held == bench.rows - 20, f"{held} rows are there when it is opened after deleting 20.")


@suite.check("vectors", "replace")
def replaces(bench: StoreFixture) -> None:
    store, rows = bench.make_filled()
    changed = -rows[:20]
    store.replace(Batch(np.arange(FIRST_ID, FIRST_ID + 20, dtype=np.int64), vectors=changed))
    for i, row in enumerate(changed):
        found = store.search(row, 1, bench.query())
        near = found.ids.tolist() == [FIRST_ID + i] and found.scores[0] > 0.99
        expect(near or bench.score_error >= 0.1, f"a replaced row is not found: {found.ids}, {found.scores}.")
        expect(
            FIRST_ID + i not in store.search(rows[i], 5, bench.query()).ids.tolist(),
            "an old vector is found.",
        )
    _expect_rows(bench, store, rows, {*range(FIRST_ID, FIRST_ID + bench.rows)}, "after replacing 20")


def _expect_rows(bench: StoreFixture, store: object, rows: np.ndarray, wanted: set[int], when: str) -> None:
    """A search for more rows than exist finds each row once."""
    ids = store.search(rows[0], bench.rows * 2, bench.query()).ids.tolist()  # type: ignore[attr-defined]
    missing, more = wanted - {*ids}, len(ids) - len(wanted & {*ids})
    expect(not missing and not more, f"{when}: {len(missing)} rows are missing, {more} should not be there.")


@suite.check("vectors", "reopen", "clients")
def two_clients_at_once(bench: StoreFixture) -> None:
    """Two instances on one collection, searching at the same time, and one closing under the other."""
    first, rows = bench.make_filled()
    second = bench.make()
    second.open(NAME, bench.dims, METRIC)
    wanted = [first.search(row, 5, bench.query()).ids.tolist() for row in rows]
    with ThreadPoolExecutor(2) as threads:
        answers = list(
            threads.map(
                lambda store: [store.search(row, 5, bench.query()).ids.tolist() for row in rows],
                (first, second),
            )
        )
    expect(answers[0] == wanted, "the first client's answers change while a second one searches.")
    expect(answers[1] == wanted, "the second client gets other answers than the first.")
    first.close()
    expect(
        second.search(rows[0], 5, bench.query()).ids.tolist() == wanted[0], "closing one disturbs the other."
    )
