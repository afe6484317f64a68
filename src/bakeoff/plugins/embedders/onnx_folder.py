"""What a folder with an exported ONNX model says about it: graph, tokenizer, pooling, prompts, length."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.errors import ModelNotFoundError
from bakeoff.storage.weights import sha256

_GRAPHS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")
"""Where exports have their graph; the last is fastembed's own."""
_POOLING_KEYS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
_DEFAULT_TOKENS = 512


@dataclass(frozen=True, slots=True)
class OnnxFolder:
    """The files of a model and what its configuration says; `pooling` is '' where it says nothing."""

    graph: Path
    tokenizer: Path
    pooling: str
    max_tokens: int
    query_prompt: str
    document_prompt: str

    def weights(self) -> str:
        """One SHA-256 of the graph and of the files with its large tensors beside it."""
        files = [self.graph, *sorted(self.graph.parent.glob(f"{self.graph.name}[._]*"))]
        if len(files) == 1:
            return sha256(self.graph)
        return hashlib.sha256("".join(sha256(file) for file in files).encode()).hexdigest()


def read_folder(folder: Path, graph: str) -> OnnxFolder:
    """The model in a folder as sentence-transformers lays one out; `graph` is a path in it, or ''."""
    folder = folder.expanduser()
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    return OnnxFolder(
        graph=_first(folder, (graph,) if graph else _GRAPHS),
        tokenizer=_first(folder, ("tokenizer.json",)),
        pooling=_pooling(_json(folder / "1_Pooling" / "config.json")),
        max_tokens=_max_tokens(folder),
        query_prompt=str(prompts.get("query", "")),
        document_prompt=str(prompts.get("document", prompts.get("passage", ""))),
    )


def _first(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ModelNotFoundError(
        f"{folder} has no {' or '.join(names)}. Give a folder with an ONNX graph and tokenizer.json."
    )


def _pooling(config: dict[str, Any]) -> str:
    return next((name for key, name in _POOLING_KEYS.items() if config.get(key)), "")


def _max_tokens(folder: Path) -> int:
    told = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    most = _json(folder / "config.json").get("max_position_embeddings")
    try:
        return int(told or most or _DEFAULT_TOKENS)
    except (ValueError, TypeError, OverflowError) as exc:
        raise ModelNotFoundError(
            f"{folder}: {told or most!r} is no number of tokens. Look at max_seq_length in "
            "sentence_bert_config.json and max_position_embeddings in config.json."
        ) from exc


def _json(file: Path) -> dict[str, Any]:
    """A configuration file; {} where there is none."""
    if not file.is_file():
        return {}
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as exc:
        raise ModelNotFoundError(f"{file} is not JSON: {exc}") from exc
    return values if isinstance(values, dict) else {}
