"""A Ray cluster of two nodes on this machine: whatever is lost on the way, the results are those of one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

ray = pytest.importorskip("ray", reason="needs bakeoff[ray]")
pytestmark = [pytest.mark.slow, pytest.mark.scale]

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
TABLES = ("scores", "rankings", "queries", "passages", "losses")
CODE = '''\
import os, sys, time
from pathlib import Path

from bakeoff import registry
from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders.wordllama import WordLlamaEmbedder
from bakeoff.runs.run import run
from bakeoff.types import Role


class Unhurried(WordLlamaEmbedder):
    """WordLlama that takes its time over chunks and notes who works."""

    def embed(self, texts, role):
        if role is Role.DOCUMENT:
            (Path(os.environ["NOTES"]) / f"worker-{os.getpid()}").touch()
            time.sleep(0.3)
        return super().embed(texts, role)


class Refusing(WordLlamaEmbedder):
    """WordLlama that refuses one chunk, always."""

    def embed(self, texts, role):
        if any("deprecated" in text for text in texts) and role is Role.DOCUMENT:
            with (Path(os.environ["NOTES"]) / "refused").open("a") as file:
                file.write("x")
            raise EmbedderError("this text is too strange.")
        return super().embed(texts, role)


def drive(folder, executor):
    registry.add("embedders", "unhurried", Unhurried)
    registry.add("embedders", "refusing", Refusing)
    run(folder, out=folder / "run", home=folder / "home", executor=executor or None)
'''
QUERIES = """\
queries:
  - {id: parse, text: decode a JSON document, truth: {documents: [json/decoder.py]}}
  - {id: cookie, text: parse the cookie header, truth: {documents: [http/cookies.py]}}
  - {id: server, text: answer requests over HTTP, truth: {documents: [http/server.py]}}
"""
EXPERIMENT = """\
corpus: {{folder: corpus, include: ["**/*.py"]}}
queries: queries.yaml
chunkers: [{{line: {{doc_lines: 4, code_lines: 4}}}}]
embedders: [{embedders}]
stores: [exact]
modes: [dense]
"""


class Cluster:
    """A head and a node with one core each; drivers are processes of their own."""

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster as Nodes

        self.notes, code = folder / "notes", folder / "code"
        self.notes.mkdir()
        code.mkdir()
        (code / "unhurried.py").write_text(CODE)
        os.environ |= {"NOTES": str(self.notes), "PYTHONPATH": str(code), "RAY_USAGE_STATS_ENABLED": "0"}
        self._node = {"num_cpus": 1, "object_store_memory": 100_000_000, "include_dashboard": False}
        self._nodes = Nodes(initialize_head=True, head_node_args=self._node)
        self.address: str = self._nodes.address

    def add(self) -> Any:
        node = self._nodes.add_node(**self._node)
        self._nodes.wait_for_nodes()
        return node

    def remove(self, node: Any) -> None:
        self._nodes.remove_node(node, allow_graceful=False)

    def stop(self) -> None:
        self._nodes.shutdown()

    def drive(self, folder: Path, *, here: bool = False) -> subprocess.Popen[bytes]:
        executor = "" if here else f"{{ray: {{address: '{self.address}'}}}}"
        code = "import sys, unhurried, pathlib; unhurried.drive(pathlib.Path(sys.argv[1]), sys.argv[2])"
        return subprocess.Popen([sys.executable, "-c", code, str(folder), executor], env=dict(os.environ))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    before = dict(os.environ)
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield made
    finally:
        made.stop()
        os.environ.clear()
        os.environ |= before


def lay_out(folder: Path, embedders: str = "unhurried") -> Path:
    """Some packages of this Python as a corpus."""
    for name in ("json", "http", "asyncio"):
        package = Path(sysconfig.get_path("stdlib")) / name
        for path in sorted(package.glob("*.py")):
            target = folder / "corpus" / name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    (folder / "queries.yaml").write_text(QUERIES)
    (folder / "bakeoff.yaml").write_text(EXPERIMENT.format(embedders=embedders))
    return folder


@pytest.fixture(scope="module")
def quiet(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same experiment in one process."""
    folder = lay_out(tmp_path_factory.mktemp("quiet"))
    assert cluster.drive(folder, here=True).wait(300) == 0
    return folder


def results(folder: Path) -> dict[str, bytes]:
    """The tables, and every vector."""
    tables = {name: (folder / "run" / f"{name}.parquet").read_bytes() for name in TABLES}
    vectors = {path.name: path.read_bytes() for path in (folder / "home/cache/vectors").rglob("vectors.npy")}
    assert vectors
    return tables | vectors


def segments(folder: Path) -> set[Path]:
    return {path.parent for path in (folder / "home/cache/embed").glob("??/*/manifest.json")}


