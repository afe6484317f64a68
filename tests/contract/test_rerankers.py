"""Every registered reranker that runs without a server or a folder of its own, under the contract."""

from bakeoff import registry
from bakeoff.testing import RerankerContract

NEEDS = {
    "cross_encoder": "a folder with weights: tests/plugins/rerankers builds one",
    "rerank_api": "a server: tests/plugins/rerankers answers in its shape",
    "sentence_transformers": "weights over the network",
}


class TestMaxsim(RerankerContract):
    name = "maxsim"


class TestMmr(RerankerContract):
    name = "mmr"


def test_every_reranker_is_tested_somewhere() -> None:
    assert {"maxsim", "mmr", *NEEDS} == set(registry.names("rerankers"))
