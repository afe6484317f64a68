"""F20: empty truth scored as 1.0 whatever was returned. F11: universal sections quietly widened."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError, TruthError
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.truth.queries import QuerySet, query_set
from bakeoff.truth.resolve import resolve


def corpus() -> pa.Table:
    text = "SYNOPSIS\nall of it\nPROBABLE CAUSE\nthe wing\n"
    columns = {"id": ["a.txt"], "version": [""], "kind": ["text"], "title": [""], "fields": ["{}"]}
    return DOCUMENTS.table({**columns, "text": [text]})


def queries(truth: str) -> QuerySet:
    text = f"queries:\n  - id: q\n    text: b\n    truth: {truth}\n"
    return query_set(yaml_document.parse(text, "queries.yaml", QueryFileError))


@pytest.mark.parametrize(
    "truth",
    [
        "{keywords: {any: [zebra]}, over: documents}",
        "{documents: [a.txt], grade: 0}",
        "{all: [{keywords: {any: [zebra]}, over: documents}, {documents: [a.txt]}]}",
    ],
)
def test_f20_a_truth_that_finds_nothing_is_an_error(truth: str) -> None:
    with pytest.raises(TruthError, match=r"query q: .*truth: negative"):
        resolve(queries(truth), corpus(), {}, strict=True)


def test_f20_a_query_without_truth_is_not_read() -> None:
    with pytest.raises(QueryFileError, match="query q"):
        queries("")


def test_f20_negative_is_said_and_has_no_judgments() -> None:
    made = queries("negative")
    assert made.queries[0].negative
    assert resolve(made, corpus(), {}, strict=True).judgments.num_rows == 0


def test_f11_universal_sections_never_become_judgments() -> None:
    narrow = resolve(queries("{sections: [PROBABLE CAUSE]}"), corpus(), {}, strict=True)
    wide = resolve(
        queries("{sections: {of: [PROBABLE CAUSE], universal: [SYNOPSIS]}}"), corpus(), {}, strict=True
    )
    assert wide.judgments.equals(narrow.judgments)
    assert narrow.judgments.num_rows == 1
