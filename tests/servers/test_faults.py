"""Faults of real servers: down, wrong password, killed in mid-insert and mid-query, limits; other systems go on."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import yaml

from bakeoff import registry
from bakeoff.config.experiment import load as load_experiment
from bakeoff.errors import ExperimentError, MissingExtraError, StoreError
from bakeoff.pipeline import index as index_stage
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.runtime.events import StageAdvanced
from bakeoff.types import Batch, Metric, PayloadField, Status

Engine = Callable[[str], dict[str, str]]
ADDRESS = {"pgvector": ("dsn", "BAKEOFF_PGVECTOR_DSN"), "redis": ("url", "BAKEOFF_REDIS_URL")}
both = pytest.mark.parametrize("name", list(ADDRESS))


def plugin(name: str) -> type:
    try:
        return registry.load("stores", name)
    except MissingExtraError as exc:
        pytest.skip(str(exc))


def made(name: str, home: Path, **params: object):
    store = plugin(name)
    return store(store.Params(**params), home)


@both
def test_no_server_is_known(name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = ADDRESS[name][1]
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(StoreError, match=f"servers up {name}.*{variable}"):
        made(name, tmp_path).create("x", 4, Metric.COSINE)


@both
def test_a_server_that_is_down_is_named_by_its_address(name: str, tmp_path: Path) -> None:
    key, scheme = ADDRESS[name][0], {"pgvector": "postgresql", "redis": "redis"}[name]
    with socket.socket() as held:  # nobody listens on it, and nobody else can take it
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        store = made(name, tmp_path, **{key: f"{scheme}://127.0.0.1:{port}/0"})
        with pytest.raises(StoreError, match=f"(?i)127.0.0.1.*{port}.*refused"):
            store.create("x", 4, Metric.COSINE)
        store.close()


@both
def test_a_wrong_password_is_said_and_not_shown(
    name: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (address,) = engine(name).values()
    right = urlsplit(address).password
    monkeypatch.setenv(ADDRESS[name][1], address.replace(str(right), "wr0ng"))
    with pytest.raises(StoreError, match=r"(?i)password") as caught:
        made(name, tmp_path).create("x", 4, Metric.COSINE)
    assert "wr0ng" not in str(caught.value) and str(right) not in str(caught.value)


@both
def test_a_password_beside_an_address_given_in_the_file(
    name: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (address,), (key, _) = engine(name).values(), ADDRESS[name]
    secret = urlsplit(address).password or ""
    monkeypatch.setenv(f"BAKEOFF_{name.upper()}_PASSWORD", secret)
    store = made(name, tmp_path, **{key: address.replace(f":{secret}", "")})
    store.create("beside", 4, Metric.COSINE)
    store.close()


@both
def test_a_password_in_the_experiment_is_refused_and_not_shown(
    name: str, home: Path, laid_out: Callable
) -> None:
    plugin(name)
    key = ADDRESS[name][0]
    path = laid_out(Path.cwd())
    text = yaml.safe_load(path.read_text())
    text["stores"] = [{name: {key: "x://me:s3cret@127.0.0.1:1/0"}}]
    path.write_text(yaml.safe_dump(text))
    with pytest.raises(ExperimentError, match="contains a password") as caught:
        load_experiment(path)
    assert "s3cret" not in str(caught.value)


def test_an_address_that_cannot_be_read_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_PGVECTOR_DSN", "postgresql://me:s3cret@[::1/x")
    monkeypatch.setenv("BAKEOFF_REDIS_URL", "http://:s3cret@127.0.0.1")
    for name in ADDRESS:
        with pytest.raises(StoreError, match=r"can't be parsed|cannot be read") as caught:
            made(name, tmp_path).create("x", 4, Metric.COSINE)
        assert "s3cret" not in str(caught.value)


@both
def test_a_collection_of_another_dimension_is_refused(name: str, engine: Engine, tmp_path: Path) -> None:
    engine(name)
    store = made(name, tmp_path)
    store.create("narrow", 8, Metric.COSINE)
    store.insert(Batch(np.arange(3), vectors=np.eye(3, 8, dtype=np.float32)))
    store.ready()
    with pytest.raises(StoreError, match="8 numbers"):
        store.open("narrow", 16, Metric.COSINE)
    store.create("narrow", 8, Metric.COSINE)
    with pytest.raises(StoreError, match="dimension"):
        store.insert(Batch(np.arange(3), vectors=np.eye(3, 16, dtype=np.float32)))
        store.insert(Batch(np.arange(3, 6), vectors=np.eye(3, 8, dtype=np.float32)))
    store.close()


@pytest.mark.parametrize(("index", "dims", "words"), [("hnsw", 2001, "2,000"), ("none", 16_001, "16,000")])
def test_dimensions_over_the_limit(engine: Engine, tmp_path: Path, index: str, dims: int, words: str) -> None:
    engine("pgvector")
    store = made("pgvector", tmp_path, build={"index": index})
    with pytest.raises(StoreError, match=words):
        store.create("wide", dims, Metric.COSINE)
    store.create("wide", dims - 1, Metric.COSINE)
    store.insert(Batch(np.arange(2), vectors=np.ones((2, dims - 1), np.float32)))
    store.ready()
    store.close()


def test_a_text_too_long_for_the_engine_is_refused_in_its_words(engine: Engine, tmp_path: Path) -> None:
    engine("pgvector")
    store = made("pgvector", tmp_path)
    store.create("long", 0, Metric.COSINE)
    with pytest.raises(StoreError, match="too long for tsvector"):
        store.insert(Batch(np.arange(1), texts=[" ".join(f"word{i}" for i in range(200_000))]))
    store.insert(Batch(np.arange(1), texts=["short"]))
    store.ready()
    assert store.search_text("short", 1, plugin("pgvector").Query()).ids.tolist() == [0]
    store.close()


def test_a_payload_too_large_for_the_engine_is_refused(engine: Engine, tmp_path: Path) -> None:
    (address,) = engine("redis").values()
    redis = pytest.importorskip("redis")
    with redis.from_url(address) as client:
        before = client.config_get("proto-max-bulk-len")["proto-max-bulk-len"]
        client.config_set("proto-max-bulk-len", 1024 * 1024)
        store = made("redis", tmp_path)
        store.declare((PayloadField("body", "text"),))
        store.create("large", 4, Metric.COSINE)
        with pytest.raises(StoreError):
            store.insert(
                Batch(np.arange(1), vectors=np.ones((1, 4), np.float32), payloads=[{"body": "x" * 2_000_000}])
            )
        store.close()
        client.config_set("proto-max-bulk-len", before)


def statuses(result: Result) -> dict[str, tuple[str, str]]:
    rows = result.systems.to_pylist()
    return {row["store"]: (row["status"], row["reason"]) for row in rows}


def experiment(folder: Path, laid_out: Callable, name: str) -> Path:
    path = laid_out(folder)
    text = yaml.safe_load(path.read_text())
    text |= {"stores": [name, "exact"], "modes": ["dense"], "chunkers": ["line"]}
    path.write_text(yaml.safe_dump(text))
    return path


@both
def test_killed_in_mid_insert(
    name: str,
    engine: Engine,
    kill_engine: Callable[[str], None],
    home: Path,
    laid_out: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other system completes; when the server is up again, the same run completes the one that failed."""
    engine(name)
    monkeypatch.setattr(index_stage, "BATCH", 2)
    killed = list[bool]()

    def listen(event: object) -> None:
        mine = isinstance(event, StageAdvanced) and event.stage == "index" and event.label.startswith(name)
        if mine and event.count and not killed:
            killed.append(True)
            kill_engine(name)

    path, out = experiment(Path.cwd(), laid_out, name), Path.cwd() / "run"
    first = statuses(run(path, out=out, emit=listen))
    assert killed and first["exact"][0] == Status.DONE
    assert first[name][0] == Status.FAILED and "insert" in first[name][1]
    engine(name)
    again = statuses(run(path, out=out))
    assert {status for status, _ in again.values()} == {Status.DONE}


