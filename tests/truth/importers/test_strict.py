"""What cannot be read is an error with file and line, whatever the format."""

from __future__ import annotations

import pytest

from bakeoff.errors import DataError, SettingError
from bakeoff.presets.import_formats import IMPORTERS, read_foreign


def test_unknown_format_says_which_there_are(tmp_path):
    with pytest.raises(SettingError, match='"beir"'):
        read_foreign("bier", [tmp_path])


@pytest.mark.parametrize("format_", ["lineage", "code", "vectordb", "goldsql", "csv"])
def test_empty_file(written, format_):
    name = "x.csv" if format_ == "csv" else "x.json" if format_ != "goldsql" else "x.yaml"
    with pytest.raises(DataError, match=name):
        read_foreign(format_, [written(name, b"")])


@pytest.mark.parametrize("format_", ["lineage", "code", "vectordb", "csv"])
def test_other_encodings(written, format_):
    name = "x.csv" if format_ == "csv" else "x.json"
    content = '{"queries": [\n{"id": "1", "query": "Zürich"}]}'.encode("latin-1")
    with pytest.raises(DataError, match=r"line 2: byte \d+ \(0xfc\) is not UTF-8"):
        read_foreign(format_, [written(name, content)])


def test_utf16_is_named(written):
    with pytest.raises(DataError, match="UTF-16"):
        read_foreign("csv", [written("x.csv", "query,document\na,b\n".encode("utf-16"))])


def test_duplicate_ids_name_both_lines(written):
    text = '{"queries": [\n{"id": "a", "query": "x", "relevant_chunks": ["f"]},\n{"id": "a", "query": "y", "relevant_chunks": ["f"]}]}'
    with pytest.raises(DataError, match=r"g\.json.*line 3.*'a'.*g\.json.*line 2"):
        read_foreign("lineage", [written("g.json", text)])


def test_missing_text_names_the_line(written):
    with pytest.raises(DataError, match=r"g\.json.*line 2"):
        read_foreign("lineage", [written("g.json", '{"queries": [\n{"id": "a"}]}')])


def test_no_list_of_queries(written):
    with pytest.raises(DataError):
        read_foreign("code", [written("g.json", {"items": []})])


def test_no_queries(written):
    with pytest.raises(DataError):
        read_foreign("code", [written("g.json", {"queries": []})])


def test_missing_file(tmp_path):
    for format_ in IMPORTERS:
        with pytest.raises(DataError):
            read_foreign(format_, [tmp_path / "none.json"])


def test_broken_json_names_line_and_column(written):
    with pytest.raises(DataError, match=r"g.json, line 2, column 1: not JSON"):
        read_foreign("vectordb", [written("g.json", "[{\n]")])
