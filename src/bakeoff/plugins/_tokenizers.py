"""Reads tokenizer files with clear errors, and shares one instance per file.

The library keeps a tokenizer's word cache for as long as its worker threads live, even after the tokenizer is
gone: a process that reads the same file for each run would grow by megabytes each time.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from bakeoff.errors import DataError, ModelNotFoundError

_SHARED = 8
_PROBE = "a \u2603"
"""A word in no vocabulary, to detect one without a token for unknown words."""


def shared_tokenizer(path: Path) -> Tokenizer:
    """A file's tokenizer without truncation and padding, shared by all callers: do not modify it."""
    there = _there(path).stat()
    return _load_tokenizer(path, there.st_mtime_ns, there.st_size)


def own(path: Path) -> Tokenizer:
    """A private tokenizer without truncation, padding or word cache."""
    tokenizer = _read(_there(path))
    forget = getattr(tokenizer.model, "_resize_cache", None)
    if forget is not None:
        forget(0)
    return tokenizer


@lru_cache(maxsize=_SHARED)
def _load_tokenizer(path: Path, _changed: int, _size: int) -> Tokenizer:
    return _read(path)


def _there(path: Path) -> Path:
    if path.is_file():
        return path
    raise ModelNotFoundError(f"no tokenizer file at {path}: give 'wordllama', 'words' or a tokenizer.json")


def _read(path: Path) -> Tokenizer:
    try:
        text = path.read_text(encoding="utf-8")
        known = "model" in json.loads(text)
    except (ValueError, TypeError, RecursionError) as exc:
        raise DataError(f"{path} is not JSON ({exc}): give a tokenizer.json") from exc
    if not known:
        raise DataError(f"{path} has no 'model': give the tokenizer.json of a model, not its configuration")
    try:
        tokenizer = Tokenizer.from_str(text)
        tokenizer.encode(_PROBE)
    except Exception as exc:  # the library raises nothing more precise
        raise DataError(f"{path} is not a tokenizer ({exc}): give the tokenizer.json of a model") from exc
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
