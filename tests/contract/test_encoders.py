"""Every encoder whose weights are at hand under the contract."""

import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.storage.weights import find
from bakeoff.testing import EncoderContract


def at_hand(name: str) -> bool:
    try:
        find(name)
    except ModelNotFoundError:
        return False
    return True


class TestBm25Sparse(EncoderContract):
    name = "bm25_sparse"


class TestBm25SparsePlain(EncoderContract):
    name = "bm25_sparse"
    params = {"words": "plain", "k1": 0.9, "b": 0.4}


@pytest.mark.skipif(not at_hand("minilm"), reason="no MiniLM weights: run make models")
class TestTokenVectors(EncoderContract):
    name = "token_vectors"
    params = {"model": "minilm"}
