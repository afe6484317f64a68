"""Reads a folder with a sentence encoder: graph or weights, tokenizer, pooling, prompts, length."""

from __future__ import annotations

import hashlib
import json
import mmap
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bakeoff.errors import MissingExtraError, ModelNotFoundError
from bakeoff.plugins.embedders.bert_shape import GGUF, GRAPH_VERSION
from bakeoff.plugins.embedders.rotary_shape import read_encoder_shape
from bakeoff.storage.catalogue import entries
from bakeoff.storage.weights import WEIGHTS_FILE, find, keep_weights, models_folder, sha256
from bakeoff.types import JsonObject

_GRAPHS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", WEIGHTS_FILE)
"""Where exports keep their graph; the third is fastembed's. With weights alone, the graph is built here."""
_QUANTISED = b"DynamicQuantizeLinear"
_MODULES = ("Transformer", "Pooling", "Normalize")
_POOLING_MODULE = "1_Pooling"
_MODE = "pooling_mode_"
_POOLING_MODES = {
    "mean_tokens": "mean",
    "cls_token": "cls",
    "lasttoken": "last",
    "mean": "mean",
    "cls": "cls",
}
_NEEDED = "tokenizer.json and an ONNX graph or safetensors weights"
_DEFAULT_TOKENS = 512
_MOST_TOKENS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxFolder:
    """Files and configuration of a model; `pooling` is '' if not configured.

    `graph` is an ONNX graph, or safetensors weights with the version of the graph built from them.
    `positions` is the architecture's token limit, if known.
    """

    name: str
    graph: Path
    tokenizer: Path
    pooling: str
    max_tokens: int
    query_prompt: str
    document_prompt: str
    licence: str = ""
    graph_version: str = ""
    positions: int | None = None

    @property
    def quantised(self) -> bool:
        """Whether activations are quantised by their largest value while the graph runs."""
        with self.graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(_QUANTISED) >= 0

    def weights(self) -> str:
        """SHA-256 of the graph and the files with its large tensors."""
        files = [self.graph, *sorted(self.graph.parent.glob(f"{self.graph.name}[._]*"))]
        if len(files) == 1:
            return sha256(self.graph)
        return hashlib.sha256("".join(sha256(file) for file in files).encode()).hexdigest()


def declared_pooling(found: OnnxFolder) -> str:
    """The pooling in a model's files, or the catalogue's for the same weights; '' if unknown."""
    if found.pooling:
        return found.pooling
    known = {
        digest: entry.pooling
        for entry in entries().values()
        for file, digest in entry.files.items()
        if file in _GRAPHS
    }
    return known.get(sha256(found.graph), "")


def read_model(folder: Path | None, model: str, graph: str) -> OnnxFolder:
    """The model of a folder, a pulled repository or the catalogue, which takes precedence."""
    if folder is not None:
        return read_folder(folder, graph)
    found = find(model)
    read = replace(read_folder(found.folder, graph), name=found.model, licence=found.licence)
    entry = entries().get(model)
    if entry is None:
        return read
    return replace(
        read,
        pooling=entry.pooling,
        max_tokens=entry.max_tokens or read.max_tokens,
        query_prompt=entry.query_prompt,
        document_prompt=entry.document_prompt,
    )


def read_folder(folder: Path, graph: str) -> OnnxFolder:
    """The model in a folder in sentence-transformers' layout; `graph` is a path in it, or ''."""
    folder = folder.expanduser()
    alone = (
        [] if graph or any((folder / name).is_file() for name in _GRAPHS) else sorted(folder.glob(f"*{GGUF}"))
    )
    if len(alone) == 1:
        return _read_gguf_folder(alone[0])
    found = _first(folder, (graph,) if graph else _GRAPHS)
    shape = read_encoder_shape(folder / "config.json") if found.name == WEIGHTS_FILE else None
    query, document = _prompts(_json(folder / "config_sentence_transformers.json"))
    positions = shape.positions if shape else None
    return OnnxFolder(
        name=folder.resolve().name,
        graph=found,
        tokenizer=_first(folder, ("tokenizer.json",)),
        pooling=_pooling(folder),
        max_tokens=min(_max_tokens(folder) or positions or _DEFAULT_TOKENS, positions or _MOST_TOKENS),
        query_prompt=query,
        document_prompt=document,
        graph_version=f"graph {GRAPH_VERSION}, " if shape else "",
        positions=positions,
    )


