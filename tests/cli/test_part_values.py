"""Parameters on the command line: key=value, nested keys, invalid values."""

from __future__ import annotations

import pytest

from bakeoff.cli.trials.part import _values, given_value
from bakeoff.cli.trials.store import _nest_settings
from bakeoff.errors import SettingError


def test_values_are_read_as_in_a_file() -> None:
    assert _nest_settings(["build.m=32", "build.kinds=[a, b]", "name=x", "empty="]) == {
        "build": {"m": 32, "kinds": ["a", "b"]}, "name": "x", "empty": None,
    }  # fmt: skip
    assert _values(["threads=2"], "q8") == {"quantization": "q8", "threads": 2}


@pytest.mark.parametrize("text", ["[a", "{", "\x00", "&a [*a", "!!python/name:os.system", "[" * 500])
def test_invalid_values_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="--set"):
        given_value(text, "--set x")


@pytest.mark.parametrize("text", ["query: ", "search: a: b", "plain ", "為此: "])
def test_text_stays_as_typed(text: str) -> None:
    assert _values([f"query_prompt={text}"], None) == {"query_prompt": text}
    assert given_value(f"'{text}'", "--set x") == text


def test_a_nested_value_inside_a_plain_value_is_refused() -> None:
    with pytest.raises(SettingError, match=r"--set.*'build\.m=32'.*3"):
        _nest_settings(["build=3", "build.m=32"])
