"""Models served by Hugging Face Text Embeddings Inference."""

from __future__ import annotations

from pydantic import Field

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders._http import HttpEmbedder, HttpParams, ServerMessage
from bakeoff.runtime.json_client import Address
from bakeoff.types import Json, Role


class TEIEmbedder(HttpEmbedder):
    """Vectors from `POST {url}/embed`; a server has one model, and `/info` names it."""

    class Params(HttpParams):
        """Server and request settings."""

        url: Address = Field("http://127.0.0.1:8080", description="address of the server")
        model: str = Field("", description="the model you expect; default: the one that is served")
        key_env: str = Field("", description="environment variable with the key, if required")
        query_prompt: str = Field("", description="prefix of each query")
        document_prompt: str = Field("", description="prefix of each chunk")
        normalise: bool = Field(True, description="normalise vectors to unit length")

    def __init__(self, params: Params) -> None:
        super().__init__(params, params.url, params.key_env)

    def _ask(self, texts: list[str], role: Role) -> Json:
        body = {"inputs": texts, "normalize": self._params.normalise, "truncate": True}
        return self._server.post("/embed", body)

    def _describe_model(self) -> ServerMessage:
        told = self._server.get("/info") or {}
        served = str(told.get("model_id", ""))
        self._expect(served)
        most = told.get("max_input_length")
        embedding = (told.get("model_type") or {}).get("embedding") or {}
        return ServerMessage(
            revision=f"{served} {told.get('model_dtype', '')} TEI {told.get('version', '')}".strip(),
            digest=str(told.get("model_sha") or ""),
            max_tokens=int(most) if most is not None else None,
            pooling=str(embedding.get("pooling", "")),
            query_prompt=self._params.query_prompt,
            document_prompt=self._params.document_prompt,
        )

    def _expect(self, served: str) -> None:
        if self._model and served and served != self._model:
            raise ModelNotFoundError(
                f"{self._server.host} serves {served!r}, not {self._model!r}. Start it with that model, or "
                "remove `model`."
            )
        self._model = self._model or served or f"TEI at {self._server.host}"
