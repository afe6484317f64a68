"""The reader of user files: what it accepts, and what it says about what it refuses."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.config import yaml_document
from bakeoff.errors import ExperimentError, QueryFileError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdé", min_size=1), inner, max_size=4)
    ),
    max_leaves=20,
)


def parse(text: str, is_json: bool = False) -> yaml_document.YamlDocument:
    return yaml_document.parse(text, "q.yaml", QueryFileError, is_json)


def refused(text: str, is_json: bool = False) -> str:
    with pytest.raises(QueryFileError) as caught:
        parse(text, is_json)
    return str(caught.value)


@settings(deadline=None)
@given(VALUES)
def test_reads_what_yaml_writes(value: object) -> None:
    assert parse(yaml.safe_dump({"v": value}, allow_unicode=True, default_style='"')).data == {"v": value}


@settings(deadline=None)
@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_reads_what_json_writes(value: object, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps({"v": value}, indent=indent, ensure_ascii=ascii_only)
    assert parse(text, is_json=True).data == {"v": value}


def test_plain_words_are_read_as_yaml_1_2_reads_them() -> None:
    text = "a: no\nb: on\nc: 2026-01-13\nd: 12:30\ne: true\nf: 0x1F\ng: 1e3\nh: ~\ni: 007\n1: x"
    words = {"a": "no", "b": "on", "c": "2026-01-13", "d": "12:30", "1": "x"}
    assert parse(text).data == {**words, "e": True, "f": 31, "g": 1000.0, "h": None, "i": 7}


def test_every_value_has_its_line() -> None:
    located = parse(
        "# first\nqueries:\n  - id: a\n    text: x\n  -\n    id: b\n    truth: {any: [1,\n      2]}\n"
    )
    assert located.line(()) == 2
    assert located.line(("queries", 0, "text")) == 4
    assert located.line(("queries", 1, "id")) == 6
    assert located.line(("queries", 1, "truth", "any", 1)) == 8
    assert located.line(("queries", 1, "missing")) == 6
    assert located.line(("queries", "list[QueryPart]", 1, "id")) == 6
    assert located.where(("queries", 0, "text")) == "q.yaml, line 4"


def test_json_has_lines_too() -> None:
    assert parse('{\n\t"a": [\n\t\t{"b": "\\ud83d\\ude00"}]}', is_json=True).line(("a", 0, "b")) == 3


def test_duplicate_keys_name_both_lines() -> None:
    text = refused("a:\n  x: 1\n  y: 2\n  x: 3\n")
    assert "line 4" in text
    assert '"x"' in text
    assert "line 2" in text
    assert "line 2" in refused('{"a": 1,\n"a": 2}', is_json=True)


def test_tab_is_named() -> None:
    text = refused("a:\n\tb: 1\n")
    assert "line 2" in text
    assert "tab" in text
    assert "spaces" in text


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "- " * 200_000 + "a", "[" * 200 + "]" * 200, "{a: " * 100_000],
    ids=["flow", "block", "closed", "maps"],
)
def test_deep_nesting_is_refused_and_does_not_crash(text: str) -> None:
    assert "nested more than 64" in refused(text)


def test_deep_json_is_refused() -> None:
    assert "nested more than 64" in refused("[" * 100_000 + "]" * 100_000, is_json=True)


def test_alias_bomb_is_refused_quickly() -> None:
    names = [f"a{i}" for i in range(30)]
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in pairwise(names))
    start = time.process_time()
    assert "aliases expand" in refused(text)
    assert time.process_time() - start < 20


def test_a_few_aliases_are_read() -> None:
    assert parse("a: &x {b: 1}\nc: *x\n").data == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: *x", "*x"),
        ("&a [*a]", "*a"),
        ("a: !!python/object/apply:os.system [ls]", "python/object"),
        ("a: !mine x", "!mine"),
        ("a: x\x01y", "control character"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("", "empty"),
        ("# nothing\n", "empty"),
        ("a: @b", "quote"),
        ("x: 'unclosed", "not YAML"),
        ("<<: {a: 1}", "merge"),
        ("? [a]\n: 1", "key must be a text"),
        ("k: " + "9" * 5000, "5000 digits"),
    ],
)
def test_refusals_say_what_it_is(text: str, said: str) -> None:
    message = refused(text)
    assert said in message
    assert message.startswith("q.yaml")


def test_json_errors_have_a_place() -> None:
    assert "line 2, column 6" in refused('{"a": 1,\n"b": }', is_json=True)


def test_invalid_utf8_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "q.yaml"
    path.write_bytes("a: ü\n".encode() + b"b: caf\xe9\n")
    with pytest.raises(QueryFileError, match=r"line 2.*12.*0xe9.*UTF-8"):
        yaml_document.read(path, QueryFileError)
    path.write_bytes("a: 1".encode("utf-16"))
    with pytest.raises(QueryFileError, match="UTF-16"):
        yaml_document.read(path, QueryFileError)


def test_bom_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "q.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert yaml_document.read(path, QueryFileError).data == {"a": 1}


def test_missing_folder_and_large_files(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError):
        yaml_document.read(tmp_path / "none.yaml", ExperimentError)
    with pytest.raises(ExperimentError, match="is a folder"):
        yaml_document.read(tmp_path, ExperimentError)
    path = tmp_path / "big.yaml"
    path.write_text("a: " + "x" * 100)
    with pytest.raises(ExperimentError, match=r"103.*50"):
        yaml_document.read(path, ExperimentError, limit=50)


def test_a_100_mb_file_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    start = time.process_time()
    with pytest.raises(QueryFileError, match="100,000,000 bytes"):
        yaml_document.read(path, QueryFileError)
    assert time.process_time() - start < 10


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    category: str = ""
    first: int = Field(alias="from", ge=1)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[Inner]
    by_name: dict[str, Inner] | None = None


def explained(text: str) -> list[str]:
    with pytest.raises(QueryFileError) as caught:
        yaml_document.validate_model(Outer, parse(text), QueryFileError)
    return str(caught.value).splitlines()


def test_model_errors_are_one_readable_error() -> None:
    lines = explained("items:\n  - categry: a\n    from: x\n  - {}\n")
    assert any(
        line.startswith('q.yaml, line 2: unknown key "categry" in items[0]. Did you mean "category"?')
        for line in lines
    )
    assert any("line 3" in line and '"items[0].from"' in line and "'x'" in line for line in lines)
    assert any('line 4: "items[1].from" is missing' in line for line in lines)


def test_known_keys_are_those_of_the_place() -> None:
    (line,) = explained("items: []\nby_name: {x: {from: 1, categories: b}}\n")
    assert "Known keys: category, from." in line


def test_many_errors_are_counted() -> None:
    lines = explained("items:\n" + "  - {}\n" * 40)
    assert "30 more" in lines[-1]


def test_valid_model_is_returned() -> None:
    assert (
        yaml_document.validate_model(Outer, parse("items: [{from: 2}]"), QueryFileError).items[0].first == 2
    )


def test_part_of_a_file_can_be_validated() -> None:
    located = parse("x:\n  y:\n    from: 0\n")
    with pytest.raises(QueryFileError, match=r'exp, line 3: "x.y.from"'):
        yaml_document.validate_model(Inner, located, QueryFileError, "exp", ("x", "y"))


def test_ten_thousand_queries_are_read_in_time() -> None:
    text = "queries:\n" + "".join(
        f"  - id: q{i}\n    text: what is number {i}\n    difficulty: easy\n    truth: {{documents: [a{i}.py]}}\n"
        for i in range(10_000)
    )
    start = time.process_time()
    located = parse(text)
    assert time.process_time() - start < 30
    assert located.line(("queries", 9_999, "id")) == 39_998
