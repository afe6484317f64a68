"""Damaged model files and strange answers that once made a plug-in fall over."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.errors import DataError, EmbedderError, ModelNotFoundError, RerankerError, StoreError
from bakeoff.types import Metric, Role

NO_UNKNOWN = {
    "version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"},
    "pre_tokenizer": {"type": "Whitespace"},
}  # fmt: skip
STATIC = ("model.safetensors", "tokenizer.json", "config.json")


@pytest.fixture
def said() -> dict[str, bytes]:
    """What the server answers at each path."""
    return {}


@pytest.fixture
def address(said: dict[str, bytes]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(said[self.path])

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            """Requests are no news."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_vocabulary_without_its_own_unknown_token(tmp_path: Path) -> None:
    from bakeoff.plugins._tokenizers import own

    (tmp_path / "tokenizer.json").write_text(json.dumps(NO_UNKNOWN))
    with pytest.raises(DataError, match=r"\[UNK\]"):
        own(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("content", ["{", json.dumps(NO_UNKNOWN), '{"model": 3}'])
def test_a_cross_encoder_with_a_damaged_tokenizer(content: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    plugin = registry.load("rerankers", "cross_encoder")
    (tmp_path / "model.onnx").touch()
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        plugin(plugin.Params(folder=tmp_path)).rerank("a", ["b"])


@pytest.mark.parametrize("content", [b"", b"{", b"\xff" * 64])
def test_a_static_model_that_is_none(content: bytes, tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    plugin = registry.load("embedders", "model2vec")
    for name in STATIC:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelNotFoundError, match="Model2Vec"):
        plugin(plugin.Params(folder=tmp_path)).embed(["a"], Role.QUERY)


def test_a_static_model_with_more_tokens_than_vectors(tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    import numpy as np
    from safetensors.numpy import save_file

    plugin = registry.load("embedders", "model2vec")
    vocabulary = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1, "b": 9}, "unk_token": "[UNK]"}
    (tmp_path / "tokenizer.json").write_text(json.dumps({**NO_UNKNOWN, "model": vocabulary}))
    (tmp_path / "config.json").write_text("{}")
    save_file({"embeddings": np.ones((3, 4), np.float32)}, tmp_path / "model.safetensors")
    made = plugin(plugin.Params(folder=tmp_path))
    assert made.embed(["a"], Role.QUERY).shape == (1, 4)
    with pytest.raises(EmbedderError):
        made.embed(["b"], Role.QUERY)


@pytest.mark.parametrize(
    "tokenizer", ["{", "[]", '{"model": {"vocab": [1]}}', '{"model": {"vocab": {}}, "added_tokens": [3]}']
)
def test_a_vocabulary_to_convert_that_is_none(tokenizer: str, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    from bakeoff.plugins.embedders.gguf_convert import save_gguf

    sizes = {
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "hidden_size": 8,
        "max_position_embeddings": 16,
    }
    (tmp_path / "config.json").write_text(
        json.dumps({**sizes, "layer_norm_eps": 1e-12, "intermediate_size": 16})
    )
    (tmp_path / "tokenizer.json").write_text(tokenizer)
    with pytest.raises(ModelNotFoundError, match="BERT"):
        save_gguf(tmp_path, tmp_path / "made.gguf", "none")


@pytest.mark.parametrize(
    "info", [b"[]", b'"x"', b'{"model_type": 3}', b'{"max_input_length": "many"}', b"[" * 5000]
)
def test_a_server_that_tells_strange_things_of_its_model(
    info: bytes, said: dict[str, bytes], address: str
) -> None:
    plugin = registry.load("embedders", "tei")
    said.update({"/embed": b"[[0.6, 0.8]]", "/info": info})
    made = plugin(plugin.Params(url=address, retries=0))
    if info == b"[]":  # says nothing, as a server without that page
        assert made.info.max_tokens is None
    else:
        with pytest.raises(EmbedderError, match=address.removeprefix("http://")):
            made.embed(["a"], Role.QUERY)
    made.close()


@pytest.mark.parametrize("answer", [b"[" * 5000, b'{"results": [{"index": 1e999, "relevance_score": 1}]}'])
def test_scores_of_strange_passages(answer: bytes, said: dict[str, bytes], address: str) -> None:
    plugin = registry.load("rerankers", "rerank_api")
    said["/v2/rerank"] = answer
    made = plugin(plugin.Params(base_url=address, api="cohere", retries=0, key_env=""))
    with pytest.raises(RerankerError, match=address.removeprefix("http://")):
        made.rerank("a", ["b"])
    made.close()


@pytest.mark.parametrize(
    "answer", [b"<html>a proxy", b"[" * 5000, b'{"root": []}', b'{"root": {"fields": 1}}']
)
def test_a_database_with_a_strange_answer(
    answer: bytes, said: dict[str, bytes], address: str, tmp_path: Path
) -> None:
    from bakeoff.plugins.stores.vespa import VespaParams, VespaStore

    said["/search/"] = answer
    store = VespaStore(VespaParams(url=address), tmp_path)
    with pytest.raises(StoreError):
        store.open("rows", 0, Metric.COSINE)
    store.close()


def _graph(**names: str) -> bytes:
    """The smallest ONNX graph of an embedder, with some of its names changed to bytes of no encoding."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    table = numpy_helper.from_array(np.ones((6, 4), np.float32), "table")
    node = helper.make_node("Gather", ["table", "input_ids"], ["vectors"])
    given = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])
    made = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", "tokens", 4])
    held = helper.make_graph([node], "small", [given], [made], [table])
    model = helper.make_model(held, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content = bytes(model.SerializeToString())
    for name in names.values():
        content = content.replace(name.encode(), b"\xff" * len(name))
    return content


@pytest.mark.parametrize(
    "names", [{"output": "vectors"}, {"input": "input_ids"}, {"side": "tokens"}, {"all": "table"}]
)
def test_a_graph_whose_names_are_no_texts(names: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    plugin = registry.load("embedders", "onnx")
    vocabulary = {
        **NO_UNKNOWN,
        "model": {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(vocabulary))
    (tmp_path / "model.onnx").write_bytes(_graph())
    made = plugin(plugin.Params(folder=tmp_path, pooling="mean", threads=1))
    assert made.embed(["a"], Role.QUERY).shape == (1, 4)
    made.close()
    (tmp_path / "model.onnx").write_bytes(_graph(**names))
    made = plugin(plugin.Params(folder=tmp_path, pooling="mean", threads=1))
    if names == {"all": "table"}:  # nobody looks at it
        assert made.embed(["a"], Role.QUERY).shape == (1, 4)
    else:
        with pytest.raises(EmbedderError, match=r"model\.onnx"):
            made.embed(["a"], Role.QUERY)
    made.close()
