"""Damaged files that once made a reader of the package's own rooms fall over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bakeoff.config import yaml_document
from bakeoff.errors import DataError, ExperimentError
from bakeoff.runs.folder import read_tags
from bakeoff.storage.shared_cache import read_header
from bakeoff.storage.shared_location import MARKER, ensure_marker


def test_a_number_of_thousands_of_digits_in_json() -> None:
    with pytest.raises(ExperimentError, match=r"a\.json.*JSON"):
        yaml_document.parse("1" * 5000, "a.json", ExperimentError, is_json=True)


@pytest.mark.parametrize("said", ["{", "[" * 5000, "[]", "null", "3"])
def test_tags_that_are_no_object(said: str) -> None:
    with pytest.raises(DataError, match=r"queries\.parquet: tags"):
        read_tags(said)
    assert read_tags(None) == {} and read_tags('{"a": 1}') == {"a": 1}


def test_a_mark_of_any_bytes_is_a_mark(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_bytes(b"\xff\x00mark")
    folder = ensure_marker(tmp_path)
    assert folder.is_available()
    (tmp_path / MARKER).write_bytes(b"\xfe")
    assert not folder.is_available()


@pytest.mark.parametrize("size", [float("inf"), float("nan"), "x", None, -1])
def test_a_parcel_whose_sizes_are_none(size: object) -> None:
    head = json.dumps({"artifact": "a", "files": {"f": [size, "0"]}}).encode() + b"\n"
    with pytest.raises(ValueError, match=r"not an artifact|name or size"):
        read_header("a", head)
