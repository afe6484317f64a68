"""Rerankers behind HTTP: llama.cpp, Text Embeddings Inference, Cohere, Jina and Voyage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from bakeoff.errors import EmbedderError, RerankerError
from bakeoff.plugins.embedders._http import HttpParams
from bakeoff.runtime.json_client import OTHER_SHAPE, Address, JsonClient
from bakeoff.types import Json, JsonObject


def _results(answer: Json) -> list[tuple[int, float]]:
    return [(row["index"], row["relevance_score"]) for row in answer["results"]]


@dataclass(frozen=True, slots=True)
class _Api:
    """A kind of server: address, key variable, name of the passages, and form of its answer."""

    address: str
    path: str
    key_env: str
    passages: str
    read: Callable[[Json], list[tuple[int, float]]] = _results


_APIS = {
    "llamacpp": _Api("http://127.0.0.1:8080", "/v1/rerank", "", "documents"),
    "tei": _Api(
        "http://127.0.0.1:8080",
        "/rerank",
        "",
        "texts",
        lambda answer: [(row["index"], row["score"]) for row in answer],
    ),
    "cohere": _Api("https://api.cohere.com", "/v2/rerank", "CO_API_KEY", "documents"),
    "jina": _Api("https://api.jina.ai", "/v1/rerank", "JINA_API_KEY", "documents"),
    "voyage": _Api(
        "https://api.voyageai.com",
        "/v1/rerank",
        "VOYAGE_API_KEY",
        "documents",
        lambda answer: [(row["index"], row["relevance_score"]) for row in answer["data"]],
    ),
}


class RerankApiReranker:
    """Scores from a server's rerank endpoint; one request holds the query and its passages."""

    version: ClassVar[str] = "1"
    remote: ClassVar[bool] = True

    class Params(HttpParams):
        """Server, model and request settings."""

        api: Literal["llamacpp", "tei", "cohere", "jina", "voyage"] = Field(
            "llamacpp", description="whose protocol the server speaks"
        )
        model: str = Field("", description="the model's name; your own server needs none")
        base_url: Address | None = Field(None, description="address; default: the provider's")
        key_env: str | None = Field(
            None, description="environment variable with the key; default: the provider's"
        )

    def __init__(self, params: Params) -> None:
        self._params, self._api = params, _APIS[params.api]
        key_env = self._api.key_env if params.key_env is None else params.key_env
        self._server = JsonClient(params.base_url or self._api.address, key_env, params)

    def rerank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return one score per passage, in order."""
        scores = np.full(len(passages), np.nan)
        size = self._params.batch_size
        for begin in range(0, len(passages), size):
            part = [text[: self._params.max_characters] or " " for text in passages[begin : begin + size]]
            for index, score in self._request_scores(query, part):
                scores[begin + index] = score
        missing = int(np.isnan(scores).sum())
        if missing:
            raise RerankerError(
                f"{self._server.host} returned no score for {missing} of {len(scores)} passages."
            )
        return scores

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _request_scores(self, query: str, passages: list[str]) -> list[tuple[int, float]]:
        body: JsonObject = {"query": query, self._api.passages: passages}
        if self._params.model:
            body["model"] = self._params.model
        if self._params.api == "tei":
            body["truncate"] = True
        try:
            rows = self._api.read(self._server.post(self._api.path, body))
            found = [(int(index), float(score)) for index, score in rows]
        except EmbedderError as exc:
            raise RerankerError(str(exc)) from exc
        except OTHER_SHAPE as exc:
            raise RerankerError(
                f"{self._server.host} sent an unexpected response for {self._params.api} ({exc!r}). Choose "
                "the matching `api`."
            ) from exc
        strange = [index for index, _ in found if not 0 <= index < len(passages)]
        if strange:
            raise RerankerError(
                f"{self._server.host} returned a score for passage {strange[0]} of {len(passages)}."
            )
        return found
