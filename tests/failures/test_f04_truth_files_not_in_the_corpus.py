"""F01, F04: truth ids and files that match nothing in the corpus."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError, TruthError
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.truth.queries import QuerySet, query_set
from bakeoff.truth.resolve import resolve


def corpus(names: list[str]) -> pa.Table:
    empty = [""] * len(names)
    columns = {"id": names, "version": empty, "kind": empty, "title": empty, "fields": ["{}"] * len(names)}
    return DOCUMENTS.table({**columns, "text": names})


def queries(name: str) -> QuerySet:
    text = f'queries:\n  - {{id: ok, text: a, truth: {{file: a.txt}}}}\n  - id: lost\n    text: b\n    truth: {{file: "{name}"}}\n'
    return query_set(yaml_document.parse(text, "queries.yaml", QueryFileError))


def test_f01_ids_of_another_scheme_are_an_error() -> None:
    hashed = [hashlib.md5(str(i).encode(), usedforsecurity=False).hexdigest() for i in range(3)]
    with pytest.raises(TruthError, match=r'queries\.yaml.*line 5.*"doc_001"'):
        resolve(queries("doc_001"), corpus(["a.txt", *hashed]), {}, strict=True)


def test_f04_a_file_that_does_not_exist_is_an_error_with_the_nearest_names() -> None:
    documents = corpus(["a.txt", "reports/AAR1401.pdf", "reports/AAR1410.pdf"])
    with pytest.raises(TruthError) as caught:
        resolve(queries("AAR1411"), documents, {}, strict=True)
    assert "Nearest: reports/AAR1410.pdf, reports/AAR1401.pdf." in str(caught.value)
    assert "query ok" not in str(caught.value)


def test_f04_without_strict_the_error_is_a_problem_and_no_judgment() -> None:
    truth = resolve(queries("gone.txt"), corpus(["a.txt"]), {})
    assert [problem.query_id for problem in truth.errors] == ["lost"]
    assert truth.judgments["query"].to_pylist() == [0]


@pytest.mark.parametrize("more", ["gone.txt", "gone/*.txt"])
def test_f04_a_file_that_exists_does_not_excuse_one_that_does_not(more: str) -> None:
    text = f'queries:\n  - {{id: half, text: a, truth: {{documents: [a.txt, "{more}"]}}}}\n'
    made = query_set(yaml_document.parse(text, "queries.yaml", QueryFileError))
    with pytest.raises(TruthError, match=f'no document matches "{more}"'.replace("*", r"\*")):
        resolve(made, corpus(["a.txt", "b.txt"]), {}, strict=True)


@pytest.mark.parametrize(
    "truth",
    ["{symbol: 'gone.py::f'}", "{lines: {document: gone.py, from: 1, to: 2}}", "{passage: gone away}"],
)
def test_f04_places_in_files_that_are_not_there_are_errors_too(truth: str) -> None:
    text = f"queries:\n  - {{id: lost, text: a, truth: {truth}}}\n"
    made = query_set(yaml_document.parse(text, "queries.yaml", QueryFileError))
    with pytest.raises(TruthError, match=r"query lost: .*document"):
        resolve(made, corpus(["a.txt"]), {}, strict=True)


def test_f04_both_commands_refuse(small: Path, cli: Any) -> None:
    queries_file = Path("queries.yaml")
    queries_file.write_text(
        queries_file.read_text().replace("[guide/deploy.md]", "[guide/deploy.md, guide/gone.md]")
    )
    for command in (("validate",), ("run", "--out", "run")):
        done = cli(*command)
        assert done.code == 2 and 'no document matches "guide/gone.md"' in " ".join(
            (done.out + done.err).split()
        )
    assert not Path("run/scores.parquet").exists()