def _read_gguf_folder(file: Path) -> OnnxFolder:
    """The encoder in a folder's only GGUF file; its tokenizer.json is made once."""
    try:
        from bakeoff.plugins.embedders.gguf_encoder import GgufEncoder
    except ImportError as exc:
        raise MissingExtraError(f"{file.name} needs gguf: pip install 'bakeoff[onnx]'") from exc
    encoder = GgufEncoder(file)
    stem = f"{sha256(file)[:16]}-tokenizer-{GRAPH_VERSION}"
    folder = models_folder("graphs-of-folders") / "graphs"
    return OnnxFolder(
        name=encoder.model.name,
        graph=file,
        tokenizer=keep_weights(folder, stem, ".json", encoder.save_tokenizer),
        pooling=encoder.model.pooling,
        max_tokens=encoder.model.positions,
        query_prompt="",
        document_prompt="",
        licence=encoder.model.licence,
        graph_version=f"graph {GRAPH_VERSION}, ",
        positions=encoder.model.positions,
    )


def token_graph(found: OnnxFolder, model: str) -> Path:
    """The exported graph, or the one built once from safetensors weights, whose output is tokens × dims."""
    if not found.graph_version:
        return found.graph
    from bakeoff.plugins.embedders.bert_graph import save_graph

    stem = f"{found.weights()[:16]}-tokens-{found.graph_version.strip(' ,').replace(' ', '')}"
    folder = models_folder(model or "graphs-of-folders") / "graphs"
    source = found.graph if found.graph.suffix == GGUF else found.graph.parent
    make = partial(save_graph, source, quantise=False, output="tokens")
    return keep_weights(folder, stem, ".onnx", make)


def _first(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    if not folder.is_dir():
        raise ModelNotFoundError(f"{folder} is not a folder. Give a folder with {_NEEDED}.")
    pickled = [path.name for path in folder.glob("*.bin")]
    if pickled and len(names) > 1:
        raise ModelNotFoundError(
            f"{folder} has its weights only as a pickle ({pickled[0]}), which can run code when it is read. Save the "
            "model as safetensors, or export it to ONNX."
        )
    raise ModelNotFoundError(f"{folder} has no {' or '.join(names)}. Give a folder with {_NEEDED}.")


def _pooling(folder: Path) -> str:
    """How token vectors are pooled; raises for a step not computed here, since vectors would differ."""
    where = _POOLING_MODULE
    for row in _json_list(folder / "modules.json"):
        kind = str(row.get("type", "")).rpartition(".")[2]
        if kind not in _MODULES:
            raise ModelNotFoundError(
                f"{folder / 'modules.json'} lists the step {kind!r}, which this embedder does not compute. Use "
                "sentence_transformers for this model."
            )
        where = str(row.get("path", where)) if kind == "Pooling" else where
    config = _json(folder / where / "config.json")
    named = [
        key.removeprefix(_MODE) for key, value in config.items() if key.startswith(_MODE) and value is True
    ]
    mode = str(config.get("pooling_mode") or "+".join(named))
    if not mode:
        return ""
    if mode not in _POOLING_MODES:
        raise ModelNotFoundError(
            f"{folder / where / 'config.json'} asks for the pooling {mode!r}; known: {', '.join(_POOLING_MODES)}. Use "
            "sentence_transformers for this model."
        )
    return _POOLING_MODES[mode]


def _prompts(config: JsonObject) -> tuple[str, str]:
    """Prefixes of queries and documents."""
    given = config.get("prompts")
    prompts = given if isinstance(given, dict) else {}
    usual = prompts.get(config.get("default_prompt_name"), "")
    query = prompts.get("query", usual)
    document = prompts.get("document", prompts.get("passage", usual))
    return str(query), str(document)


def _max_tokens(folder: Path) -> int:
    """Tokens that the folder's files allow; 0 where they do not say."""
    told = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    most = _json(folder / "config.json").get("max_position_embeddings")
    try:
        return int(told or most or 0)
    except (ValueError, TypeError, OverflowError) as exc:
        raise ModelNotFoundError(
            f"{folder}: {told or most!r} is not a number of tokens. Look at max_seq_length in "
            "sentence_bert_config.json and max_position_embeddings in config.json."
        ) from exc


def _json(file: Path) -> JsonObject:
    """Read a configuration file; {} if there is none."""
    values = _read_json(file)
    return values if isinstance(values, dict) else {}


def _json_list(file: Path) -> list[JsonObject]:
    values = _read_json(file)
    return [row for row in values if isinstance(row, dict)] if isinstance(values, list) else []


def _read_json(file: Path) -> object:
    if not file.is_file():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as exc:
        raise ModelNotFoundError(f"{file} is not JSON: {exc}") from exc
