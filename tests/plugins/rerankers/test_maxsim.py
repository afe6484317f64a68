"""MaxSim over real MiniLM weights: the score is what its definition says, and it ranks as a reader would."""

from collections.abc import Iterator

import numpy as np
import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.onnx_rows import unit_tokens
from bakeoff.plugins.rerankers.maxsim import MaxsimReranker

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
    from bakeoff.types import Role

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


def test_what_is_kept_is_bounded() -> None:
    few = MaxsimReranker(MaxsimReranker.Params(cache_mb=0))
    few._kept.add("a", np.zeros((4, 8), np.float32))
    assert few._kept.find("a") is None
