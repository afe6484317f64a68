"""A store's conduct: it keeps to its name and folder, does not print or sleep, and stops when closed."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

from bakeoff.protocols import CompleteStore, SearchKnob, SupportsTuning
from bakeoff.testing.reference_search import exact
from bakeoff.testing.store_checks.search import expect_refusal
from bakeoff.testing.store_fixture import FIRST_ID, DeclaredGap, StoreFixture, Suite, expect
from bakeoff.types import Batch, Metric

suite = Suite()
NAME, METRIC = "contract_rows", Metric.COSINE
ROWS, QUERIES = 2000, 60


@suite.check("vectors")
def the_search_knob_has_an_effect(bench: StoreFixture) -> None:
    """Its field exists, and answers change over its range in the declared direction."""
    knob = _knob(bench)
    expect(
        knob.name in bench.plugin.Query.model_fields, f"Query has no field {knob.name!r}, the declared knob."
    )
    store, vectors, asked = bench.make(), bench.vectors(ROWS, seed=11), bench.vectors(QUERIES, seed=12)
    store.create("contract_knob", bench.dims, METRIC)
    store.insert(Batch(np.arange(ROWS, dtype=np.int64), vectors=vectors))
    store.ready()
    true = [int(exact(vectors, vector, METRIC)[0]) for vector in asked]
    found = {value: _first(bench, store, asked, knob, value) for value in knob.bounds(1, ROWS)}
    (low, least), (high, most) = found.items() if len(found) == 2 else [*found.items()] * 2
    expect(least != most, f"{knob.name} from {low} to {high} changes none of {QUERIES} answers.")
    right = [sum(mine == one for mine, one in zip(answers, true, strict=True)) for answers in (least, most)]
    risen = right[1] > right[0] if knob.recall == "rises" else right[1] < right[0]
    expect(
        risen,
        f"recall {knob.recall} with {knob.name}, it says: {right[0]} of {QUERIES} at {low}, {right[1]} at {high}.",
    )


def _knob(bench: StoreFixture) -> SearchKnob:
    params = bench.plugin.Params(**bench.params)
    knob = bench.plugin.search_knob(params) if issubclass(bench.plugin, SupportsTuning) else None
    if knob is None:
        raise DeclaredGap("it declares no search knob")
    return knob


def _first(
    bench: StoreFixture, store: CompleteStore, asked: np.ndarray, knob: SearchKnob, value: int
) -> list[int]:
    query = bench.plugin.Query(**{knob.name: value})
    found = [store.search(vector, 1, query).ids.tolist() for vector in asked]
    return [ids[0] if ids else -1 for ids in found]


@suite.check("vectors")
def collections_of_two_names_are_two(bench: StoreFixture) -> None:
    """Each keeps its own rows; one name is not opened under another."""
    first, rows = bench.make_filled()
    second = bench.make("other")
    second.create("contract_other", bench.dims, METRIC)
    second.insert(Batch(np.array([7], np.int64), vectors=rows[:1]))
    second.ready()
    mine = first.search(rows[3], 1, bench.query()).ids.tolist()
    theirs = second.search(rows[3], 1, bench.query()).ids.tolist()
    expect(mine == [FIRST_ID + 3] and theirs == [7], f"two collections answer {mine} and {theirs}.")
    if bench.has("reopen"):
        first.close()
        opening = partial(bench.make().open, "contract_nothing", bench.dims, METRIC)
        expect_refusal("opening contract_nothing where contract_rows is", opening)


@suite.check()
def a_closed_store_answers_nothing(bench: StoreFixture) -> None:
    store, search = _filled_store(bench)
    store.close()
    expect_refusal("a search on a closed store", partial(search, store))


def _filled_store(bench: StoreFixture) -> tuple[CompleteStore, Callable[[CompleteStore], object]]:
    """A store with rows, by vectors if it has them, else by words, and how to search one like it."""
    if bench.has("vectors"):
        store, rows = bench.make_filled()
        return store, lambda one: one.search(rows[0], 3, bench.query())
    store = bench.make()
    store.create(NAME, 0, METRIC)
    store.insert(Batch(np.arange(3, dtype=np.int64), texts=["a red apple", "a green pear", "red wine"]))
    store.ready()
    return store, lambda one: one.search_text("red", 3, bench.query())


@suite.check("vectors")
def a_query_of_another_dimension_is_refused(bench: StoreFixture) -> None:
    store, rows = bench.make_filled()
    for dims in (bench.dims - 1, bench.dims * 2):
        vector = np.resize(rows[0], dims)
        expect_refusal(f"a query of {dims} numbers", partial(store.search, vector, 3, bench.query()))


@suite.check()
def files_are_in_its_home_only(bench: StoreFixture) -> None:
    """Nothing is left in the working folder, the temporary folder, or next to its home."""
    with _own_places() as places:
        store, search = _filled_store(bench)
        search(store)
        store.close()
        if bench.has("reopen"):
            again = bench.make()
            again.open(NAME, bench.dims if bench.has("vectors") else 0, METRIC)
            search(again)
            again.close()
        left = [path.name for place in places for path in place.iterdir()]
    expect(not left, f"it leaves files outside its home: {', '.join(left[:5])}.")
    leftover = {path.name for path in bench.folder.iterdir()} - {"home", bench.vector_folder.name}
    expect(not leftover, f"it leaves files next to its home: {', '.join(sorted(leftover)[:5])}.")


@contextlib.contextmanager
def _own_places() -> Iterator[tuple[Path, Path]]:
    """The check's own working and temporary folder; their paths are short, because sockets lie there too."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="b") as folder:
        work, temporary = Path(folder) / "w", Path(folder) / "t"
        work.mkdir()
        temporary.mkdir()
        os.chdir(work)
        try:
            with (
                mock.patch.object(tempfile, "tempdir", str(temporary)),
                mock.patch.dict(os.environ, TMPDIR=str(temporary)),
            ):
                yield work, temporary
        finally:
            os.chdir(before)


@suite.check()
def prints_nothing(bench: StoreFixture) -> None:
    with _heard(bench.folder / "heard") as heard:
        store, search = _filled_store(bench)
        search(store)
        store.close()
    expect(not heard, f"it prints: {''.join(heard).strip()[:200]!r}.")


@contextlib.contextmanager
def _heard(file: Path) -> Iterator[list[str]]:
    """Collects what is written to the standard streams, by Python or below it."""
    heard: list[str] = []
    with file.open("w+b") as sink, contextlib.ExitStack() as stack:
        for number in (1, 2):
            stack.callback(_restore, os.dup(number), number)
            os.dup2(sink.fileno(), number)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield heard
        stack.close()
        sink.seek(0)
        heard += [
            part for part in (out.getvalue(), err.getvalue(), sink.read().decode(errors="replace")) if part
        ]
    file.unlink()


def _restore(kept: int, number: int) -> None:
    os.dup2(kept, number)
    os.close(kept)


@suite.check()
def a_search_does_not_sleep(bench: StoreFixture) -> None:
    store, search = _filled_store(bench)
    slept: list[float] = []
    with mock.patch.object(time, "sleep", slept.append):
        for _ in range(5):
            search(store)
    expect(not slept, f"it sleeps {sum(slept):g} s in 5 searches.")
