"""Models on fastembed: one from its list and cache, or an exported ONNX folder on its engine."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from pydantic import Field, model_validator
from tokenizers import Tokenizer

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.plugins.embedders.onnx_folder import OnnxFolder, declared_pooling, read_folder
from bakeoff.storage.weights import sha256
from bakeoff.types import ModelInfo, Role

_POOLINGS = {
    "mean": PoolingType.MEAN,
    "cls": PoolingType.CLS,
    "last": PoolingType.LAST_TOKEN,
    "graph": PoolingType.DISABLED,
}
_NEAR_ONE = 1e-3


class FastembedEmbedder:
    """A model on fastembed's engine; nothing is downloaded unless `download` is set."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "fastembed"
    needs: ClassVar[str] = "a folder of yours, or download: true"

    class Params(EmbedderParams):
        """Which model, and how texts become its vectors."""

        model: str = Field("BAAI/bge-small-en-v1.5", description="a name of fastembed's list")
        download: bool = Field(False, description="download a model that is not in fastembed's cache")
        folder: Path | None = Field(
            None, description="a model of yours: model.onnx, tokenizer.json, tokenizer_config.json"
        )
        graph: str = Field("", description="another graph in the folder, as onnx/model_quantized.onnx")
        pooling: Literal["mean", "cls", "last", "graph"] | None = Field(
            None, description="for a folder: how token vectors are pooled; graph: by the graph itself"
        )
        normalise: bool = Field(True, description="of a folder: normalise vectors to unit length")
        max_tokens: int | None = Field(
            None, ge=8, description="tokens read per text; default: as the model says"
        )
        query_prompt: str = Field("", description="prefix of each query")
        document_prompt: str = Field("", description="prefix of each chunk")
        batch_size: int = Field(
            32, ge=1, le=1024, description="texts computed together, padded to the longest"
        )
        threads: int | None = Field(None, ge=1, le=1024, description="threads per run; default: fastembed's")

        @model_validator(mode="after")
        def _of_a_folder(self) -> FastembedEmbedder.Params:
            if self.folder is None and (self.pooling or self.graph or not self.normalise):
                raise ValueError("pooling, graph and normalise apply to a folder; a listed model has its own")
            return self

    def __init__(self, params: Params) -> None:
        self._params = params
        self._model: StartedModel[TextEmbedding] = StartedModel(self._load)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors: model, revision and settings."""
        given, model = self._params, self._model.get().model
        row = next(iter(model.embed(["a"])))
        return ModelInfo(
            name=given.folder.expanduser().resolve().name if given.folder else given.model,
            dims=len(row),
            max_tokens=(model.tokenizer.truncation or {}).get("max_length"),
            revision=f"fastembed {version('fastembed')}, tokenizer {_digest(model.tokenizer)[:16]}",
            weights=self._model_folder.weights() if self._model_folder else sha256(_graph(model)),
            normalised=bool(abs(float(np.linalg.norm(row)) - 1) < _NEAR_ONE),
            pooling=self._pooling if self._model_folder else "",
            query_prompt=given.query_prompt,
            document_prompt=given.document_prompt,
            licence=str(model.model_description.license or ""),
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 vector per text, in order."""
        if not texts:
            return np.empty((0, self.info.dims), np.float32)
        model, size = self._model.get(), self._params.batch_size
        queries = role is Role.QUERY
        prompt = self._params.query_prompt if queries else self._params.document_prompt
        ask = model.query_embed if queries else model.passage_embed
        try:
            return np.stack([*ask([prompt + text for text in texts], batch_size=size)]).astype(np.float32)
        except (RuntimeError, TypeError) as exc:
            raise EmbedderError(f"fastembed failed on {len(texts)} texts: {exc}") from exc

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        return [len(encoding.ids) for encoding in self._uncut.encode_batch(list(texts))]

    def declared_pooling(self) -> str:
        """The pooling in the model's files or the catalogue; '' if neither has one."""
        return declared_pooling(self._model_folder) if self._model_folder and self._params.pooling else ""

    def close(self) -> None:
        """Release the session."""
        self._model.close()

    @cached_property
    def _model_folder(self) -> OnnxFolder | None:
        return read_folder(self._params.folder, self._params.graph) if self._params.folder else None

    @property
    def _pooling(self) -> str:
        told = self._params.pooling or (self._model_folder.pooling if self._model_folder else "")
        if not told:
            raise EmbedderError(
                f"{self._params.folder} does not say how tokens become one vector. Set pooling to mean, cls, last "
                "or graph."
            )
        return told

    @cached_property
    def _uncut(self) -> Tokenizer:
        tokenizer = Tokenizer.from_str(self._model.get().model.tokenizer.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _load(self) -> TextEmbedding:
        given = self._params
        where: dict[str, Any] = {"local_files_only": not given.download}
        if given.folder is not None:
            where = {"specific_model_path": str(given.folder.expanduser())}
        try:
            model = TextEmbedding(self._name(), threads=given.threads, **where)
        except (OSError, ValueError, RuntimeError) as exc:
            raise ModelNotFoundError(self._absent(exc)) from exc
        if given.max_tokens is not None:
            self._limit(model.model.tokenizer, given.max_tokens)
        return model

    def _name(self) -> str:
        """Name under which fastembed knows the model; a folder is first added to its list."""
        if self._model_folder is None:
            self._check_model()
            return self._params.model
        folder, pooling = Path(str(self._params.folder)).expanduser(), self._pooling
        key = f"{self._model_folder.graph.resolve()} {pooling} {self._params.normalise}"
        name = f"folder/{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        if not any(row["model"] == name for row in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=name,
                pooling=_POOLINGS[pooling],
                normalization=self._params.normalise,
                sources=ModelSource(url="file://"),
                dim=1,  # only its own look-up of lengths reads this
                model_file=str(self._model_folder.graph.relative_to(folder)),
            )
        return name

    def _check_model(self) -> None:
        names = [str(row["model"]) for row in TextEmbedding.list_supported_models()]
        if self._params.model.lower() in (name.lower() for name in names):
            return
        near = difflib.get_close_matches(self._params.model, names, n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ModelNotFoundError(
            f"fastembed has no model {self._params.model!r}.{hint} Give a folder for a model of your own."
        )

    def _absent(self, exc: Exception) -> str:
        said = (str(exc).strip().splitlines() or [type(exc).__name__])[0]
        if self._params.folder is not None:
            return f"fastembed cannot open {self._params.folder}: {said}"
        wanted = "" if self._params.download else " Set download: true to fetch it, or give its folder."
        return f"{self._params.model} is not in fastembed's cache: {said}.{wanted}"

    def _limit(self, tokenizer: Tokenizer, wanted: int) -> None:
        most = (tokenizer.truncation or {}).get("max_length", wanted)
        if wanted > most:
            raise EmbedderError(f"max_tokens is {wanted}, but this model reads at most {most}")
        tokenizer.enable_truncation(wanted)


def _graph(model: TextEmbedding) -> Path:
    """The file fastembed runs."""
    return Path(model._model_dir) / str(model.model_description.model_file)


def _digest(tokenizer: Tokenizer) -> str:
    return hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
