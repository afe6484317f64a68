"""bakeoff servers collections: collections of runs on a real server are listed and removed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from bakeoff import registry
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.runs.analysis import open_run
from bakeoff.runs.run import run
from bakeoff.types import Batch, Metric

Engine = Callable[[str], dict[str, str]]


def typed(*words: str) -> int:
    return console.run_guarded(lambda: app(list(words), standalone_mode=False))


@pytest.fixture
def left(engine: Engine, home: Path, laid_out: Callable[..., Path]) -> str:
    """A Redis with an index of this cache and a collection that none knows; returns the index's name."""
    engine("redis")
    path = laid_out(Path.cwd())
    text = yaml.safe_load(path.read_text())
    text |= {"stores": ["redis"], "modes": ["dense"], "chunkers": ["line"]}
    path.write_text(yaml.safe_dump(text))
    (row,) = run(path, out=Path("run")).systems.to_pylist()
    assert row["status"] == "done", row
    plugin = registry.load("stores", "redis")
    store = plugin(plugin.Params(), home)
    store.create("test_orphan", 4, Metric.COSINE)
    store.insert(Batch(np.arange(2), vectors=np.eye(2, 4, dtype=np.float32)))
    known = [one for one in store.collections() if (home / "cache" / "index" / one[:2] / one).exists()]
    store.close()
    assert len(known) == 1
    return known[0]


def listed(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, bool]:
    capsys.readouterr()
    assert typed("servers", "collections", "redis", "--json", *more) == 0
    return {row["collection"]: row["in_cache"] for row in json.loads(capsys.readouterr().out)}


def test_collections_are_listed_and_unused_ones_removed(
    left: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = listed(capsys)
    assert found[left] and not found["test_orphan"]
    assert set(listed(capsys, "--unused")) >= {"test_orphan"} and left not in listed(capsys, "--unused")
    assert typed("servers", "collections", "redis", "--unused", "--drop", "--yes") == 0
    assert {**listed(capsys)} == {left: True}
    first, again = open_run(Path("run")), run(Path("bakeoff.yaml"), out=Path("again"))
    inserts = [
        [row["value"] for row in one.timings.to_pylist() if row["phase"] == "insert"]
        for one in (first, again)
    ]
    assert inserts[0] == inserts[1], "the index that is in use was removed and built again"


def test_clearing_the_cache_says_what_stays_on_servers(left: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("cache", "clear", "--stage", "index", "--yes") == 0
    assert "servers collections STORE --drop" in capsys.readouterr().out
    assert listed(capsys)[left] is False
    assert typed("servers", "collections", "redis", "--drop", "--yes") == 0
    assert listed(capsys) == {}


def test_a_store_without_a_server_has_no_collections(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("servers", "collections", "exact") == 2
    assert "redis" in capsys.readouterr().err


def test_a_wrong_parameter_ends_with_2(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("servers", "collections", "redis", "--set", "nothing=1") == 2
    assert "nothing" in capsys.readouterr().err


def test_a_server_that_is_down_ends_with_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("servers", "collections", "redis", "--set", "url=redis://127.0.0.1:9/0") == 1
    assert "refused" in capsys.readouterr().err
