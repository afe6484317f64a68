"""Stores whose engine is a server, under the contract, with the real engine started for the session."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.runtime.servers.control import needing_a_server
from bakeoff.testing import StoreContract
from bakeoff.types import Batch, Metric


class OnServer(StoreContract):
    """A contract that needs the server of its store; `at` is the parameter for an address, where one must be given."""

    at: str = ""

    @pytest.fixture(autouse=True)
    def _server(self, engine: Callable[[str], dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
        (address,) = engine(self.name).values()
        if self.at:
            monkeypatch.setattr(type(self), "params", {**type(self).params, self.at: address})


class TestPgvector(OnServer):
    name = "pgvector"


class TestPgvectorNone(OnServer):
    name = "pgvector"
    params = {"build": {"index": "none"}}
    gaps = {"dims limit": "16,000, where the class says 2,000 for its indexes"}
    recall = 1.0


class TestPgvectorIvfflat(OnServer):
    name = "pgvector"
    params = {"build": {"index": "ivfflat", "lists": 4}}
    gaps = {"sparse vectors": "IVFFlat covers dense vectors only"}


class TestRedis(OnServer):
    name = "redis"

    @pytest.fixture(autouse=True)
    def _log_at_once(self, _server: None) -> None:
        """By default the log reaches the disk once a second, and `ready` waits for it."""
        redis = pytest.importorskip("redis")
        with redis.from_url(os.environ["BAKEOFF_REDIS_URL"]) as client:
            client.config_set("appendfsync", "always")


class TestRedisInt8(TestRedis):
    params = {"build": {"quantization": "int8"}}
    score_error = 0.05  # bytes


class TestRedisBinary(TestRedis):
    params = {"build": {"quantization": "binary"}}
    dims = 256
    recall = 0.15  # one bit a number on vectors without structure: 0.25–0.3 was seen, chance is under 0.03
    score_error = 1.0


class TestChroma(OnServer):
    name, at = "chroma", "url"


@pytest.mark.slow  # it waits seconds for each collection
class TestMilvus(OnServer):
    name, at = "milvus", "uri"
    gaps = {
        "long payloads": "a server's text field holds 65,535 bytes",
        "sparse vectors": "from version 2.4 on; the server here is 2.3.5",
        "float16": "from version 2.4 on; the server here is 2.3.5",
    }
    no_gaps = ("clients", "int8")


@pytest.mark.slow
class TestMilvusTwoShards(TestMilvus):
    """Compared row by row: 2.3.5 with hnsw in two shards missed 19 of 50 rows behind filters of one row in 2,000."""

    params = {"build": {"shards": 2, "index": "flat"}}


def until(ask: Callable[[], object], seconds: float = 60.0) -> None:
    """Ask again and again, for a minute at most."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ask()


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
@pytest.mark.parametrize("name", ["pgvector", "redis"])
def test_what_is_ready_survives_kill_of_the_server(
    name: str, engine: Callable[[str], dict[str, str]], kill_engine: Callable[[str], None], tmp_path: Path
) -> None:
    engine(name)
    plugin, rows = (
        registry.load("stores", name),
        np.random.default_rng(11).normal(size=(500, 32)).astype(np.float32),
    )
    store = plugin(plugin.Params(), tmp_path)
    store.create("killed", 32, Metric.COSINE)
    store.insert(Batch(np.arange(500, dtype=np.int64), vectors=rows))
    store.ready()
    kill_engine(name)
    with pytest.raises(StoreError):  # a process of the server that has not noticed yet may still answer
        until(lambda: store.search(rows[0], 1, plugin.Query()))
    store.close()
    engine(name)
    again = plugin(plugin.Params(), tmp_path)
    assert again.open("killed", 32, Metric.COSINE) == 500
    found = [again.search(rows[i], 1, plugin.Query()).ids.tolist() for i in range(0, 500, 25)]
    again.close()
    assert found == [[i] for i in range(0, 500, 25)]


def test_every_store_that_needs_a_server_is_here_or_in_a_file_of_its_own() -> None:
    here = {suite.name for suite in OnServer.__subclasses__()}
    beside = {
        path.stem.removeprefix("test_")
        for path in (Path(__file__).parents[1] / "plugins/stores").glob("test_*.py")
    }
    assert needing_a_server() <= here | beside
