"""Rerank servers in their published shapes, answered by a server on this machine; no hosted service is asked."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "embedders"))
from loopback import Answer, Loopback, Request

from bakeoff.errors import RerankerError
from bakeoff.plugins.rerankers.rerank_api import RerankApiReranker

PATHS = {
    "llamacpp": "/v1/rerank",
    "tei": "/rerank",
    "cohere": "/v2/rerank",
    "jina": "/v1/rerank",
    "voyage": "/v1/rerank",
}
PASSAGES = ["one", "three of them", "two words"]


def score(text: str) -> float:
    return float(len(text.split()))


def published(api: str) -> Any:
    """A reply as each documents it, best first."""

    def answer(request: Request) -> Answer:
        texts = request.body["texts" if api == "tei" else "documents"]
        ranked = sorted(enumerate(texts), key=lambda pair: -score(pair[1]))
        if api == "tei":
            return 200, [{"index": i, "score": score(text)} for i, text in ranked]
        rows = [{"index": i, "relevance_score": score(text)} for i, text in ranked]
        return 200, {"object": "list", "data" if api == "voyage" else "results": rows, "model": "m"}

    return answer


def made(url: str, **params: Any) -> RerankApiReranker:
    return RerankApiReranker(RerankApiReranker.Params(base_url=url, retries=0, **params))


@pytest.mark.parametrize("api", PATHS)
def test_scores_in_the_order_of_the_passages(api: str) -> None:
    with Loopback(published(api)) as server:
        reranker = made(server.url, api=api, model="m")
        assert reranker.rerank("a query", PASSAGES).tolist() == [1.0, 3.0, 2.0]
        reranker.close()
        (request,) = server.posts(PATHS[api])
    assert request.body["query"] == "a query" and request.body["model"] == "m"


def test_many_passages_in_batches() -> None:
    with Loopback(published("llamacpp")) as server:
        reranker = made(server.url, batch_size=2)
        assert reranker.rerank("q", ["a", "b b", "c c c", "d"]).tolist() == [1.0, 2.0, 3.0, 1.0]
        assert len(server.requests) == 2


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_API_KEY", "a-planted-key")
    with Loopback(lambda _: (401, "a-planted-key is no key")) as server:
        with pytest.raises(RerankerError) as caught:
            made(server.url, api="cohere").rerank("q", PASSAGES)
        assert server.requests[0].headers["Authorization"] == "Bearer a-planted-key"
    assert "a-planted-key" not in str(caught.value) and "401" in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"results": []}, "no score for 3"),
        ({"results": [{"index": 9, "relevance_score": 1}]}, "passage 9 of 3"),
        ({"scores": [1, 2, 3]}, "KeyError"),
        ("not json", "did not answer with JSON"),
    ],
)
def test_wrong_answers(reply: Any, words: str) -> None:
    with Loopback(lambda _: (200, reply)) as server, pytest.raises(RerankerError, match=words):
        made(server.url).rerank("q", PASSAGES)


def test_no_server() -> None:
    with Loopback(published("llamacpp")) as server:
        url = server.url
    with pytest.raises(RerankerError):
        made(url).rerank("q", PASSAGES)
