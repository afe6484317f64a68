"""Expressions of an experiment that read answers: none may fill the memory, nest without end, or forge a header."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bakeoff import registry
from bakeoff.corpus.paths import full_match
from bakeoff.errors import DataError
from bakeoff.plugins.retrievers.http import shape
from bakeoff.truth.documents import glob_expression

PLUGIN = registry.load("retrievers", "http")


def params(**changed: object) -> object:
    return PLUGIN.Params(**{"url": "http://127.0.0.1:1", "body": {"q": "{query}"}, "id": "id", **changed})


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("|".join(["[@, @][]"] * 30), "64 times"),
        ("[" + ", ".join(["@"] * 65) + "][]", "64 times"),
        ("join(@, [@])" + "|join(@, [@])" * 3, "64 times"),
        ("!" * 400 + "a", "60 levels"),
        ("a" + "[]" * 400, "60 levels"),
        ("a" + ".b" * 500, "1,001 characters"),
    ],
)
def test_an_expression_that_grows_or_nests_is_refused(path: str, why: str) -> None:
    for field in ("hits", "text", "score"):
        with pytest.raises(ValidationError, match=why):
            params(**{field: path})


@pytest.mark.parametrize(
    "path",
    [
        "@",
        "hits.hits[*]._source",
        "data[?score > `0.5`] | [:10]",
        "join(' ', parts[].text)",
        "results[].{id: doc.id, text: doc.body}",
        "[title, body]",
    ],
)
def test_ordinary_expressions_are_taken(path: str) -> None:
    assert params(hits=path, text=path)


@pytest.mark.parametrize("name", ["X-A\r\nHost", "", "a b", "X:", "é"])
def test_a_header_s_name_is_one_word(name: str) -> None:
    with pytest.raises(ValidationError, match="name of a header"):
        params(headers={name: "1"})


def test_the_shape_of_an_answer_is_short() -> None:
    assert len(shape({"a" * 10_000_000: 1})) < 200


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", ["*a" * 60 + "b", "**/a" * 30 + "b", "a*" * 60 + "b*.md"])
def test_no_glob_takes_long_on_any_path(pattern: str) -> None:
    plugin = registry.load("sources", "folder")
    name = "a" * 200 + ".md"
    assert not plugin(plugin.Params(folder=".", include=[pattern]))._included(name)
    assert not full_match(pattern, glob_expression(pattern))(name)


def test_globs_of_many_wildcards_match_what_they_name() -> None:
    pattern = "**/a*b*c*/[xy]?.md"
    matches = full_match(pattern, glob_expression(pattern))
    assert matches("docs/a1b2c3/x1.md") and not matches("docs/a1b2c3/z1.md")


@pytest.mark.parametrize("pattern", ["[z-a].md", "****[z-a]*"])
def test_a_glob_that_is_none_is_named(pattern: str) -> None:
    with pytest.raises(DataError, match="z-a"):
        full_match(pattern, glob_expression(pattern))
