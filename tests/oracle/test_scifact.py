"""The published SciFact scores of all-MiniLM-L6-v2 come out: proof of weights, graph and tokens together."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.fingerprint import fingerprint
from bakeoff.types import Role
from bakeoff.weights import find, home

pytestmark = pytest.mark.slow

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
TOLERANCE = 0.0005
DEPTH = 100


@pytest.fixture(scope="module")
def rankings() -> dict[str, list[str]]:
    """The 100 nearest documents of each test query by exact cosine."""
    if not (DATA / "scifact" / "corpus.jsonl").is_file():
        pytest.skip("shared/data/scifact is not here")
    try:
        find("minilm")
    except ModelNotFoundError:
        pytest.skip("run make models")
    documents = _lines("corpus.jsonl")
    queries = [line for line in _lines("queries.jsonl") if line["_id"] in _judgments()]
    assert len(queries) == 300
    passages = _vectors([f"{line['title']} {line['text']}" for line in documents], Role.DOCUMENT)
    questions = _vectors([line["text"] for line in queries], Role.QUERY)
    order = np.argsort(-(questions @ passages.T), axis=1, kind="stable")[:, :DEPTH]
    return {
        query["_id"]: [documents[row]["_id"] for row in rows]
        for query, rows in zip(queries, order, strict=True)
    }


@pytest.mark.parametrize(("measure", "cut"), [("ndcg", 10), ("recall", 100), ("ndcg", 1), ("recall", 10)])
def test_published_score_is_reached(rankings: dict[str, list[str]], measure: str, cut: int) -> None:
    published = json.loads((DATA / "published" / "scifact.json").read_text())["systems"]
    expected = published["all-MiniLM-L6-v2 (exact cosine)"]["scores"][f"{measure}_at_{cut}"]
    score = {"ndcg": _ndcg, "recall": _recall}[measure]
    truth = _judgments()
    mean = np.mean([score(rankings[query], relevant, cut) for query, relevant in truth.items()])
    assert mean == pytest.approx(expected, abs=TOLERANCE)


def _lines(name: str) -> list[dict[str, str]]:
    with (DATA / "scifact" / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _judgments() -> dict[str, set[str]]:
    truth: dict[str, set[str]] = defaultdict(set)
    rows = next((DATA / "scifact" / "qrels").glob("*.tsv")).read_text().splitlines()[1:]
    for query, document, grade in (row.split("\t") for row in rows):
        if int(grade) > 0:
            truth[query].add(document)
    return truth


def _vectors(texts: Sequence[str], role: Role) -> np.ndarray:
    """The texts' vectors, kept under the home folder because the documents take minutes."""
    from bakeoff.plugins.embedders.minilm import MiniLMEmbedder

    embedder = MiniLMEmbedder(MiniLMEmbedder.Params())
    file = home() / "oracle" / f"{fingerprint(embedder.version, embedder.info, role, list(texts))}.npy"
    if not file.is_file():
        vectors = embedder.embed(texts, role)
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(".tmp.npy")
        np.save(aside, vectors)
        aside.replace(file)
    embedder.close()
    return np.load(file)


def _ndcg(ranking: list[str], relevant: set[str], cut: int) -> float:
    gained = sum(
        1 / math.log2(rank + 1) for rank, document in enumerate(ranking[:cut], 1) if document in relevant
    )
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), cut) + 1))
    return gained / best


def _recall(ranking: list[str], relevant: set[str], cut: int) -> float:
    return len(relevant.intersection(ranking[:cut])) / len(relevant)
