"""Every registered retriever under the contract: libraries with a search of a few lines, HTTP with a real server."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bakeoff import registry
from bakeoff.protocols import Retriever
from bakeoff.testing import RetrieverContract

sys.path.insert(0, str(Path(__file__).parents[1] / "plugins" / "retrievers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "plugins" / "embedders"))
from loopback import Loopback
from toolkit import TEXTS, ranked, retrieve

FOLDER = Path(__file__).parents[1] / "plugins" / "retrievers"


@pytest.fixture(autouse=True)
def consent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_ALLOW_CODE", "toolkit")


class TestPython(RetrieverContract):
    name = "python"
    params: ClassVar[dict[str, Any]] = {"call": "toolkit:retrieve", "folder": FOLDER}


class TestLangchain(RetrieverContract):
    name = "langchain"
    params: ClassVar[dict[str, Any]] = {"object": "toolkit:langchain", "folder": FOLDER}


class TestLlamaindex(RetrieverContract):
    name = "llamaindex"
    params: ClassVar[dict[str, Any]] = {"object": "toolkit:llamaindex", "folder": FOLDER}


class TestHaystack(RetrieverContract):
    name = "haystack"
    params: ClassVar[dict[str, Any]] = {"object": "toolkit:haystack", "folder": FOLDER}


class TestHaystackPipeline(RetrieverContract):
    name = "haystack"
    params: ClassVar[dict[str, Any]] = {
        "object": "toolkit:haystack_pipeline",
        "inputs": {"words": {"query": "{query}", "top_k": "{k}"}},
        "folder": FOLDER,
    }


class TestMteb(RetrieverContract):
    name = "mteb"
    params: ClassVar[dict[str, Any]] = {"object": "toolkit:MtebWords", "folder": FOLDER}


class TestPyterrier(RetrieverContract):
    name = "pyterrier"
    params: ClassVar[dict[str, Any]] = {"object": "toolkit:PandasTransformer", "folder": FOLDER}


class TestHttp(RetrieverContract):
    name = "http"

    @pytest.fixture
    def retriever(self) -> Iterator[Retriever]:
        with Loopback(
            lambda request: (200, {"found": retrieve(request.body["q"], request.body["n"])})
        ) as server:
            plugin = self.plugin()
            paths = {"hits": "found", "id": "id", "text": "text", "score": "score"}
            made = plugin(plugin.Params(url=server.url, body={"q": "{query}", "n": "{k}"}, **paths))
            yield made
            made.close()


class TestRun(RetrieverContract):
    name = "run"
    question = "q1"

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Iterator[Retriever]:
        lines = [f"q1 Q0 {name} {rank} {score} x" for rank, (name, score) in enumerate(ranked("cat", 9), 1)]
        (tmp_path / "prod.trec").write_text("\n".join(lines), encoding="utf-8")
        plugin = self.plugin()
        yield plugin(plugin.Params(file=tmp_path / "prod.trec"))


def test_every_retriever_is_under_the_contract() -> None:
    tested = {one.name for one in RetrieverContract.__subclasses__() if one.__module__ == __name__}
    assert tested == set(registry.names("retrievers")) and len(TEXTS) == 3
