"""OpenAI's embeddings, and any server with its protocol (vLLM, llama.cpp, LM Studio, LocalAI)."""

from __future__ import annotations

from pydantic import Field

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders._http import HttpEmbedder, HttpParams, ServerMessage
from bakeoff.runtime.json_client import Address
from bakeoff.types import Json, JsonObject, Role


class OpenAIEmbedder(HttpEmbedder):
    """Vectors from `POST {base_url}/embeddings`."""

    class Params(HttpParams):
        """Server, model and request settings."""

        model: str = Field("text-embedding-3-small", description="the model's name on the server")
        base_url: Address = Field("https://api.openai.com/v1", description="address up to /v1")
        key_env: str = Field("OPENAI_API_KEY", description="environment variable that holds the key")
        dims: int | None = Field(None, ge=1, description="requested vector length; default: the model's own")
        max_tokens: int | None = Field(None, ge=1, description="token limit of the model, if known")
        query_prompt: str = Field("", description="prefix of each query")
        document_prompt: str = Field("", description="prefix of each chunk")
        batch_size: int = Field(128, ge=1, le=2048, description="most texts in one request")

    def __init__(self, params: Params) -> None:
        super().__init__(params, params.base_url, params.key_env)
        self._served = ""

    def _ask(self, texts: list[str], role: Role) -> Json:
        body: JsonObject = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._params.dims is not None:
            body["dimensions"] = self._params.dims
        answer = self._server.post("/embeddings", body)
        self._same_model(str(answer.get("model", "")))
        return self._in_order(answer["data"], len(texts))

    def _same_model(self, served: str) -> None:
        """Remember which model answers, and raise if another one does later."""
        self._served = self._served or served
        if served != self._served:
            raise EmbedderError(
                f"{self._server.host} answered with {served!r} after {self._served!r}; vectors of two models "
                "must not be mixed."
            )

    def _describe_model(self) -> ServerMessage:
        return ServerMessage(
            revision=f"{self._served or self._model} at {self._server.host}",
            max_tokens=self._params.max_tokens,
            query_prompt=self._params.query_prompt,
            document_prompt=self._params.document_prompt,
        )
