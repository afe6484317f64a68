"""bakeoff servers, as it is typed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.runtime.servers.control import TABLE
from bakeoff.runtime.servers.records import read_place


@pytest.fixture
def redis(home: Path, cli: Callable):
    if TABLE["redis"].find() is None:
        pytest.skip(TABLE["redis"].how)
    yield
    cli("servers", "down", "redis")


def test_up_status_down(redis: None, cli: Callable) -> None:
    started = cli("servers", "up", "redis")
    assert started.code == 0 and "stores: [redis]" in started.out
    again = cli("servers", "up", "redis")
    assert again.out == started.out and again.err == ""
    shown = cli("servers", "status", "redis")
    assert shown.code == 0 and re.search(r"redis +running", shown.out) and "(Redis 8" in shown.out
    (row,) = cli("servers", "status", "redis", "--json").json
    assert row["pid"] > 0 and row["memory_mb"] > 0
    place = read_place("redis")
    assert place is not None
    said = "".join(one.out + one.err for one in (started, again, shown)) + str(row)
    assert place.password not in said
    assert cli("servers", "down").out == "redis stopped\n"
    assert cli("servers", "down", "redis").out == "redis was not running\n"


def test_a_crash_is_shown_with_exit_code_1(redis: None, cli: Callable) -> None:
    import psutil

    cli("servers", "up", "redis")
    (row,) = cli("servers", "status", "redis", "--json").json
    server = psutil.Process(row["pid"])
    server.kill()
    server.wait(60)
    seen = cli("servers", "status", "redis")
    assert seen.code == 1 and "crashed" in seen.out and "log" in seen.out


def test_an_unknown_name(home: Path, cli: Callable) -> None:
    for command in ("up", "down", "status"):
        outcome = cli("servers", command, "reddis")
        assert outcome.code == 2 and "'redis'" in outcome.err


def test_missing_packages_are_reported(home: Path, cli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    outcome = cli("servers", "up", "milvus")
    assert outcome.code == 2 and "--install" in outcome.err
