"""Each kind of server in its published request and answer shapes, over a real socket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from loopback import Answer, Loopback, Request, openai, vector

from bakeoff.cli.models import rows_of_ollama
from bakeoff.errors import EmbedderError, ModelNotFoundError, SettingError
from bakeoff.plugins.embedders.cohere import CohereEmbedder
from bakeoff.plugins.embedders.ollama import OllamaEmbedder
from bakeoff.plugins.embedders.openai import OpenAIEmbedder
from bakeoff.plugins.embedders.tei import TEIEmbedder
from bakeoff.types import Role


def ollama(*names: str) -> Callable[[Request], Answer]:
    """A server that has these models."""

    def answer(request: Request) -> Answer:
        if request.path == "/api/tags":
            return 200, {
                "models": [
                    {"name": name, "model": name, "digest": f"digest of {name}", "size": 1} for name in names
                ]
            }
        if request.path == "/api/show":
            details = {"format": "gguf", "family": "bert", "quantization_level": "F16"}
            return 200, {
                "details": details,
                "model_info": {"bert.context_length": 512, "bert.embedding_length": 16},
            }
        if request.body["model"] not in names:
            return 404, {"error": f'model "{request.body["model"]}" not found, try pulling it first'}
        vectors = [vector(text) for text in request.body["input"]]
        return 200, {
            "model": request.body["model"],
            "embeddings": vectors,
            "total_duration": 1,
            "prompt_eval_count": 8,
        }

    return answer


def tei(request: Request) -> Answer:
    if request.path == "/info":
        return 200, {
            "model_id": "BAAI/bge-small-en-v1.5",
            "model_sha": "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
            "model_dtype": "float32",
            "model_type": {"embedding": {"pooling": "cls"}},
            "max_input_length": 512,
            "version": "1.8.0",
        }
    return 200, [vector(text) for text in request.body["inputs"]]


def cohere(request: Request) -> Answer:
    vectors = [vector(text, request.body.get("output_dimension", 16)) for text in request.body["texts"]]
    return 200, {"id": "1", "embeddings": {"float": vectors}, "texts": request.body["texts"], "meta": {}}


def made(kind: type, server: Loopback, **params: object):
    where = "base_url" if "base_url" in kind.Params.model_fields else "url"
    return kind(kind.Params.model_validate({where: server.url, **params}))


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("nomic-embed-text", "nomic-embed-text:latest"),
        ("all-minilm-l6-v2", "all-minilm:l6-v2"),
        ("bge-small-en-v1.5", "qllama/bge-small-en-v1.5:latest"),
        ("mxbai-embed-large", "mxbai-embed-large:latest"),
    ],
)
def test_ollama_models_are_found_under_the_names_they_are_pulled_as(asked, there):
    with Loopback(ollama("other:latest", there)) as server:
        embedder = made(OllamaEmbedder, server, model=asked)
        info = embedder.info
        embedder.embed(["one", "two"], Role.DOCUMENT)
        assert server.posts("/api/embed")[-1].body["model"] == there
    assert (info.name, info.dims, info.max_tokens) == (asked, 16, 512)
    assert info.weights == f"remote:{asked}@digest of {there}"
    assert info.revision == f"{there} F16"


def test_ollama_uses_the_prompts_the_model_was_trained_with():
    with Loopback(ollama("nomic-embed-text:latest")) as server:
        embedder = made(OllamaEmbedder, server)
        embedder.embed(["x"], Role.QUERY)
        embedder.embed(["x"], Role.DOCUMENT)
        made(OllamaEmbedder, server, query_prompt="").embed(["x"], Role.QUERY)
        sent = [request.body["input"][0] for request in server.posts("/api/embed")]
    assert [sent[1], sent[2], sent[4]] == ["search_query: x", "search_document: x", "x"]
    assert embedder.info.query_prompt == "search_query: "


def test_a_model_that_ollama_lacks_is_named_with_the_command():
    with (
        Loopback(ollama("llama3:latest")) as server,
        pytest.raises(ModelNotFoundError, match=r"llama3:latest.*all-minilm:l6-v2"),
    ):
        made(OllamaEmbedder, server, model="all-minilm-l6-v2").embed(["x"], Role.QUERY)


def test_ollama_is_looked_for_on_this_machine():
    assert OllamaEmbedder.Params().url == "http://127.0.0.1:11434"


def test_tei_says_what_it_serves():
    with Loopback(tei) as server:
        embedder = made(TEIEmbedder, server, query_prompt="query: ")
        rows = embedder.embed(["x"], Role.QUERY)
        assert server.posts("/embed")[-1].body == {
            "inputs": ["query: x"],
            "normalize": True,
            "truncate": True,
        }
    info = embedder.info
    assert np.allclose(rows, [vector("query: x")], atol=1e-6)
    assert (info.name, info.max_tokens, info.pooling) == ("BAAI/bge-small-en-v1.5", 512, "cls")
    assert info.weights == "remote:BAAI/bge-small-en-v1.5@5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"


def test_tei_with_another_model_than_expected_is_refused():
    with (
        Loopback(tei) as server,
        pytest.raises(ModelNotFoundError, match=r"serves 'BAAI/bge-small-en-v1.5', not 'other'"),
    ):
        _ = made(TEIEmbedder, server, model="other").info


def test_cohere_is_told_the_role(monkeypatch):
    monkeypatch.setenv("CO_API_KEY", "k")
    with Loopback(cohere) as server:
        embedder = made(CohereEmbedder, server, dims=8)
        assert embedder.embed(["x"], Role.QUERY).shape == (1, 8)
        embedder.embed(["x"], Role.DOCUMENT)
        sent = [request.body for request in server.posts("/v2/embed")]
        assert server.requests[0].headers["Authorization"] == "Bearer k"
    assert [body["input_type"] for body in sent] == ["search_document", "search_query", "search_document"]
    assert sent[1] == {
        "model": "embed-v4.0",
        "texts": ["x"],
        "input_type": "search_query",
        "output_dimension": 8,
        "embedding_types": ["float"],
        "truncate": "END",
    }


def test_voyage_is_told_the_role_in_its_own_words():
    with Loopback(openai) as server:
        embedder = made(CohereEmbedder, server, api="voyage", model="voyage-3.5")
        embedder.embed(["x"], Role.QUERY)
        sent = server.posts("/v1/embeddings")[-1].body
    assert sent == {"model": "voyage-3.5", "input": ["x"], "input_type": "query", "truncation": True}


def test_openai_is_asked_for_the_length_and_given_prompts():
    with Loopback(openai) as server:
        given = OpenAIEmbedder.Params(base_url=f"{server.url}/v1", dims=4, query_prompt="q: ")
        assert OpenAIEmbedder(given).embed(["x"], Role.QUERY).shape == (1, 4)
        sent = server.posts("/v1/embeddings")[-1].body
    assert sent == {
        "model": "text-embedding-3-small",
        "input": ["q: x"],
        "encoding_format": "float",
        "dimensions": 4,
    }


@pytest.mark.parametrize("kind", [OllamaEmbedder, TEIEmbedder, CohereEmbedder])
def test_another_servers_answer_is_no_vector(kind):
    with (
        Loopback(lambda request: (200, {"models": [{"name": "nomic-embed-text"}], "x": 1})) as server,
        pytest.raises(EmbedderError),
    ):
        made(kind, server).embed(["x"], Role.QUERY)


@pytest.mark.parametrize("kind", [OpenAIEmbedder, OllamaEmbedder, TEIEmbedder, CohereEmbedder])
def test_every_parameter_is_described(kind):
    assert all(field.description for field in kind.Params.model_fields.values())


def test_the_models_an_ollama_server_has_are_listed() -> None:
    """GET /api/tags in the shape Ollama publishes."""
    tags = {
        "models": [
            {
                "name": "nomic-embed-text:latest",
                "modified_at": "2026-11-04T14:56:49.277302595-07:00",
                "size": 274302450,
                "digest": "sha256:0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f",
                "details": {"family": "nomic-bert", "parameter_size": "137M", "quantization_level": "F16"},
            },
            {"name": "all-minilm:l6-v2"},
        ]
    }
    with Loopback(lambda _: (200, tags)) as server:
        rows = rows_of_ollama(server.url)
        assert [(one.method, one.path) for one in server.requests] == [("GET", "/api/tags")]
    assert [row["name"] for row in rows] == ["nomic-embed-text:latest", "all-minilm:l6-v2"]
    assert (rows[0]["size"], rows[0]["parameters"], rows[0]["modified"]) == (274302450, "137M", "2026-11-04")
    assert rows[1]["size"] is None


def test_a_list_of_no_ollama_server_is_refused() -> None:
    with Loopback(lambda _: (200, {"models": [{"size": 1}]})) as server, pytest.raises(EmbedderError):
        rows_of_ollama(server.url)
    with pytest.raises(SettingError):
        rows_of_ollama("nowhere")
