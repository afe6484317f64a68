"""A server that is away when an index is opened has lost nothing: its system fails, and a later run finds the index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.types import Status

Engine = Callable[[str], dict[str, str]]
both = pytest.mark.parametrize("name", ["pgvector", "redis"])


def was_inserted(result: Result, name: str) -> bool:
    """Whether a run sent the rows itself: the time of an earlier run has a note that dates it."""
    rows = [row for row in result.timings.to_pylist() if row["phase"] == "insert" and name in row["system"]]
    assert rows
    return rows[0]["value"] is not None and not rows[0]["note"]


def indexes(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "cache" / "index").glob("??/*"))


@both
def test_the_index_of_a_server_that_is_down_is_kept_and_found_again(
    name: str,
    engine: Engine,
    kill_engine: Callable[[str], None],
    home: Path,
    beside_exact: Callable[..., Path],
    statuses: Callable[..., Any],
) -> None:
    engine(name)
    path = beside_exact(name)
    first = run(path, out=Path("first"))
    assert statuses(first)[name][0] == Status.DONE and was_inserted(first, name)
    before = indexes(home)
    kill_engine(name)
    told = statuses(run(path, out=Path("second")))
    assert told["exact"][0] == Status.DONE
    assert told[name][0] == Status.FAILED
    assert "refused" in told[name][1] and "is kept" in told[name][1]
    assert indexes(home) == before
    engine(name)
    third = run(path, out=Path("second"))
    assert {status for status, _ in statuses(third).values()} == {Status.DONE}
    assert not was_inserted(third, name), "an index that was there is built again"


@both
def test_an_index_that_a_server_lost_is_built_again(
    name: str, engine: Engine, home: Path, beside_exact: Callable[..., Path], statuses: Callable[..., Any]
) -> None:
    engine(name)
    path = beside_exact(name)
    run(path, out=Path("first"))
    plugin = registry.load("stores", name)
    store = plugin(plugin.Params(), home)
    mine = [key for key in indexes(home) if key in store.collections()]
    for key in mine:
        store.drop(key)
    store.close()
    again = run(path, out=Path("second"))
    assert statuses(again)[name][0] == Status.DONE
    assert mine and was_inserted(again, name)


def test_a_server_nobody_knows_any_more_has_lost_nothing(
    engine: Engine,
    home: Path,
    beside_exact: Callable[..., Path],
    statuses: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`servers down` takes the address away with the server."""
    engine("redis")
    path = beside_exact("redis")
    run(path, out=Path("first"))
    before = indexes(home)
    with monkeypatch.context() as away:
        away.delenv("BAKEOFF_REDIS_URL")
        told = statuses(run(path, out=Path("second")))
    assert told["redis"][0] == Status.FAILED and "servers up redis" in told["redis"][1]
    assert indexes(home) == before
    third = run(path, out=Path("third"))
    assert statuses(third)["redis"][0] == Status.DONE and not was_inserted(third, "redis")
