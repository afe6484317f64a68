"""Sparse vectors and late interaction through the commands: run, ask, take, validate."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bakeoff import registry

HEAD = "name: sparse\ncorpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [{line: {doc_lines: 4}}]\ndepth: 20\n"
BM25 = "{bm25: {engine: postings}}"
SPARSE = f"""\
{HEAD}encoders: [bm25_sparse]
embedders: [{{wordllama: {{dims: 64}}}}]
stores: [exact, postings]
modes: [sparse, {BM25}, {{hybrid: {{encoder: bm25_sparse}}}}, {{hybrid: {{engine: postings}}}}]
"""


def rankings(run: Path) -> dict[str, list[tuple[str, int, str]]]:
    """The rows of each system of a run."""
    found: dict[str, list[tuple[str, int, str]]] = {}
    for row in pq.read_table(run / "rankings.parquet").to_pylist():
        found.setdefault(row["system"], []).append((row["query_id"], row["rank"], row["chunk_id"]))
    return found


def by_words(found: dict[str, Any], *words: str) -> Any:
    """The value of the one label that holds all words."""
    (label,) = [label for label in found if all(word in label for word in words)]
    return found[label]


def test_bm25_as_sparse_vectors_ranks_as_bm25_does(
    home: Path, laid_out: Callable[..., Path], cli: Callable[..., Any]
) -> None:
    laid_out(Path.cwd(), SPARSE)
    assert cli("run", "bakeoff.yaml", "--out", "runs/one").code == 0
    found = rankings(Path("runs/one"))
    assert len(found) == 4
    sparse = by_words(found, "bm25_sparse · postings · sparse")
    assert len(sparse) > 30 and sparse == by_words(found, "bm25(engine")
    assert by_words(found, "hybrid(encoder") == by_words(found, "hybrid(engine")
    systems = {row["system"]: row for row in pq.read_table("runs/one/systems.parquet").to_pylist()}
    row = by_words(systems, "postings · sparse")
    assert row["embedder"] == "bm25_sparse" and row["mode"] == "sparse" and row["index_bytes"] > 0
    asked = cli(
        "ask", "runs/one", "which algorithm hashes passwords", "--systems", "postings · sparse", "--json"
    )
    assert asked.code == 0 and "guide/auth.md" in asked.out
    taken = cli("take", "runs/one", "hybrid(encoder=bm25_sparse)", "--out", "mine")
    assert taken.code == 0 and "encoder: bm25_sparse" in Path("mine/system.yaml").read_text()


def test_the_words_of_a_corpus_are_counted_once(
    home: Path, laid_out: Callable[..., Path], cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out(Path.cwd(), f"{HEAD}encoders: [bm25_sparse]\nstores: [postings]\nmodes: [sparse]\n")
    assert cli("run", "bakeoff.yaml", "--out", "runs/one").code == 0

    def count_again(*_: object) -> None:
        raise AssertionError("the words were counted again")

    monkeypatch.setattr(registry.load("encoders", "bm25_sparse"), "fit", count_again)
    asked = cli("ask", "runs/one", "which algorithm hashes passwords", "--json")
    assert asked.code == 0 and "guide/auth.md" in asked.out


def stores_that_can(kind: str) -> list[str]:
    able = {"sparse": "search_sparse", "tokens": "search_tokens"}[kind]
    found = [one.name for one in registry.entries("stores") if not one.missing]
    return [name for name in found if hasattr(registry.load("stores", name), able)]


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "encoders: [bm25_sparse]\nstores: [hnswlib]\nmodes: [sparse]\n",
            "sparse",
            "store of sparse vectors",
        ),
        (
            "encoders: [bm25_sparse]\nmodes: [{hybrid: {encoder: bm25_sparse, engine: tantivy}}]\n",
            "sparse",
            "does not search by sparse vectors",
        ),
        ("stores: [faiss]\nmodes: [late_interaction]\n", "tokens", "store of token vectors"),
    ],
)
def test_a_store_without_it_is_refused_with_those_that_can(
    home: Path, laid_out: Callable[..., Path], cli: Callable[..., Any], text: str, kind: str, said: str
) -> None:
    laid_out(Path.cwd(), HEAD + text)
    done = cli("validate", "bakeoff.yaml")
    words = " ".join((done.out + done.err).split())
    assert done.code == 2 and said in words
    assert all(name in words for name in stores_that_can(kind))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stores: [postings]\nmodes: [sparse]\n", "sparse needs an encoder of sparse vectors"),
        ("encoders: [bm25_sparse]\n", "bm25_sparse is for the mode sparse, which is not listed"),
        ("encoders: [bm25_spars]\nstores: [postings]\nmodes: [sparse]\n", "Did you mean 'bm25_sparse'?"),
        (
            "encoders: [{bm25_sparse: {k2: 1}}]\nstores: [postings]\nmodes: [sparse]\n",
            'unknown key "k2"',
        ),
        ("modes: [{hybrid: {encoder: bm25_sparse, k1: 2}}]\n", "k1 and b shape BM25 over words"),
        (
            "encoders: [bm25_sparse]\nstores: [exact, postings]\nmodes: [sparse]\n",
            "exact holds dense vectors",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(
    home: Path, laid_out: Callable[..., Path], cli: Callable[..., Any], text: str, said: str
) -> None:
    laid_out(Path.cwd(), HEAD + text)
    done = cli("validate", "bakeoff.yaml")
    assert done.code == 2
    assert said in " ".join((done.out + done.err).split())


def test_a_question_finds_what_the_run_found_in_another_language(home: Path, cli: Callable[..., Any]) -> None:
    """`ask` splits words as the run did: German stems, which English ones do not match."""
    corpus = Path("corpus")
    corpus.mkdir()
    for name, text in {
        "bau": "Die alten Häuser der Stadt wurden von den Handwerkern nicht mehr erneuert.",
        "see": "Das Wasser des Sees ist im Sommer warm und wird von vielen Gästen besucht.",
        "berg": "Auf dem Berg liegt auch im Mai noch Schnee, und der Weg ist für Wagen gesperrt.",
    }.items():
        (corpus / f"{name}.md").write_text(f"{text}\n", encoding="utf-8")
    Path("queries.yaml").write_text(
        'queries: [{id: q, text: "welches Haus ist alt", truth: {documents: [bau.md]}}]\n', encoding="utf-8"
    )
    Path("bakeoff.yaml").write_text(
        "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [whole]\nmodes: [{bm25: {engine: postings}}]\n"
    )
    ran = cli("run", "bakeoff.yaml", "--out", "runs/one")
    assert ran.code == 0, ran.err
    (ranking,) = rankings(Path("runs/one")).values()
    asked = cli("ask", "runs/one", "welches Haus ist alt", "--json")
    assert asked.code == 0, asked.err
    assert ranking[0][1] == 1 and "bau.md" in asked.out
