"""Queries with a filter: every mode searches among the rows it leaves, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import QueryFileError
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.run import run
from bakeoff.truth.queries import read_queries
from bakeoff.types import Condition, DateCondition, Hits, Where

TEXT = """\
queries:
  - {id: code, text: remove the entry unused for the longest time, filter: {kind: python}, truth: {documents: [src/cache.py]}}
  - {id: guide, text: tax for another country, filter: {document: [guide/billing.md, guide/auth.md]}, truth: {documents: [guide/billing.md]}}
  - {id: free, text: how many days are database copies kept, truth: {documents: [guide/deploy.md]}}
"""
ALLOWED = {
    "code": {"src/cache.py", "src/retry.py", "src/slug.py"},
    "guide": {"guide/billing.md", "guide/auth.md"},
}


@pytest.fixture
def filtered(tiny: Path) -> Path:
    Path("queries.yaml").write_text(TEXT)
    tiny.write_text(tiny.read_text().replace("[line, semantic]", "[{line: {doc_lines: 4, code_lines: 6}}]"))
    return tiny


# --- the file ---------------------------------------------------------------------------------------


def read(tmp_path: Path, given: str) -> tuple[Where, ...]:
    path = tmp_path / "queries.yaml"
    path.write_text(f"queries:\n  - {{id: a, text: b, filter: {given}, truth: negative}}\n")
    return read_queries(path).filters


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("{section: X}", (Condition("section", ("X",)),)),
        ("{kind: [python, sql]}", (Condition("kind", ("python", "sql")),)),
        ("{year: {least: 2000, most: 2010}}", (Condition("year", (), 2000, 2010),)),
        ("{year: {most: 2010}, kind: sql}", (Condition("year", (), None, 2010), Condition("kind", ("sql",)))),
        ("{year: 2004}", (Condition("year", (2004,)),)),
        ("{day: {from: 1970-01-02, to: 1970-01-03}}", (DateCondition("day", (), 86_400, 3 * 86_400 - 1),)),
        ("{day: {to: 1970-01-01T01:00:00+01:00}}", (DateCondition("day", (), None, 0),)),
    ],
)
def test_conditions_as_they_are_written(tmp_path: Path, given: str, wanted: Where) -> None:
    assert read(tmp_path, given) == (wanted,)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{year: {}}", "it has no condition"),
        ("{year: {least: 3, most: 2}}", "least 3 is above most 2"),
        ("{year: {from: 3}}", "3 is not a date such as 2026-05-01"),
        ("{day: {from: 2026-05-02, to: 2026-05-01}}", "from is after to"),
        ("{day: {from: 2026-05-02, least: 3}}", "Keep one pair"),
        ("{draft: true}", "should be a text or number"),
        ("{year: []}", "should be a text or number"),
    ],
)
def test_conditions_that_are_none(tmp_path: Path, given: str, said: str) -> None:
    with pytest.raises(QueryFileError, match="query a") as caught:
        read(tmp_path, given)
    assert said in str(caught.value)


def test_a_set_without_filters_is_named_as_before(tmp_path: Path) -> None:
    path = tmp_path / "queries.yaml"
    path.write_text("queries:\n  - {id: a, text: b, truth: negative}\n")
    found = read_queries(path)
    assert found.filters == () and len(found.content()) == 2


# --- the run ----------------------------------------------------------------------------------------


def test_every_mode_and_store_stays_within_the_filter(filtered: Path) -> None:
    result = run(filtered, out=Path("run"))
    assert result.failed == {} and len(result.done) == 5
    for row in result.rankings.to_pylist():
        assert row["document_id"] in ALLOWED.get(row["query_id"], {row["document_id"]}), row
    for system in result.done:
        rows = [row for row in result.rankings.to_pylist() if row["system"] == system]
        assert {row["query_id"] for row in rows} == {"code", "guide", "free"}
        outside = {row["document_id"] for row in rows if row["query_id"] == "free"} - ALLOWED["guide"]
        assert outside  # the query without a filter is free


def test_the_reference_of_an_index_is_exact_search_within_the_filter(filtered: Path) -> None:
    filtered.write_text(filtered.read_text() + "measures: {primary: nDCG@10, also: [kNN@5]}\n")
    result = run(filtered, out=Path("run"))
    rows = [row for row in result.scores.to_pylist() if row["measure"].startswith("kNN")]
    assert {row["system"].split(" · ")[2] for row in rows if row["value"] is not None} == {"exact", "faiss"}
    assert {row["value"] for row in rows if " exact " in row["system"]} == {1.0}


def test_a_store_that_cannot_filter_is_refused_and_never_asked_without(
    filtered: Path, register: Callable[..., None]
) -> None:
    asked: list[int] = []

    class Plain:
        """The exact store without what it knows of payloads."""

        version = "1"
        inner = registry.load("stores", "exact")
        Params, Query = inner.Params, inner.Query

        def __init__(self, params: Any, home: Path) -> None:
            self._store = self.inner(params, home)
            self.create, self.insert = self._store.create, self._store.insert
            self.ready, self.close = self._store.ready, self._store.close

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            asked.append(1)
            hits: Hits = self._store.search(vector, k, query)
            return hits

    register("stores", "plain", Plain)
    filtered.write_text(filtered.read_text().replace("[exact, faiss]", "[exact, plain]"))
    result = run(filtered, out=Path("run"))
    assert len(result.failed) == 2 and len(result.done) == 3 and asked == []
    for why in result.failed.values():
        assert why.startswith("plain ") and "2 queries" in why and "(code, guide)" in why


def test_an_engine_for_words_that_cannot_filter_is_refused(
    filtered: Path, register: Callable[..., None]
) -> None:
    class Deaf(registry.load("stores", "tantivy")):
        search_text_where = None  # a method that is None is not there

    register("stores", "deaf", Deaf)
    filtered.write_text(filtered.read_text().replace("[dense, bm25, hybrid]", "[{bm25: {engine: deaf}}]"))
    result = run(filtered, out=Path("run"))
    (why,) = result.failed.values()
    assert why.startswith("deaf ") and "by words" in why


def test_a_field_that_is_not_there_stops_the_run(filtered: Path) -> None:
    Path("queries.yaml").write_text(TEXT.replace("{kind: python}", "{kin: python}"))
    with pytest.raises(QueryFileError, match=r'"kin".*"kind"'):
        run(filtered, out=Path("run"))


def test_a_filter_that_nothing_satisfies_stops_the_run(filtered: Path) -> None:
    Path("queries.yaml").write_text(TEXT.replace("{kind: python}", "{kind: cobol}"))
    with pytest.raises(QueryFileError):
        run(filtered, out=Path("run"))


def found(experiment: Path) -> list[tuple[str, str]]:
    """Level and query of the findings about filters."""
    rows = [one for one in validate(experiment).findings if one.code == "filter"]
    return [(one.level, one.where.rpartition("query ")[2]) for one in rows]


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ("{kin: python}", "error"),
        ("{kind: cobol}", "error"),
        ("{kind: {least: 3}}", "error"),
        ("{section: Nowhere}", "error"),
        ("{kind: markdown}", "error"),  # it leaves documents, but not the relevant one
    ],
)
def test_validate_and_run_refuse_the_same_filters(filtered: Path, given: str, level: str) -> None:
    assert found(filtered) == []
    Path("queries.yaml").write_text(TEXT.replace("{kind: python}", given))
    assert found(filtered) == [(level, "code")]
    with pytest.raises(QueryFileError, match="query code"):
        run(filtered, out=Path("run"))


def test_a_filter_that_leaves_out_a_part_of_the_truth_is_a_note(filtered: Path) -> None:
    text = TEXT.replace("[src/cache.py]", "[src/cache.py, guide/auth.md]")
    Path("queries.yaml").write_text(text)
    assert found(filtered) == [("warning", "code")]
    result = run(filtered, out=Path("run"))
    assert any("leaves out 1 of 2 relevant documents" in note for note in result.record.notes)


def test_another_filter_is_another_query_set(filtered: Path) -> None:
    first = read_queries(Path("queries.yaml")).content()
    Path("queries.yaml").write_text(TEXT.replace("{kind: python}", "{kind: sql}"))
    assert read_queries(Path("queries.yaml")).content() != first
