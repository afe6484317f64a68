"""MaxSim over real MiniLM weights: the score is what its definition says, and it ranks as a reader would."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakeoff
from bakeoff import registry
from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.onnx_folder import OnnxFolder
from bakeoff.plugins.embedders.onnx_rows import unit_tokens
from bakeoff.plugins.encoders.token_vectors import TokenVectorsEncoder
from bakeoff.plugins.rerankers.maxsim import MaxsimReranker
from bakeoff.types import Role, TokenRows

PASSAGES = ["quarterly tax returns are due", "a kitten naps on the sofa", "the cat is sleeping on the couch"]


@pytest.fixture(scope="module")
def reranker() -> Iterator[MaxsimReranker]:
    made = MaxsimReranker(MaxsimReranker.Params())
    try:
        made.rerank("a", ["b"])
    except ModelNotFoundError as exc:
        pytest.skip(str(exc))
    yield made
    made.close()


def test_the_nearer_passage_is_higher(reranker: MaxsimReranker) -> None:
    scores = reranker.rerank("where does the cat sleep?", PASSAGES)
    assert scores[1:].min() > scores[0] + 0.2


def test_a_text_is_nearest_to_itself(reranker: MaxsimReranker) -> None:
    assert reranker.rerank(PASSAGES[1], PASSAGES[1:2])[0] == pytest.approx(1.0, abs=1e-5)


def test_the_mean_of_token_vectors_is_the_sentence_vector(reranker: MaxsimReranker) -> None:
    """The token vectors come from the graph whose mean is MiniLM's sentence vector: the direction agrees."""
    from bakeoff.plugins.embedders.minilm import MiniLMEmbedder

    embedder = MiniLMEmbedder(MiniLMEmbedder.Params())
    whole = embedder.embed([PASSAGES[0]], Role.DOCUMENT)[0]
    embedder.close()
    tokens = unit_tokens(reranker._rows, [PASSAGES[0]], special=True)[0]
    assert np.allclose(np.linalg.norm(tokens, axis=1), 1, atol=1e-5)
    mean = tokens.mean(axis=0)
    assert float(mean @ whole / np.linalg.norm(mean)) > 0.99


def test_by_definition(reranker: MaxsimReranker) -> None:
    query, passage = unit_tokens(reranker._rows, ["cats sleep", PASSAGES[2]])
    best = [max(float(a @ b) for b in passage) for a in query]
    assert reranker.rerank("cats sleep", [PASSAGES[2]])[0] == pytest.approx(sum(best) / len(best), abs=1e-6)


def test_odd_texts(reranker: MaxsimReranker) -> None:
    scores = reranker.rerank("cats", ["", " ", "\x00", "🗼", "word " * 5000])
    assert scores.shape == (5,) and np.isfinite(scores).all()
    assert reranker.rerank("", PASSAGES).tolist() == [-1.0] * 3


def test_alone_as_together(reranker: MaxsimReranker) -> None:
    together = reranker.rerank("cats", PASSAGES)
    assert [reranker.rerank("cats", [one])[0] for one in PASSAGES] == together.tolist()


def test_a_passage_is_read_once(reranker: MaxsimReranker, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = MaxsimReranker(MaxsimReranker.Params())
    first = fresh.rerank("where does the cat sleep?", PASSAGES)
    read: list[int] = []
    run = fresh._rows.run
    monkeypatch.setattr(fresh._rows, "run", lambda encoded: read.append(len(encoded)) or run(encoded))
    again, other = (
        fresh.rerank("where does the cat sleep?", PASSAGES),
        fresh.rerank("tax", [*PASSAGES, "new"]),
    )
    fresh.close()
    assert read == [1, 2]
    assert np.allclose(again, first, atol=1e-6)
    assert np.allclose(other, reranker.rerank("tax", [*PASSAGES, "new"]), atol=1e-6)


def test_stored_vectors_give_the_same_scores(reranker: MaxsimReranker) -> None:
    chosen = MaxsimReranker.passage_encoder(MaxsimReranker.Params())
    assert chosen is not None and MaxsimReranker.passage_encoder(MaxsimReranker.Params(stored=False)) is None
    encoder = registry.load("encoders", chosen[0])(chosen[1])
    rows = list(encoder.embed(PASSAGES, Role.DOCUMENT))
    encoder.close()
    query = "where does the cat sleep?"
    assert np.allclose(reranker.rerank_tokens(query, rows), reranker.rerank(query, PASSAGES), atol=1e-6)
    assert reranker.rerank_tokens(query, [rows[0][:0], rows[1]])[0] == -1.0


@pytest.mark.usefixtures("reranker")
def test_a_corpus_is_encoded_once_for_every_query_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    for number, text in enumerate(PASSAGES):
        (tmp_path / "docs" / f"{number}.md").write_text(text)
    asked = [("where does the cat sleep?", 2), ("when are taxes due?", 0), ("who naps on the sofa?", 1)]
    queries = [
        {"id": f"q{at}", "text": text, "truth": {"documents": [f"{found}.md"]}}
        for at, (text, found) in enumerate(asked)
    ]
    (tmp_path / "queries.yaml").write_text(json.dumps({"queries": queries}))
    parts = ["maxsim", {"maxsim": {"stored": False}}]
    experiment = {
        "corpus": {"folder": "docs"},
        "queries": "queries.yaml",
        "modes": ["bm25"],
        "rerankers": parts,
    }
    (tmp_path / "bakeoff.yaml").write_text(json.dumps(experiment))
    read: list[str] = []
    encode = TokenVectorsEncoder.embed

    def embed(self: TokenVectorsEncoder, texts: list[str], role: Role) -> TokenRows:
        read.extend(texts)
        return encode(self, texts, role)

    monkeypatch.setattr(TokenVectorsEncoder, "embed", embed)
    results = [
        bakeoff.run(tmp_path / "bakeoff.yaml", out=tmp_path / name, home=tmp_path / "home")
        for name in ("first", "second")
    ]
    assert [sum(passage in text for text in read) for passage in PASSAGES] == [1, 1, 1]
    for result in results:
        stored, direct = (
            {row["query_id"]: row["chunk_id"] for row in rows if row["rank"] == 1}
            for rows in (_rankings(result, name) for name in ("maxsim", "maxsim(stored=False)"))
        )
        assert stored == direct and len(stored) == len(asked)
    sizes = {row["reranker"]: row["index_bytes"] for row in results[0].systems.to_pylist()}
    assert sizes["maxsim"] > sizes["maxsim(stored=False)"]


def _rankings(result: bakeoff.Result, reranker: str) -> list[dict[str, Any]]:
    (system,) = (row["system"] for row in result.systems.to_pylist() if row["reranker"] == reranker)
    return [row for row in result.rankings.to_pylist() if row["system"] == system]


def test_weights_are_not_read_again_for_each_query(
    reranker: MaxsimReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quantised(_folder: OnnxFolder) -> bool:
        raise AssertionError("the whole graph was searched again")

    monkeypatch.setattr(OnnxFolder, "quantised", property(quantised))
    assert reranker.rerank("cats", PASSAGES).shape == (3,)


def test_what_is_kept_is_bounded() -> None:
    few = MaxsimReranker(MaxsimReranker.Params(cache_mb=0))
    few._kept.add("a", np.zeros((4, 8), np.float32))
    assert few._kept.find("a") is None
