"""Every embedder whose weights are at hand under the contract."""

import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.testing import EmbedderContract
from bakeoff.weights import find


def weights_at_hand(name: str) -> bool:
    try:
        find(name)
    except ModelNotFoundError:
        return False
    return True


class TestWordLlama(EmbedderContract):
    name = "wordllama"


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
class TestMiniLM(EmbedderContract):
    name = "minilm"


@pytest.mark.skipif(not weights_at_hand("minilm"), reason="no MiniLM weights: run make models")
class TestMiniLMInt8(EmbedderContract):
    name = "minilm"
    params = {"precision": "int8"}
