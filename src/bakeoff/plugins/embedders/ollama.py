"""Models served by Ollama on this machine or another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders._http import HttpEmbedder, HttpParams, ServerMessage
from bakeoff.runtime.json_client import Address
from bakeoff.types import Json, JsonObject, Role


@dataclass(frozen=True, slots=True)
class _Known:
    """Ollama's name of a model, and the prompts it was trained with."""

    pulled_as: str
    query_prompt: str = ""
    document_prompt: str = ""


_BGE = "Represent this sentence for searching relevant passages: "
_KNOWN = {
    "nomic-embed-text": _Known("nomic-embed-text", "search_query: ", "search_document: "),
    "all-minilm-l6-v2": _Known("all-minilm:l6-v2"),
    "bge-small-en-v1.5": _Known("qllama/bge-small-en-v1.5", _BGE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledModel:
    """A model on an Ollama server; size in bytes; '' and None if the server does not report it."""

    name: str
    family: str
    parameters: str
    quantization: str
    size: int | None
    modified: str
    digest: str


def _pulled_model(row: Json) -> PulledModel:
    details = row.get("details") or {}
    return PulledModel(
        name=str(row["name"]),
        family=str(details.get("family") or ""),
        parameters=str(details.get("parameter_size") or ""),
        quantization=str(details.get("quantization_level") or ""),
        size=int(row["size"]) if row.get("size") is not None else None,
        modified=str(row.get("modified_at") or "")[:10],
        digest=str(row.get("digest") or "").removeprefix("sha256:")[:12],
    )


class OllamaEmbedder(HttpEmbedder):
    """Vectors from `POST {url}/api/embed`; the model's digest identifies its weights."""

    class Params(HttpParams):
        """Server, model and request settings."""

        model: str = Field("nomic-embed-text", description="a model of `ollama list`")
        url: Address = Field("http://127.0.0.1:11434", description="address of the server")
        key_env: str = Field("", description="environment variable with a key, if a proxy requires one")
        query_prompt: str | None = Field(None, description="prefix of each query; default: the model's")
        document_prompt: str | None = Field(None, description="prefix of each chunk; default: the model's")

    def __init__(self, params: Params) -> None:
        super().__init__(params, params.url, params.key_env)
        self._known = _KNOWN.get(params.model, _Known(params.model))

    def _ask(self, texts: list[str], role: Role) -> Json:
        body = {"model": self._pulled_name[0], "input": texts, "truncate": True}
        return self._server.post("/api/embed", body)["embeddings"]

    def _describe_model(self) -> ServerMessage:
        name, digest = self._pulled_name
        shown = self._server.post("/api/show", {"model": name})
        sizes = shown.get("model_info") or {}
        limits = [int(value) for key, value in sizes.items() if key.endswith(".context_length")]
        given, known = self._params, self._known
        return ServerMessage(
            revision=f"{name} {(shown.get('details') or {}).get('quantization_level', '')}".strip(),
            digest=digest,
            max_tokens=limits[0] if limits else None,
            query_prompt=known.query_prompt if given.query_prompt is None else given.query_prompt,
            document_prompt=known.document_prompt if given.document_prompt is None else given.document_prompt,
        )

    def pulled_models(self) -> list[PulledModel]:
        """The models on the server, in its order; it does not report which of them embed."""
        with self._understood():
            return [_pulled_model(row) for row in self._tags()]

    def _tags(self) -> list[JsonObject]:
        return list((self._server.get("/api/tags") or {}).get("models") or [])

    @cached_property
    def _pulled_name(self) -> tuple[str, str]:
        """Name and digest of the model on the server."""
        there = {row["name"]: str(row.get("digest", "")) for row in self._tags()}
        for name in (self._model, self._known.pulled_as):
            for full in (name, f"{name}:latest"):
                if full in there:
                    return full, there[full]
        raise ModelNotFoundError(
            f"Ollama at {self._server.host} has no model {self._model!r} (it has: {', '.join(there) or 'none'}). "
            f"Run `ollama pull {self._known.pulled_as}`."
        )
