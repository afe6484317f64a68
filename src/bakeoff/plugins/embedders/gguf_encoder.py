"""Reads a NomicBERT encoder from a GGUF file: sizes, tensors and tokenizer, for the graph that ONNX Runtime runs."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.gguf_file import GgufModel, GgufReader, field_value, read_gguf
from bakeoff.plugins.embedders.rotary_shape import RotaryAttention, RotaryShape

ARCHITECTURE = "nomic-bert"
_BLOCK = "blk."
_NAMES = {
    "token_embd": "embeddings.word_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "emb_ln",
    "attn_qkv": "attn.Wqkv",
    "attn_output": "attn.out_proj",
    "attn_output_norm": "norm1",
    "ffn_up": "mlp.fc11",
    "ffn_gate": "mlp.fc12",
    "ffn_down": "mlp.fc2",
    "layer_output_norm": "norm2",
}
"""The maker's names of tensors by llama.cpp's."""
_WORD = "\u2581"
"""Marks a token that begins a word; WordPiece marks those that continue one."""
_UNKNOWN = "[UNK]"


class GgufEncoder:
    """A NomicBERT encoder in a GGUF file of any precision."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.model: GgufModel = read_gguf(file)
        self._reader = GgufReader(file)
        found = field_value(self._reader.fields, "general.architecture")
        if found != ARCHITECTURE:
            raise ModelNotFoundError(
                f"{file} is of the architecture {found!r}; ONNX Runtime runs {ARCHITECTURE} only. Use llamacpp for it."
            )

    def shape(self) -> RotaryShape:
        """The sizes of the encoder."""
        layer = RotaryAttention(base=float(self._value("rope.freq_base")))
        return RotaryShape(
            family="nomic_bert",
            attention=(layer,) * int(self._value("block_count")),
            heads=int(self._value("attention.head_count")),
            dims=self.model.dims,
            positions=self.model.positions,
            epsilon=float(self._value("attention.layer_norm_epsilon")),
        )

    def weights(self) -> dict[str, np.ndarray]:
        """The tensors as float32 by the maker's names."""
        return {
            _maker_name(tensor.name): gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(
                np.float32
            )
            for tensor in self._reader.tensors
        }

    def save_tokenizer(self, target: Path) -> None:
        """Write the vocabulary as the tokenizer.json of an uncased WordPiece model."""
        listed = self._reader.fields["tokenizer.ggml.tokens"]
        tokens = [_wordpiece(bytes(listed.parts[at]).decode("utf-8")) for at in listed.data]
        ids = {token: number for number, token in enumerate(tokens)}
        tokenizer = Tokenizer(models.WordPiece(ids, unk_token=_UNKNOWN, max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[(token, ids[token]) for token in ("[CLS]", "[SEP]")],
        )
        tokenizer.save(str(target))

    def _value(self, name: str) -> float:
        return float(field_value(self._reader.fields, f"{ARCHITECTURE}.{name}"))


def _maker_name(name: str) -> str:
    """`blk.3.ffn_up.weight` is `encoder.layers.3.mlp.fc11.weight`."""
    stem, _, end = name.rpartition(".")
    if not stem.startswith(_BLOCK):
        return f"{_NAMES[stem]}.{end}"
    _, number, part = stem.split(".", 2)
    return f"encoder.layers.{number}.{_NAMES[part]}.{end}"


def _wordpiece(token: str) -> str:
    if token.startswith(_WORD):
        return token[len(_WORD) :]
    special = len(token) > 2 and token.startswith("[") and token.endswith("]")
    return token if special else f"##{token}"
