"""Every registered store under the contract, with its real engine; a gap is a skip with its reason."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff import registry
from bakeoff.servers.table import needing_a_server
from bakeoff.testing import StoreContract

for name in sorted({*registry.names("stores")} - needing_a_server()):  # those: test_server_stores.py
    globals()[f"Test_{name}"] = type(f"Test_{name}", (StoreContract,), {"name": name})


class TestFaissFlat(StoreContract):
    name = "faiss"
    params = {"build": {"index": "flat"}}
    recall = 1.0


class TestFaissIvf(StoreContract):
    name = "faiss"
    params = {"build": {"index": "ivf", "lists": 4}}


class TestFaissPq(StoreContract):
    name = "faiss"
    params = {"build": {"index": "pq", "lists": 2, "sub_vectors": 8}}
    recall = 0.6  # 8 bytes for 16 numbers
    score_error = 1.0  # distances to the codes, not to the vectors


class TestLancedbNone(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "none"}}
    recall = 1.0


class TestLancedbIvfFlat(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "ivf_flat", "partitions": 4}}


class TestLancedbIvfPq(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "ivf_pq", "partitions": 2, "sub_vectors": 8}}
    recall = 0.6  # 8 bytes for 16 numbers
    score_error = 1.0  # distances to the codes, not to the vectors


class TestLancedbHnswSq(StoreContract):
    name = "lancedb"
    params = {"build": {"index": "ivf_hnsw_sq"}}
    score_error = 0.1  # distances to bytes


class TestUsearchHalf(StoreContract):
    name = "usearch"
    params = {"build": {"precision": "f16"}}
    score_error = 0.01


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Chroma server of our own on a free port of this machine."""
    command = shutil.which("chroma", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("no chroma command: pip install 'bakeoff[chroma]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = tmp_path_factory.mktemp("chroma-server")
    arguments = [command, "run", "--path", str(data), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        _wait_for(port, server)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def _wait_for(port: int, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the Chroma server does not answer")


class TestChromaServer(StoreContract):
    name = "chroma"

    @pytest.fixture(autouse=True)
    def _at(self, chroma_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "params", {"url": chroma_server})


class ServerByUrl(StoreContract):
    """A server that is started by hand: its address is given to the tests in the environment."""

    setting: str
    variable: str

    @pytest.fixture(autouse=True)
    def _at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        address = os.environ.get(self.variable)
        if not address:
            pytest.skip(f"no {self.name} server: set {self.variable} to the address of one")
        monkeypatch.setattr(type(self), "params", {self.setting: address})


class TestMilvusServer(ServerByUrl):
    name, setting, variable = "milvus", "uri", "BAKEOFF_TEST_MILVUS_URI"
    gaps = {"long payloads": "a server's text field holds 65,535 bytes"}


class TestQdrantServer(ServerByUrl):
    name, setting, variable = "qdrant", "url", "BAKEOFF_TEST_QDRANT_URL"
