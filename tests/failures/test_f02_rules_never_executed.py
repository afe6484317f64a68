"""F02: verification SQL written down but never executed when scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError, TruthError
from bakeoff.runs.run import run
from bakeoff.storage.schemas import CHUNKS, DOCUMENTS
from bakeoff.truth.queries import query_set
from bakeoff.truth.resolve import resolve

TEXTS = ["fatigue of the pilot", "the pilot slept", "fatigue crack"]


def world() -> tuple[object, object]:
    empty, ones = [""] * 3, [1] * 3
    names = [f"r{i}.pdf" for i in range(3)]
    documents = DOCUMENTS.table(
        {
            "id": names,
            "version": empty,
            "kind": ["pdf"] * 3,
            "title": empty,
            "fields": ["{}"] * 3,
            "text": TEXTS,
        }
    )
    places = {
        "doc": range(3),
        "start": [0] * 3,
        "end": [len(text) for text in TEXTS],
        "line_start": ones,
        "line_end": ones,
    }
    labels = {"section": empty, "symbol": empty, "context": empty}
    return documents, CHUNKS.table({"id": names, **places, **labels, "text": TEXTS})


QUERIES = """
queries:
  - id: con-1
    text: tired pilots
    truth:
      any:
        - documents: [r0.pdf]
        - sql: "chunk_text LIKE '%fatigue%' AND chunk_text LIKE '%pilot%'"
        - sql: "chunk_text LIKE '%fatigue%'"
          name: wide
        - all: [{sql: "chunk_text LIKE '%crack%'"}, {keywords: {any: [fatigue]}}]
        - signals: {at_least: 2, of: [fatigue, crack, slept]}
"""


def test_f02_every_rule_is_executed_and_its_hits_are_counted() -> None:
    documents, chunks = world()
    queries = query_set(yaml_document.parse(QUERIES, "queries.yaml", QueryFileError))
    truth = resolve(queries, documents, {"c": chunks})
    counted = {(hit.rule, hit.source): (hit.hits, hit.documents) for hit in truth.hits if hit.rule != "truth"}
    assert counted == {
        ("truth.any.0", "documents"): (1, 1),
        ("truth.any.1", "sql"): (1, 1),
        ("truth.any.2", "wide"): (2, 2),
        ("truth.any.3", "all-of(sql,keywords)"): (1, 1),
        ("truth.any.3.all.0", "sql"): (1, 1),
        ("truth.any.3.all.1", "keywords"): (2, 2),
        ("truth.any.4", "signals>=2"): (1, 1),
    }
    assert truth.problems == ()


@pytest.mark.parametrize(
    "condition", ["no_such_column = 1", "chunk_text LIKE", "CAST(chunk_text AS INTEGER) = 1"]
)
def test_f02_a_rule_that_cannot_be_executed_stops_the_run(condition: str) -> None:
    documents, chunks = world()
    text = QUERIES + f'        - sql: "{condition}"\n'
    queries = query_set(yaml_document.parse(text, "queries.yaml", QueryFileError))
    with pytest.raises(TruthError, match=r"queries\.yaml.*line 13.*con-1"):
        resolve(queries, documents, {"c": chunks}, strict=True)


TOLD = """
queries:
  - id: money
    text: get my money back
    truth:
      any: [{documents: [guide/billing.md]}, {sql: "chunk_text LIKE '%refund%' AND chunk_text LIKE '%card%'"}]
  - {id: rollback, text: what happens when the health check fails, truth: {documents: [guide/deploy.md]}}
"""


def test_f02_a_run_keeps_what_each_rule_hit(small: Path) -> None:
    Path("queries.yaml").write_text(TOLD)
    hits = run(small, out=Path("run")).record.truth_hits
    kept = {(hit.query_id, hit.rule): (hit.hits, hit.documents) for hit in hits if hit.rule != "truth"}
    assert kept == {("money", "truth.any.0"): (1, 1), ("money", "truth.any.1"): (2, 1)}
    whole = {(hit.query_id, bool(hit.chunking)): hit.hits for hit in hits if hit.rule == "truth"}
    assert whole == {("money", False): 1, ("money", True): 2, ("rollback", False): 1}


def test_f02_the_hits_of_each_query_and_rule_are_printed(small: Path, cli: Any) -> None:
    Path("queries.yaml").write_text(TOLD)
    printed = cli("validate", "--verbose", "--quiet").out
    rows = [line.split() for line in printed.splitlines()]
    assert ["rollback", "1", "1"] in rows
    assert ["money", "truth.any.0", "documents", "1", "1"] in rows
    assert any(row[:3] == ["money", "truth.any.1", "sql"] and row[-2:] == ["2", "1"] for row in rows)
