"""Hosted models that embed queries and documents differently: Cohere and Voyage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from bakeoff.plugins.embedders._http import HttpEmbedder, HttpParams, ServerMessage
from bakeoff.runtime.json_client import Address
from bakeoff.types import Json, JsonObject, Role


@dataclass(frozen=True, slots=True)
class _Api:
    """A provider's address, key variable, and names for the two roles."""

    address: str
    key_env: str
    query: str
    document: str


_APIS = {
    "cohere": _Api("https://api.cohere.com", "CO_API_KEY", "search_query", "search_document"),
    "voyage": _Api("https://api.voyageai.com", "VOYAGE_API_KEY", "query", "document"),
}


class CohereEmbedder(HttpEmbedder):
    """Vectors from Cohere's `/v2/embed` or Voyage's `/v1/embeddings`, requested with the role of each text."""

    class Params(HttpParams):
        """Provider, model and request settings."""

        api: Literal["cohere", "voyage"] = Field("cohere", description="whose protocol the server speaks")
        model: str = Field("embed-v4.0", description="the model's name")
        base_url: Address | None = Field(None, description="address; default: the provider's")
        key_env: str | None = Field(
            None, description="environment variable with the key; default: CO_API_KEY or VOYAGE_API_KEY"
        )
        dims: int | None = Field(None, ge=1, description="requested vector length; default: the model's own")
        max_tokens: int | None = Field(None, ge=1, description="token limit of the model, if known")
        batch_size: int = Field(96, ge=1, le=1000, description="most texts per request; Cohere allows 96")

    def __init__(self, params: Params) -> None:
        self._api = _APIS[params.api]
        key_env = self._api.key_env if params.key_env is None else params.key_env
        super().__init__(params, params.base_url or self._api.address, key_env)

    def _ask(self, texts: list[str], role: Role) -> Json:
        body: JsonObject = {"model": self._model}
        body["input_type"] = self._api.query if role is Role.QUERY else self._api.document
        if self._params.dims is not None:
            body["output_dimension"] = self._params.dims
        if self._params.api == "voyage":
            answer = self._server.post("/v1/embeddings", {**body, "input": texts, "truncation": True})
            return self._in_order(answer["data"], len(texts))
        body |= {"texts": texts, "embedding_types": ["float"], "truncate": "END"}
        return self._server.post("/v2/embed", body)["embeddings"]["float"]

    def _describe_model(self) -> ServerMessage:
        return ServerMessage(
            revision=f"{self._model} at {self._server.host}", max_tokens=self._params.max_tokens
        )
