"""Makes a GGUF file of a BERT sentence encoder from its safetensors weights and tokenizer.json, without torch."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from safetensors import SafetensorError
from safetensors.numpy import load_file

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.bert_shape import BertShape, read_shape
from bakeoff.plugins.embedders.gguf_q4k import Q4K_ROW, quantise_q4k

CONVERTER_VERSION = "1"
"""Changes when the file made from the same weights would give other vectors."""

_WHOLE = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm": "token_embd_norm",
}
_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
_NO_ENCODER = (
    SafetensorError,
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    OverflowError,
    RecursionError,
    struct.error,
)
"""What is raised on files of another shape than an encoder's."""
_ALWAYS_FLOAT = ("position_embd.weight", "token_types.weight")
_FILE_TYPES = {
    "none": gguf.LlamaFileType.ALL_F32,
    "f16": gguf.LlamaFileType.MOSTLY_F16,
    "q8": gguf.LlamaFileType.MOSTLY_Q8_0,
    "q4k": gguf.LlamaFileType.MOSTLY_Q4_K_S,
}


def save_gguf(folder: Path, target: Path, quantisation: str) -> None:
    """Write the encoder in `folder` as GGUF; `quantisation` is none (f32), f16, q8 or q4k."""
    shape = read_shape(folder / "config.json")
    writer = gguf.GGUFWriter(str(target), "bert")
    try:
        _describe(writer, folder, shape, quantisation)
        _vocabulary(writer, folder / "tokenizer.json")
        for name, values in _tensors(folder, shape):
            kind = _kind(name, values, quantisation)
            writer.add_tensor(name, _pack_tensor(values, kind), raw_dtype=kind)
    except _NO_ENCODER as exc:
        raise ModelNotFoundError(f"{folder} does not hold a BERT encoder: {exc!r}") from exc
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter, folder: Path, shape: BertShape, quantisation: str) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    writer.add_name(folder.name)
    writer.add_context_length(shape.positions)
    writer.add_embedding_length(shape.dims)
    writer.add_feed_forward_length(int(config["intermediate_size"]))
    writer.add_block_count(shape.layers)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_eps(shape.epsilon)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(_FILE_TYPES[quantisation])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _vocabulary(writer: gguf.GGUFWriter, file: Path) -> None:
    """WordPiece as llama.cpp wants it: a mark before a word's first token, none before its others."""
    tokenizer = json.loads(file.read_text(encoding="utf-8"))
    ids: dict[str, int] = tokenizer["model"]["vocab"]
    special = {row["content"] for row in tokenizer["added_tokens"] if row["special"]} | {"[UNK]"}
    tokens = sorted(ids, key=ids.__getitem__)
    kinds = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([_token_text(token, token in special) for token in tokens])
    writer.add_token_types(kinds)
    writer.add_token_type_count(2)
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_eos_token_id(ids["[SEP]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_pad_token_id(ids["[PAD]"])


def _token_text(token: str, special: bool) -> str:
    if special:
        return token
    return token[2:] if token.startswith("##") else f"\u2581{token}"


def _tensors(folder: Path, shape: BertShape) -> Iterator[tuple[str, np.ndarray]]:
    """Names and values as llama.cpp wants them."""
    weights = load_file(folder / "model.safetensors")
    for source, name in _tensor_names(shape):
        yield name, np.ascontiguousarray(weights[source], np.float32)


def _tensor_names(shape: BertShape) -> Iterator[tuple[str, str]]:
    for source, name in _WHOLE.items():
        parts = ("",) if name.endswith(".weight") else (".weight", ".bias")
        yield from ((source + part, name + part) for part in parts)
    for layer in range(shape.layers):
        for source, name in _LAYER.items():
            for part in (".weight", ".bias"):
                yield f"encoder.layer.{layer}.{source}{part}", f"blk.{layer}.{name}{part}"


def _kind(name: str, values: np.ndarray, quantisation: str) -> Kind:
    """The type of one tensor; a row that q4_k cannot hold becomes q5_0, as llama.cpp's own quantiser does."""
    if quantisation == "none" or values.ndim == 1 or name in _ALWAYS_FLOAT:
        return Kind.F32
    if quantisation == "f16":
        return Kind.F16
    if quantisation == "q8":
        return Kind.Q8_0
    return Kind.Q4_K if values.shape[-1] % Q4K_ROW == 0 else Kind.Q5_0


def _pack_tensor(values: np.ndarray, kind: Kind) -> np.ndarray:
    return quantise_q4k(values) if kind is Kind.Q4_K else gguf.quants.quantize(values, kind)
