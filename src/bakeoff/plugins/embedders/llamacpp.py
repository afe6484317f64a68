"""GGUF models on llama.cpp, in this process: all-MiniLM-L6-v2 at four precisions, a pulled model, or your file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import xllamacpp
from pydantic import Field, model_validator

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders._http import HttpParams
from bakeoff.plugins.embedders._shared import EmbedderParams, StartedModel
from bakeoff.plugins.embedders.gguf_convert import CONVERTER_VERSION, save_gguf
from bakeoff.plugins.embedders.gguf_file import GgufModel, read_gguf
from bakeoff.runtime.json_client import JsonClient
from bakeoff.runtime.signals import raise_if_interrupted
from bakeoff.storage.catalogue import entries
from bakeoff.storage.weights import WEIGHTS_FILE, FoundWeights, find, keep_weights, models_folder, sha256
from bakeoff.types import ModelInfo, Role

NAME = "minilm"
_POOLING = xllamacpp.llama_pooling_type
_POOLINGS = {
    "mean": _POOLING.LLAMA_POOLING_TYPE_MEAN,
    "cls": _POOLING.LLAMA_POOLING_TYPE_CLS,
    "last": _POOLING.LLAMA_POOLING_TYPE_LAST,
}
_ALL_LAYERS = 999
_CALL = 8  # texts per call: an interrupt waits for no more, and the cost of a call does not show
_TOKENS_A_BYTE = 2  # more than any tokenizer makes; below it, one call less


class LlamaCppEmbedder:
    """A GGUF model run by llama.cpp, one text at a time, so that no vector depends on its neighbours."""

    version: ClassVar[str] = "1"
    engine: ClassVar[str] = "llama.cpp"
    needs: ClassVar[str] = "the weights of minilm, or a .gguf file"

    class Params(EmbedderParams):
        """Weights, precision and speed settings."""

        quantization: Literal["none", "f16", "q8", "q4k"] | None = Field(
            None, description="precision of all-MiniLM-L6-v2's weights; default: none, that is 32 bits"
        )
        file: Path | None = Field(None, description="a .gguf file of your own; default: all-MiniLM-L6-v2")
        model: str = Field(
            "",
            exclude_if=lambda value: not value,
            description="a GGUF model of `bakeoff models list`, or a repository that was pulled, as owner/name",
        )
        weights: Path | None = Field(
            None, description="folder with model.safetensors, tokenizer.json and config.json to convert"
        )
        max_tokens: int | None = Field(
            None, ge=8, description="tokens read per text; default: 256, or what your file allows"
        )
        pooling: Literal["mean", "cls", "last"] | None = Field(
            None, description="how token vectors are pooled; default: the file's setting"
        )
        device: Literal["cpu", "metal"] = Field("cpu", description="where it is computed; metal: macOS only")
        threads: int | None = Field(
            None, ge=1, le=1024, description="threads per text; default: one fewer than the cores"
        )
        query_prompt: str = Field("", description="prefix of each query")
        document_prompt: str = Field("", description="prefix of each chunk")

        @model_validator(mode="after")
        def _one_source(self) -> LlamaCppEmbedder.Params:
            if self.file is not None and self.model:
                raise ValueError("give either `file` or `model`")
            own = self.file is not None or self.model
            if own and (self.quantization is not None or self.weights is not None):
                raise ValueError("a file has its own quantization and weights; leave those out")
            return self

    def __init__(self, params: Params) -> None:
        if params.device == "metal" and sys.platform != "darwin":
            raise EmbedderError("device is metal, which only macOS has. Set device to cpu.")
        self._params = params
        self._engine = StartedModel(self._start, lambda engine: engine.close())

    @cached_property
    def info(self) -> ModelInfo:
        """What identifies these vectors; the file is made where it is not there yet."""
        converted, entry = self._is_converted, entries().get(self._params.model)
        suffix = f"-gguf-{self._params.quantization or 'none'}" if converted else ""
        found = self._weights if converted or self._params.model else None
        return ModelInfo(
            name=found.model + suffix if found else self._model.name,
            dims=self._model.dims,
            max_tokens=self._max_tokens,
            revision=f"llama.cpp of xllamacpp {version('xllamacpp')}",
            weights=sha256(self._file),
            normalised=True,
            pooling=self._params.pooling or self._model.pooling,
            query_prompt=self._params.query_prompt or (entry.query_prompt if entry else ""),
            document_prompt=self._params.document_prompt or (entry.document_prompt if entry else ""),
            licence=(found.licence if found else "") or self._model.licence,
        )

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        """Return one float32 unit vector per text, in order."""
        if not texts:
            return np.empty((0, self.info.dims), np.float32)
        prompt = self.info.query_prompt if role is Role.QUERY else self.info.document_prompt
        return self._engine.get().embed([prompt + text for text in texts])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens per text before truncation, including special ones."""
        return [len(self._engine.get().tokens(text)) for text in texts]

    def declared_pooling(self) -> str:
        """The pooling in the model's file; '' if it has none."""
        return self._model.pooling

    @property
    def address(self) -> str:
        """Where the running engine also answers over HTTP, on this machine only."""
        return self._engine.get().address

    def close(self) -> None:
        """Release the model's memory."""
        self._engine.close()

    @cached_property
    def _weights(self) -> FoundWeights:
        return find(self._params.model or NAME, self._params.weights)

    @property
    def _is_converted(self) -> bool:
        """Whether the file is made here, of MiniLM's weights."""
        return self._params.file is None and not self._params.model

    @cached_property
    def _file(self) -> Path:
        if self._params.file is not None:
            return self._params.file.expanduser()
        if self._params.model:
            return self._weights.folder / next(
                file for file in self._weights.hashes if file.endswith(".gguf")
            )
        kind = self._params.quantization or "none"
        digests = f"{self._weights.hashes[WEIGHTS_FILE][:12]}-{self._weights.hashes['tokenizer.json'][:12]}"
        stem = f"{digests}-{kind}-v{CONVERTER_VERSION}"
        make = partial(save_gguf, self._weights.folder, quantisation=kind)
        return keep_weights(models_folder(NAME) / "gguf", stem, ".gguf", make)

    @cached_property
    def _model(self) -> GgufModel:
        return read_gguf(self._file)

    @property
    def _max_tokens(self) -> int:
        most = self._model.positions
        entry = entries().get(self._params.model or NAME)
        usual = entry.max_tokens if entry is not None and self._params.file is None else None
        wanted = self._params.max_tokens or min(usual or most, most)
        if wanted > most:
            raise EmbedderError(f"max_tokens is {wanted}, this model reads at most {most}")
        return wanted

    def _start(self) -> _Engine:
        return _Engine(self._file, self._params, self.info)


