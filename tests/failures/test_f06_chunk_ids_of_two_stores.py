"""F06: chunk ids numbered per document by one store and globally by another: chunks map to wrong documents."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc


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
