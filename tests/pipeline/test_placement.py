"""Where a retriever's results are in the corpus."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from bakeoff.pipeline.placement import THRESHOLD, Placement, Placer, without_markup
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.types import RetrievedRow

TEXTS = {
    "a.md": "# Tokens\n\nAn access token is valid for fifteen minutes after it was issued by the server.\n",
    "b.md": "# Passwords\n\nPasswords are hashed with   Argon2id\nand a salt of sixteen bytes, never stored in the clear.\n",
    "c.md": "# Copies\n\nDatabase copies are kept for thirty days and then removed by a job that runs each night.\n",
    "d.md": "# More copies\n\nDatabase copies are kept for thirty days and then removed by a job that runs each night.\n",
    "e.md": "Größe und Gewicht: ein Paket darf höchstens dreißig Kilogramm wiegen. 東京タワーは高いです。",
}


@pytest.fixture(scope="module")
def placer() -> Placer:
    names = list(TEXTS)
    columns = {
        "id": names,
        "version": names,
        "kind": ["markdown"] * 5,
        "title": [""] * 5,
        "fields": ["{}"] * 5,
    }
    return Placer(DOCUMENTS.table({**columns, "text": list(TEXTS.values())}))


def text_at(found: Placement) -> str:
    return list(TEXTS.values())[found.doc][found.start : found.end]


def test_an_id_with_characters_is_used_as_it_is(placer: Placer) -> None:
    assert placer.place(RetrievedRow("b.md", 2, 11)) == Placement("given", 1, 2, 11)
    assert placer.place(RetrievedRow("b.md")) == Placement("document", 1, 0, len(TEXTS["b.md"]))


def test_an_id_with_a_text_is_looked_for_in_its_document_only(placer: Placer) -> None:
    found = placer.place(RetrievedRow("d.md", text="Database copies are kept for thirty days"))
    assert (found.how, found.doc, text_at(found)) == ("exact", 3, "Database copies are kept for thirty days")
    assert placer.place(RetrievedRow("a.md", text="Something that nobody wrote")) == Placement("unlocated", 0)


def test_characters_beyond_the_document_are_not_believed(placer: Placer) -> None:
    assert placer.place(RetrievedRow("a.md", 0, 10_000)) == Placement("unlocated", 0)
    found = placer.place(RetrievedRow("a.md", 5, 10_000, "An access token"))
    assert (found.how, text_at(found)) == ("exact", "An access token")


@pytest.mark.parametrize(
    ("text", "how", "words"),
    [
        (
            "An access token is valid for fifteen minutes",
            "exact",
            "An access token is valid for fifteen minutes",
        ),
        (
            "PASSWORDS are hashed with Argon2id and a salt",
            "folded",
            "Passwords are hashed with   Argon2id\nand a salt",
        ),
        (
            "<p>Passwords are <em>hashed</em> with&nbsp;Argon2id</p>",
            "folded",
            "Passwords are hashed with   Argon2id",
        ),
        ("größe UND gewicht", "folded", "Größe und Gewicht"),
        ("東京タワーは高い", "exact", "東京タワーは高い"),
        ("valid for fifteen", "exact", "valid for fifteen"),
    ],
)
def test_a_text_is_found_as_it_is_or_folded(placer: Placer, text: str, how: str, words: str) -> None:
    found = placer.place(RetrievedRow(text=text))
    assert (found.how, text_at(found)) == (how, words)


def test_a_changed_text_is_placed_where_enough_of_its_runs_are(placer: Placer) -> None:
    body = "An access token is valid for fifteen minutes after it was issued by the server"
    found = placer.place(RetrievedRow(text=f"{body} of the company …"))
    assert found.how == "overlap" and text_at(found) == body
    words = body.split()
    half = " ".join(words[:8]) + " which is something that was written anew by somebody else entirely today"
    assert placer.place(RetrievedRow(text=half)).how == "not placed" and THRESHOLD == 0.6


def test_the_first_of_several_documents_counts_and_is_marked(placer: Placer) -> None:
    found = placer.place(RetrievedRow(text="Database copies are kept for thirty days and then removed"))
    assert (found.doc, found.several) == (2, True)


def test_what_is_nowhere(placer: Placer) -> None:
    assert placer.place(RetrievedRow("chunk-17")).how == "unknown id"
    assert placer.place(RetrievedRow("chunk-17", text="valid for fifteen minutes")).how == "exact"
    assert placer.place(RetrievedRow(text="  ")).how == "not placed"
    assert (
        placer.place(RetrievedRow(text="nothing of this was ever written in any of the documents")).how
        == "not placed"
    )


def test_a_text_without_markup_stays_as_it_is() -> None:
    assert without_markup("if a < b and c > d") == "if a < b and c > d"
    assert without_markup("<p>a</p><p>b &amp; c</p>").split() == ["a", "b", "&", "c"]


def test_a_corpus_larger_than_the_index_keeps_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.pipeline.placement.KEPT_RUNS", 2_000)
    seeded = random.Random(7)
    texts = [" ".join(f"w{seeded.randrange(4999)}" for _ in range(120)) for _ in range(300)]
    names = [f"{i}.md" for i in range(300)]
    table = DOCUMENTS.table(
        {**dict.fromkeys(("id", "version"), names), "kind": ["text"] * 300, "title": [""] * 300,
         "fields": ["{}"] * 300, "text": pa.array(texts, pa.large_string())}
    )  # fmt: skip
    large = Placer(table)
    for doc in (0, 150, 299):
        passage = " ".join(texts[doc].split()[10:90])
        assert large.place(RetrievedRow(text=passage)).doc == doc
