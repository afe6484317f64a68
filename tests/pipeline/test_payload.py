from __future__ import annotations

import json
from typing import Any

import pytest

from bakeoff.errors import QueryFileError
from bakeoff.pipeline.payload import build_payload
from bakeoff.storage.schemas import CHUNKS, DOCUMENTS
from bakeoff.types import Condition, DateCondition, PayloadField

YEARS: tuple[dict[str, str], ...] = ({"year": "2001", "code": "007"}, {"year": "1999"}, {})


def documents() -> Any:
    rows = [
        (f"{i}.md", "v", "markdown" if i else "python", "", json.dumps(y), "t") for i, y in enumerate(YEARS)
    ]
    columns = zip(*rows, strict=True)
    return DOCUMENTS.table({name: list(c) for (name, _), c in zip(DOCUMENTS.columns, columns, strict=True)})


def chunks() -> Any:
    """Two chunks a document."""
    rows = [(f"c{i}", i // 2, 0, 1, 1, 1, f"s{i % 2}", "", "", "t") for i in range(6)]
    columns = zip(*rows, strict=True)
    return CHUNKS.table({name: list(c) for (name, _), c in zip(CHUNKS.columns, columns, strict=True)})


def made(*conditions: Condition) -> Any:
    return build_payload([(one,) for one in conditions], documents(), chunks())


def test_what_every_chunk_has_and_what_its_document_has() -> None:
    found = made(*(Condition(name, ("x",)) for name in ("document", "kind", "section", "code")))
    assert [field.kind for field in found.fields] == ["text"] * 4
    assert found.rows(1, 3) == [
        {"document": "0.md", "kind": "python", "section": "s1", "code": "007"},
        {"document": "1.md", "kind": "markdown", "section": "s0", "code": ""},
    ]


def test_a_field_is_a_number_only_where_a_filter_has_bounds() -> None:
    assert made(Condition("year", (2001,))).fields == (PayloadField("year", "text"),)
    assert made(Condition("year", least=2000)).fields == (PayloadField("year", "integer"),)
    asked = made(Condition("year", (2001,)))
    assert asked.matching_chunks(asked.where((Condition("year", (2001,)),))).sum() == 2


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (Condition("year", least=2000), 2),
        (Condition("year", most=2000), 2),
        (Condition("year", least=1999, most=2001), 4),
        (Condition("year", (1999, 2001), most=2000), 2),
        (Condition("year", most=0), 0),
        (Condition("year", (0,), least=0), 0),
        (Condition("year", (-1000,), least=-5000), 0),
    ],
)
def test_a_document_without_the_number_is_never_within_bounds(condition: Condition, rows: int) -> None:
    found = made(condition)
    (field,) = found.fields
    assert field.kind == "integer" and found.matching_chunks(found.where((condition,))).sum() == rows


def test_every_value_of_a_lacking_number_is_below_the_others() -> None:
    for where in range(-3000, 3000, 7):
        condition = Condition("year", (where,), least=where)
        found = made(condition)
        assert found.matching_chunks(found.where((condition,))).sum() == 2 * (where in (1999, 2001))


def test_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(QueryFileError, match=r'"yeer".*"year"'):
        made(Condition("yeer", (1,)))


def test_bounds_for_a_text() -> None:
    with pytest.raises(QueryFileError, match=r'"kind".*\'python\''):
        made(Condition("kind", least=1))


def test_dates_are_seconds_and_a_missing_one_is_within_no_bounds() -> None:
    days = ({"day": "2026-05-01"}, {"day": "2026-05-02 10:00:00"}, {})
    table = documents().set_column(4, "fields", [[json.dumps(one) for one in days]])
    asked = DateCondition("day", (), None, 1_777_593_600 + 86_399)  # the last second of 2026-05-01
    found = build_payload([(asked,)], table, chunks())
    assert found.fields == (PayloadField("day", "integer"),)
    assert found.matching_chunks(found.where((asked,))).tolist() == [True, True, False, False, False, False]
    later = found.where((DateCondition("day", (), 1_777_593_601),))
    assert found.matching_chunks(later).tolist() == [False, False, True, True, False, False]


def test_a_text_that_is_not_a_date_is_an_error() -> None:
    with pytest.raises(QueryFileError, match="'007'"):
        made(DateCondition("code", (), 0))