class _Engine:
    """A loaded model; llama.cpp tokenises, texts are cut here because it refuses long ones."""

    def __init__(self, file: Path, params: LlamaCppEmbedder.Params, info: ModelInfo) -> None:
        self._limit = info.max_tokens or 0
        try:
            self._server = xllamacpp.Server(_settings(file, params, self._limit))
        except RuntimeError as exc:
            raise ModelNotFoundError(f"llama.cpp cannot run {file}: {exc}") from exc
        self.address = str(self._server.listening_address)
        self._http = JsonClient(self.address, "", HttpParams())
        self._before, self._after = self._special()

    def embed(self, texts: list[str]) -> np.ndarray:
        """One row for each text, in order."""
        return np.concatenate([self._rows(texts[at : at + _CALL]) for at in range(0, len(texts), _CALL)])

    def _rows(self, texts: list[str]) -> np.ndarray:
        raise_if_interrupted()
        answer = self._server.handle_embeddings(
            {"input": [self._input(text) for text in texts], "model": "local"}
        )
        if "error" in answer:
            raise EmbedderError(
                f"llama.cpp refused a text: {answer['error'].get('message', answer['error'])}"
            )
        rows = sorted(answer["data"], key=lambda row: row["index"])
        return np.array([row["embedding"] for row in rows], np.float32)

    def tokens(self, text: str) -> list[int]:
        """The ids of a text with the special tokens of its model."""
        return self._before + self._plain(text) + self._after

    def close(self) -> None:
        """Unload the model."""
        self._http.close()
        del self._server

    def _input(self, text: str) -> str | list[int]:
        """A text that is surely short enough as it is; the ids of any other, cut."""
        room = self._limit - len(self._before) - len(self._after)
        try:
            short = len(text.encode()) * _TOKENS_A_BYTE <= room
        except UnicodeEncodeError as exc:
            raise EmbedderError("a text is not valid Unicode. Read it in its encoding.") from exc
        return text if short else self._before + self._plain(text)[:room] + self._after

    def _plain(self, text: str) -> list[int]:
        return list(self._http.post("/tokenize", {"content": text, "add_special": False})["tokens"])

    def _special(self) -> tuple[list[int], list[int]]:
        """The tokens the model wants before and after a text."""
        bare = self._plain("a")
        whole = self._http.post("/tokenize", {"content": "a", "add_special": True})["tokens"]
        at = whole.index(bare[0])
        return whole[:at], whole[at + len(bare) :]


def _settings(file: Path, params: LlamaCppEmbedder.Params, limit: int) -> object:
    """One slot of `limit` tokens, quiet, listening on this machine only."""
    settings = xllamacpp.CommonParams()
    settings.model.path = str(file)
    settings.embedding = True
    settings.n_ctx = settings.n_batch = settings.n_ubatch = limit
    settings.n_parallel = 1
    settings.verbosity = -1
    settings.warmup = False
    settings.n_gpu_layers = _ALL_LAYERS if params.device == "metal" else 0
    # its threads spin while they wait for each other: with none to spare, two are slower than one
    threads = params.threads or max(1, (os.cpu_count() or 1) - 1)
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    if params.pooling is not None:
        settings.pooling_type = _POOLINGS[params.pooling]
    return settings
