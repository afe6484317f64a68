"""F06: chunk ids numbered per document by one store and globally by another: chunks map to wrong documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from bakeoff import registry
from bakeoff.runs.run import run
from bakeoff.testing.smoke_test import outcomes
from bakeoff.testing.store_fixture import StoreFixture
from bakeoff.types import Batch


def test_f06_a_chunk_id_names_its_document_and_place_in_every_store(ran: Any) -> None:
    rows = ran.result.rankings.to_pylist()
    assert len({row["system"] for row in rows}) == 10
    for row in rows:
        assert row["chunk_id"].startswith(f"{row['document_id']}#{row['start']}-{row['end']}.")


def test_f06_two_stores_over_the_same_vectors_return_the_same_chunks(ran: Any) -> None:
    rankings = ran.result.rankings
    for exact in (system for system in ran.result.done if "exact" in system):
        faiss = exact.replace("exact", "faiss")
        chunks = [
            rankings.filter(pc.equal(rankings["system"], system))["chunk_id"].to_pylist()
            for system in (exact, faiss)
        ]
        assert chunks[0] == chunks[1] != []


def test_f06_an_id_means_the_same_text_in_every_system(ran: Any) -> None:
    texts = dict(zip(*(ran.result.passages[name].to_pylist() for name in ("chunk_id", "text")), strict=True))
    corpus = ran.result.path.parent / "corpus"
    top = ran.result.rankings.filter(pc.less_equal(ran.result.rankings["rank"], 10))
    for row in top.to_pylist():
        whole = (corpus / row["document_id"]).read_text(encoding="utf-8")
        assert texts[row["chunk_id"]] == whole[row["start"] : row["end"]]


def contract(plugin: type, folder: Path) -> dict[str, str]:
    """The checks of a store that do not pass, each with what it found."""
    bench = StoreFixture(name="tried", plugin=plugin, folder=folder, gaps=dict(getattr(plugin, "gaps", {})))
    return {one.check: one.why for one in outcomes(bench) if one.state == "failed"}


@pytest.mark.parametrize("name", ["exact", "faiss", "hnswlib", "usearch"])
def test_f06_a_store_answers_with_the_ids_it_was_given(name: str, tmp_path: Path) -> None:
    assert contract(registry.load("stores", name), tmp_path) == {}


def test_f06_the_contract_finds_a_store_with_numbers_of_its_own(tmp_path: Path) -> None:
    base: Any = registry.load("stores", "exact")

    class Renumbered(base):
        """Counts the rows it was given from zero."""

        def insert(self, batch: Batch) -> None:
            first = getattr(self, "_given", 0)
            self._given = first + len(batch.ids)
            super().insert(replace(batch, ids=np.arange(first, self._given, dtype=np.int64)))

    assert "finds the nearest by cosine" in contract(Renumbered, tmp_path)


def test_f06_equal_texts_of_two_documents_are_two_chunks(small: Path) -> None:
    """The same words, at the same place of another document and again further down: an id of its own each time."""
    for name in ("one.md", "two.md"):
        (Path("corpus") / name).write_text("the same words\n" * 12)
    rows = run(small, out=Path("run")).passages.to_pylist()
    named = {row["chunk_id"]: (row["document_id"], row["start"]) for row in rows}
    assert len(named) == len(set(named.values())) == len(rows)
