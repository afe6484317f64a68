from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from pydantic import ValidationError

from bakeoff.errors import EmbedderError
from bakeoff.plugins.embedders.wordllama import WordLlamaEmbedder
from bakeoff.types import Role

FOOD = "A man is eating food."
BREAD = "A man is eating a piece of bread."
BABY = "The girl is carrying a baby."
TEXTS = [FOOD, BREAD, BABY, "日本語  two spaces\n\nlines", "a\x00b", "SELECT * FROM orders;", "word " * 6000]

# The package is asked in a process of its own, because importing it sets up the root logger.
PEER = """
import json, sys, pathlib, wordllama
home = pathlib.Path(wordllama.__file__).parent
model = wordllama.WordLlama.load(cache_dir=home, disable_download=True, trunc_dim=int(sys.argv[1]) or None)
print(json.dumps(model.embed(json.load(sys.stdin), norm=True).tolist()))
"""


def made(dims: int = 256) -> WordLlamaEmbedder:
    return WordLlamaEmbedder(WordLlamaEmbedder.Params.model_validate({"dims": dims}))


@pytest.fixture(scope="module")
def model() -> WordLlamaEmbedder:
    return made()


@pytest.mark.parametrize("dims", [256, 64])
def test_vectors_equal_those_of_the_package(dims: int) -> None:
    command = [sys.executable, "-c", PEER, str(dims if dims < 256 else 0)]
    answer = subprocess.run(
        command, input=json.dumps(TEXTS), capture_output=True, text=True, check=True
    ).stdout
    assert made(dims).embed(TEXTS, Role.DOCUMENT) == pytest.approx(np.array(json.loads(answer)), abs=2e-6)


def test_canonical_vectors(model: WordLlamaEmbedder) -> None:
    vectors = model.embed([FOOD, BREAD, BABY], Role.DOCUMENT)
    assert vectors[0, :4] == pytest.approx([-0.028931, 0.073471, -0.100879, -0.032564], abs=2e-6)
    assert vectors[0] @ vectors[1] == pytest.approx(0.7070, abs=5e-5)
    assert vectors[0] @ vectors[2] < 0.1
    assert vectors.dtype == np.float32


def test_info_identifies_the_vectors(model: WordLlamaEmbedder) -> None:
    info = model.info
    assert (info.dims, info.max_tokens, info.normalised, info.stand_in) == (256, None, True, False)
    assert info.weights == "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
    assert made(64).info != info


def test_short_vectors_are_the_start_of_long_ones(model: WordLlamaEmbedder) -> None:
    start = model.embed(TEXTS, Role.DOCUMENT)[:, :128]
    expected = start / np.linalg.norm(start, axis=1, keepdims=True)
    assert made(128).embed(TEXTS, Role.DOCUMENT) == pytest.approx(expected, abs=1e-6)


def test_a_vector_depends_on_its_text_alone(model: WordLlamaEmbedder) -> None:
    together = model.embed(TEXTS, Role.DOCUMENT)
    alone = np.concatenate([made().embed([text], Role.QUERY) for text in TEXTS])
    assert np.array_equal(together, alone)


@pytest.mark.parametrize(
    "text", ["", " \n\t ", "\x00", "😀" * 50, "\u202e\ufeff", "<s></s><unk>", "x" * 1_000_000]
)
def test_any_text_has_a_unit_vector(model: WordLlamaEmbedder, text: str) -> None:
    assert np.linalg.norm(model.embed([text], Role.DOCUMENT)[0]) == pytest.approx(1, abs=1e-6)


def test_no_texts_give_no_rows(model: WordLlamaEmbedder) -> None:
    assert model.embed([], Role.DOCUMENT).shape == (0, 256)


def test_tokens_are_counted(model: WordLlamaEmbedder) -> None:
    assert model.count_tokens(["", FOOD, "word " * 1000]) == [0, 7, 1001]


def test_threads_share_one_embedder() -> None:
    fresh = made()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fresh.embed(TEXTS, Role.DOCUMENT), range(16)))
    assert all(np.array_equal(answer, answers[0]) for answer in answers)


def test_loading_needs_no_network_and_leaves_logging_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> socket.socket:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    handlers = list(logging.getLogger().handlers)
    made().embed([FOOD], Role.QUERY)
    assert logging.getLogger().handlers == handlers


def test_the_package_itself_is_not_imported() -> None:
    code = "import sys, bakeoff.plugins.embedders.wordllama; sys.exit('wordllama' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_text_that_is_not_unicode_is_an_error_that_says_so(model: WordLlamaEmbedder) -> None:
    with pytest.raises(EmbedderError):
        model.embed(["broken \ud800"], Role.DOCUMENT)


@pytest.mark.parametrize("params", [{"dims": 100}, {"dim": 64}])
def test_wrong_parameters_are_refused(params: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        WordLlamaEmbedder.Params.model_validate(params)


def test_close_gives_the_table_back_and_embed_reads_it_again(model: WordLlamaEmbedder) -> None:
    fresh = made()
    before = fresh.embed([FOOD], Role.QUERY)
    fresh.close()
    assert np.array_equal(before, fresh.embed([FOOD], Role.QUERY))
