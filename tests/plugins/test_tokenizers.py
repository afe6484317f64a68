"""Tokenizer files: one instance a file, read anew when it changed, refused in words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bakeoff.errors import DataError, ModelNotFoundError
from bakeoff.plugins import _tokenizers as tokenizers


def write(path: Path, *words: str) -> Path:
    model = {
        "type": "WordLevel",
        "vocab": {word: n for n, word in enumerate(("[UNK]", *words))},
        "unk_token": "[UNK]",
    }
    cut = {"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    path.write_text(json.dumps({"pre_tokenizer": {"type": "Whitespace"}, "truncation": cut, "model": model}))
    return path


def test_everybody_gets_the_same_one_and_it_cuts_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "tokenizer.json", "a", "b")
    one = tokenizers.shared_tokenizer(path)
    assert tokenizers.shared_tokenizer(path) is one
    assert one.encode("a b a").ids == [1, 2, 1]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "tokenizer.json", "a")
    assert tokenizers.shared_tokenizer(path).encode("b").ids == [0]
    write(path, "a", "b")
    os.utime(path, ns=(1, 1))
    assert tokenizers.shared_tokenizer(path).encode("b").ids == [2]


def test_one_of_ones_own_may_be_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "tokenizer.json", "a")
    mine = tokenizers.own(path)
    mine.enable_truncation(1)
    assert len(mine.encode("a a").ids) == 1
    assert len(tokenizers.own(path).encode("a a").ids) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{", "is not JSON"), (b"\xff", "is not JSON"), (b"[" * 100_000, "is not JSON"), (b"{}", "has no 'model'"),
     (b'{"model": 1}', "is not a tokenizer")],
)  # fmt: skip
def test_what_is_none_is_said(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        tokenizers.shared_tokenizer(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        tokenizers.own(tmp_path / "nothing.json")
