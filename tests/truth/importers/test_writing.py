"""What is written is read back as it was, byte for byte the same each time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.config.yaml_document import parse
from bakeoff.errors import DataError, QueryFileError
from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries
from bakeoff.truth.importers.writing import query_file
from bakeoff.truth.queries import query_set

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def imported(**fields: object) -> ImportedQueries:
    draft = ImportDraft(**{"id": "a", "text": "b", "truth": {"documents": ["d"]}, "where": "x", **fields})  # type: ignore[arg-type]
    return ImportedQueries("csv", ("x.csv",), {}, (draft,), (), ())


@pytest.mark.parametrize(
    "text", ["1e5", "08", "0o17", "no", "~", "null", "1_0", "2026-01-13", ".5", "-", "a: b", "# c", "x\ny\n"]
)
def test_texts_that_look_like_other_things_stay_texts(text):
    made = query_set(parse(query_file(imported(id=text, text=text, tags={"t": text})), "q", QueryFileError))
    assert (made.queries[0].id, made.queries[0].text, made.queries[0].tags["t"]) == (text, text, text)


@settings(max_examples=50, deadline=None)
@given(TEXTS, TEXTS)
def test_any_text_reads_back(one, other):
    made = query_set(parse(query_file(imported(text=one, tags={"t": other})), "q", QueryFileError))
    assert (made.queries[0].text, made.queries[0].tags["t"]) == (one, other)


def test_half_a_surrogate_is_an_error():
    with pytest.raises(DataError, match="surrogate"):
        query_file(imported(text="\ud800"))


def test_header_names_format_and_files():
    text = query_file(imported())
    assert re.match(r"# .* csv .*x\.csv\.\n", text)
    assert text == query_file(imported())
