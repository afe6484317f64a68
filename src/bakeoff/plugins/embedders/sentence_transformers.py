"""Any sentence-transformers model on torch, from a folder or the library's own cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import numpy as np
from huggingface_hub import snapshot_download
from pydantic import Field, model_validator
from sentence_transformers import SentenceTransformer
from transformers.utils import logging as transformers_logging  # type: ignore[import-not-found,unused-ignore]

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.storage.weights import sha256
from bakeoff.types import ModelInfo, Role

_WEIGHTS = (".safetensors", ".bin", ".pt", ".h5")
_QUERY, _DOCUMENT = ("query",), ("document", "passage")


class SentenceTransformersEmbedder:
    """A SentenceTransformer; nothing is downloaded unless `download` is set."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "torch"
    needs: ClassVar[str] = "a folder of yours, or download: true"

    class Params(EmbedderParams):
        """Which model, and how texts become its vectors."""

        folder: Path | None = Field(None, description="folder with a model as the library saves one")
        model: str = Field("", description="its name on the model hub, if no folder is given")
        download: bool = Field(False, description="download a named model that is not in the library's cache")
        device: str = Field("cpu", description="where it is computed: cpu, cuda, mps")
        max_tokens: int | None = Field(
            None, ge=8, description="tokens read per text; default: as the model says"
        )
        normalise: bool = Field(True, description="normalise vectors to unit length")
        query_prompt: str | None = Field(None, description="prefix of each query; default: as the model says")
        document_prompt: str | None = Field(
            None, description="prefix of each chunk; default: as the model says"
        )
        batch_size: int = Field(32, ge=1, le=1024, description="texts computed together")

        @model_validator(mode="after")
        def _one_model(self) -> SentenceTransformersEmbedder.Params:
            if (self.folder is None) == (not self.model):
                raise ValueError("give the model's folder, or its name on the model hub as model")
            return self

    def __init__(self, params: Params) -> None:
        self._params = params
        self._model: StartedModel[SentenceTransformer] = StartedModel(self._load)

    @cached_property
    def info(self) -> ModelInfo:
        """Identity of these vectors: model, revision and settings."""
        model, given = self._model.get(), self._params
        return ModelInfo(
            name=given.model or self._folder.resolve().name,
            dims=int(model.encode(["a"], show_progress_bar=False).shape[1]),
            max_tokens=int(model.max_seq_length) if model.max_seq_length else None,
            revision=f"sentence-transformers {version('sentence-transformers')}, torch {version('torch')}, "
            f"settings {_digest(self._folder, ('.json', '.txt', '.model'))[:16]}",
            weights=_digest(self._folder, _WEIGHTS),
            normalised=given.normalise,
            query_prompt=_prompt(given.query_prompt, model, _QUERY),
            document_prompt=_prompt(given.document_prompt, model, _DOCUMENT),
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 vector per text, in order."""
        if not texts:
            return np.empty((0, self.info.dims), np.float32)
        prompt = self.info.query_prompt if role is Role.QUERY else self.info.document_prompt
        try:
            rows = self._model.get().encode(
                list(texts),
                prompt=prompt,
                batch_size=self._params.batch_size,
                normalize_embeddings=self._params.normalise,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except (RuntimeError, TypeError) as exc:
            raise EmbedderError(f"{self.info.name} failed on {len(texts)} texts: {exc}") from exc
        return np.ascontiguousarray(rows, np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        read = self._model.get().tokenizer
        return [len(ids) for ids in read(list(texts), truncation=False, verbose=False)["input_ids"]]

    def close(self) -> None:
        """Release the model's memory."""
        self._model.close()

    @cached_property
    def _folder(self) -> Path:
        name = self._params.model
        if self._params.folder is not None:
            return self._params.folder.expanduser()
        try:
            return Path(snapshot_download(name, local_files_only=not self._params.download))
        except (OSError, ValueError) as exc:
            wanted = "" if self._params.download else ", or set download: true to fetch it"
            raise ModelNotFoundError(
                f"{name!r} is not in the cache of sentence-transformers ({_first_line(exc)}). Give the model's "
                f"folder{wanted}."
            ) from exc

    def _load(self) -> SentenceTransformer:
        folder = self._folder
        if not any(folder.rglob("*.json")):
            raise ModelNotFoundError(f"{folder} contains no model: it has no config.json.")
        transformers_logging.disable_progress_bar()  # plug-ins must not print
        try:
            model = SentenceTransformer(str(folder), device=self._params.device, local_files_only=True)
        except (OSError, ValueError, RuntimeError, KeyError) as exc:
            raise ModelNotFoundError(
                f"sentence-transformers cannot open {folder}: {_first_line(exc)}"
            ) from exc
        self._limit(model)
        return model

    def _limit(self, model: SentenceTransformer) -> None:
        wanted, most = self._params.max_tokens, model.max_seq_length
        if wanted is not None and most and wanted > most:
            raise EmbedderError(f"max_tokens is {wanted}, but this model reads at most {most}")
        if wanted is not None:
            model.max_seq_length = wanted


def _prompt(given: str | None, model: object, names: tuple[str, ...]) -> str:
    own = getattr(model, "prompts", None) or {}
    return given if given is not None else next((own[name] for name in names if own.get(name)), "")


def _digest(folder: Path, endings: tuple[str, ...]) -> str:
    """SHA-256 of the files with these endings below a folder, by name and content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in endings)
    lines = (f"{path.relative_to(folder)} {sha256(path)}\n" for path in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _first_line(exc: Exception) -> str:
    return (str(exc).strip().splitlines() or [type(exc).__name__])[0]
