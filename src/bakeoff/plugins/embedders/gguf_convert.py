"""Converts a BERT sentence encoder from safetensors weights and tokenizer.json to GGUF, without torch."""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import xllamacpp
from gguf import GGMLQuantizationType as Kind
from safetensors import SafetensorError
from safetensors.numpy import load_file

from bakeoff.errors import EmbedderError, ModelNotFoundError
from bakeoff.plugins.embedders.bert_shape import BertShape, read_shape

CONVERTER_VERSION = "2"
"""Changes when the file made from the same weights would return other vectors."""

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
"""Exceptions raised for files that are not an encoder's."""
_SUFFIXES = (".weight", ".bias")
_TENSORS = 5
_LAYER_TENSORS = 16
_Q4K_ROW = 256
_ALWAYS_FLOAT = ("position_embd.weight", "token_types.weight")
_FILE_TYPES = {
    "none": gguf.LlamaFileType.ALL_F32,
    "f16": gguf.LlamaFileType.MOSTLY_F16,
    "q8": gguf.LlamaFileType.MOSTLY_Q8_0,
    "q4k": gguf.LlamaFileType.MOSTLY_Q4_K_S,
}


def save_gguf(folder: Path, target: Path, quantisation: str) -> None:
    """Write the encoder in `folder` as GGUF; `quantisation` is none (f32), f16, q8 or q4k."""
    shape = read_shape(folder / "config.json", ("bert",))
    writer = gguf.GGUFWriter(str(target), "bert")
    try:
        _describe(writer, folder, shape, quantisation)
        _vocabulary(writer, folder / "tokenizer.json")
        for name, values in _tensors(folder, shape):
            kind = _kind(name, values, quantisation)
            writer.add_tensor(name, _pack_tensor(values, kind), raw_dtype=kind)
    except _NO_ENCODER as exc:
        raise ModelNotFoundError(f"{folder} does not contain a BERT encoder: {exc!r}") from exc
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
    """WordPiece as llama.cpp expects it: a mark before a word's first token, none before the others."""
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
    """The encoder's tensors by llama.cpp's names; others, such as a pooling layer, are skipped."""
    weights = load_file(folder / "model.safetensors")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, shape.layers)
    named = {name: names.get_name(name, try_suffixes=_SUFFIXES) for name in sorted(weights)}
    found = {name: target for name, target in named.items() if target is not None}
    if len(found) != _TENSORS + _LAYER_TENSORS * shape.layers:
        raise LookupError(f"{len(found)} tensors of an encoder with {shape.layers} layers")
    for name, target in found.items():
        yield target, np.ascontiguousarray(weights[name], np.float32)


def _kind(name: str, values: np.ndarray, quantisation: str) -> Kind:
    """Type of one tensor; a row that q4_k can't hold becomes q5_0, as in llama.cpp's own quantiser."""
    if quantisation == "none" or values.ndim == 1 or name in _ALWAYS_FLOAT:
        return Kind.F32
    if quantisation == "f16":
        return Kind.F16
    if quantisation == "q8":
        return Kind.Q8_0
    return Kind.Q4_K if values.shape[-1] % _Q4K_ROW == 0 else Kind.Q5_0


def _pack_tensor(values: np.ndarray, kind: Kind) -> np.ndarray:
    """Pack a tensor; `gguf` packs every kind but q4_k, for which ggml's own quantiser is called."""
    if kind is not Kind.Q4_K:
        return gguf.quants.quantize(values, kind)
    packed = np.empty(gguf.quant_shape_to_byte_shape(values.shape, kind), np.uint8)
    rows, row = values.size // values.shape[-1], values.shape[-1]
    size = _ggml_quantiser()(kind, values.ctypes.data, packed.ctypes.data, 0, rows, row, None)
    if size != packed.nbytes:
        raise ValueError(f"ggml packed {size} of {packed.nbytes} bytes")
    return packed


def _ggml_quantiser() -> ctypes._NamedFuncPointer:
    """ggml_quantize_chunk of the llama.cpp that runs the model."""
    try:
        quantise = ctypes.CDLL(xllamacpp.xllamacpp.__file__).ggml_quantize_chunk
    except (AttributeError, OSError) as exc:
        raise EmbedderError(
            "this build of xllamacpp does not export ggml's quantiser, which quantization q4k needs. "
            "Set quantization to q8, or give a q4_k `file`."
        ) from exc
    quantise.restype = ctypes.c_size_t
    quantise.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p]
    return quantise