@both
def test_killed_in_mid_query(
    name: str,
    engine: Engine,
    kill_engine: Callable[[str], None],
    home: Path,
    laid_out: Callable,
    register: Callable,
) -> None:
    engine(name)
    asked = list[int]()

    class Doomed(plugin(name)):
        """The real store, whose server is killed at its fifteenth search."""

        def search(self, vector, k, query):
            asked.append(k)
            if len(asked) == 15:
                kill_engine(name)
            return super().search(vector, k, query)

    register("stores", "doomed", Doomed)
    path, out = experiment(Path.cwd(), laid_out, "doomed"), Path.cwd() / "run"
    first = statuses(run(path, out=out))
    assert len(asked) >= 15 and first["exact"][0] == Status.DONE
    assert first["doomed"][0] in (Status.FAILED, Status.PARTIAL) and first["doomed"][1]
    engine(name)
    again = statuses(run(path, out=out))
    assert {status for status, _ in again.values()} == {Status.DONE}


def test_a_run_with_a_dead_server_ends_with_1_and_completes_later(
    engine: Engine,
    kill_engine: Callable[[str], None],
    home: Path,
    laid_out: Callable,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As it is typed: `bakeoff run`, exit code 1 with the engine's words, then 0."""
    from bakeoff.cli import console
    from bakeoff.cli.app import app

    secret = urlsplit(engine("pgvector")["BAKEOFF_PGVECTOR_DSN"]).password or "?"
    kill_engine("pgvector")
    experiment(Path.cwd(), laid_out, "pgvector")
    words = ["run", "bakeoff.yaml", "--out", "run"]
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 1
    said = "".join(capsys.readouterr())
    assert "refused" in said and secret not in said
    engine("pgvector")
    assert console.run_guarded(lambda: app(words, standalone_mode=False)) == 0
    for path in Path.cwd().rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path
    assert os.environ["BAKEOFF_PGVECTOR_DSN"]