def until(said: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not said():
        assert process.poll() is None, "the run ended before it could be disturbed"
        time.sleep(0.02)


def workers(cluster: Cluster) -> list[int]:
    return [int(path.name.split("-")[1]) for path in cluster.notes.glob("worker-*")]


def test_a_worker_killed_in_mid_embedding(cluster: Cluster, quiet: Path, tmp_path: Path) -> None:
    node = cluster.add()
    for path in cluster.notes.glob("worker-*"):
        path.unlink()
    run = cluster.drive(lay_out(tmp_path))
    until(lambda: len(segments(tmp_path)) >= 2 and len(workers(cluster)) == 2, run)
    os.kill(workers(cluster)[0], signal.SIGKILL)
    assert run.wait(300) == 0
    assert len(workers(cluster)) > 2, "the killed worker was replaced by none"
    assert results(tmp_path) == results(quiet)
    cluster.remove(node)


def test_a_node_that_leaves(cluster: Cluster, quiet: Path, tmp_path: Path) -> None:
    node = cluster.add()
    run = cluster.drive(lay_out(tmp_path))
    until(lambda: len(segments(tmp_path)) >= 2, run)
    cluster.remove(node)
    assert run.wait(300) == 0
    assert results(tmp_path) == results(quiet)


def test_a_shared_cache_and_a_home_for_each_machine(
    cluster: Cluster, quiet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec", reason="needs bakeoff[s3]")
    node, shared = cluster.add(), tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("BAKEOFF_CACHE", shared.as_uri())
    assert cluster.drive(lay_out(tmp_path)).wait(300) == 0
    assert results(tmp_path) == results(quiet)
    put = {path.name for path in (shared / "embed").glob("??/*")}
    assert put and put == {folder.name for folder in segments(tmp_path)}
    cluster.remove(node)


def test_a_driver_killed_and_started_again(cluster: Cluster, quiet: Path, tmp_path: Path) -> None:
    run = cluster.drive(lay_out(tmp_path))
    until(lambda: len(segments(tmp_path)) >= 3, run)
    run.send_signal(signal.SIGKILL)
    run.wait()
    kept = {folder: (folder / "manifest.json").stat().st_mtime_ns for folder in segments(tmp_path)}
    assert cluster.drive(tmp_path).wait(300) == 0
    assert {folder: (folder / "manifest.json").stat().st_mtime_ns for folder in kept} == kept
    assert results(tmp_path) == results(quiet)


def test_a_shard_that_always_fails(cluster: Cluster, tmp_path: Path) -> None:
    assert cluster.drive(lay_out(tmp_path, "refusing, {wordllama: {dims: 64}}")).wait(300) == 0
    systems = pq.read_table(tmp_path / "run" / "systems.parquet").to_pylist()
    by_name = {system["system"].split(" · ")[1]: system for system in systems}
    assert by_name["wordllama(dims=64)"]["status"] == "done"
    assert by_name["refusing"]["status"] == "failed"
    assert (
        "embed refusing" in by_name["refusing"]["reason"]
        and "failed 3 times" in by_name["refusing"]["reason"]
    )
    assert "this text is too strange." in by_name["refusing"]["reason"]
    assert len((cluster.notes / "refused").read_text()) >= 3


def test_the_demo_is_the_same_row_by_row(tmp_path: Path) -> None:
    models = Path.home() / ".cache" / "bakeoff" / "models"
    tables = []
    for name, options in (("here", []), ("ray", ["--executor", "{ray: {workers: 2}}"])):
        home = tmp_path / name / "home"
        home.mkdir(parents=True)
        if models.is_dir():
            (home / "models").symlink_to(models)
        command = [BAKEOFF, "--home", home, "demo", "lineage", "--out", tmp_path / name / "run", *options]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        assert ended.returncode in (0, 0 if models.is_dir() else 1), ended.stderr
        files = (tmp_path / name / "run" / f"{table}.parquet" for table in TABLES)
        tables.append([pq.read_table(file).to_pylist() for file in files])
    assert all(tables[0]) and tables[0] == tables[1]


BLOCKS = """\
import sys
from pathlib import Path

import numpy as np

from bakeoff import registry
from bakeoff.runtime.scheduler import worker_pool
from bakeoff.storage.cache import Cache
from bakeoff.benchmark.vectors.datasets import open_dataset
from bakeoff.benchmark.vectors import neighbours
from bakeoff.pipeline.scoring import score_queries
from bakeoff.runs import measure_loop
from bakeoff.runs.run import run
from bakeoff.stats import arrays
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.compare import CompareSettings, compare_systems
from bakeoff.stats.comparison import ScoreMatrix

address, folder = sys.argv[1], Path(sys.argv[2])
neighbours.BLOCK_BYTES, neighbours.WORTH, arrays.PARALLEL_FROM = 2048 * 8 * 4, 0, 0
plugin = registry.load("executors", "ray")
workers = worker_pool(plugin(plugin.Params(address=address)))

dataset = open_dataset("synthetic:9000x8", queries=40)
found, alone = neighbours.truth_of(dataset, 100, Cache(folder / "truth"), workers), neighbours.exact_neighbours(
    dataset.base, dataset.queries, dataset.metric, 100
)
assert found.ids.tobytes() == alone.ids.tobytes() and found.distances.tobytes() == alone.distances.tobytes()
assert list((folder / "truth" / "neighbours-blocks").iterdir())

values = np.random.default_rng(8).random((36, 40)).round(2)
names = [tuple(f"{kind}{i}" for i in range(count)) for kind, count in (("s", 36), ("q", 40))]
matrix = ScoreMatrix(*names, values, measure="nDCG@10(document)")
settings = CompareSettings(BootstrapSettings(3, 500), alpha=0.25)
assert compare_systems(matrix, settings, workers) == compare_systems(matrix, settings)

measure_loop.WORTH_ROWS, score_queries.BLOCK_QUERIES = 0, 1
run(folder, out=folder / "run", home=folder / "home", executor=f"{{ray: {{address: '{address}'}}}}")
"""


def test_truth_scores_and_statistics_by_blocks(cluster: Cluster, quiet: Path, tmp_path: Path) -> None:
    lay_out(tmp_path)
    named = "import unhurried\nfrom bakeoff import registry\n"
    code = f"{named}registry.add('embedders', 'unhurried', unhurried.Unhurried)\n{BLOCKS}"
    node = cluster.add()
    ended = subprocess.run(
        [sys.executable, "-c", code, cluster.address, str(tmp_path)],
        env=dict(os.environ),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    cluster.remove(node)
    assert ended.returncode == 0, ended.stderr
    assert results(tmp_path) == results(quiet)
