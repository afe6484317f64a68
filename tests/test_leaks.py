"""A long-lived process does not grow with each run: results, tokenizers and connections leave nothing behind."""

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.runs.analysis import open_run
from bakeoff.runs.verdict import explain_variation, held_out_score
from bakeoff.types import Document, Role

IN_USE = 7
KEPT_MB = 8.0
"""What ten models may leave in the C library's hands: one tokenizer's memory of words is bounded; ten were 25 MB."""


def test_a_result_is_forgotten_with_what_was_asked_of_it(ran: Any) -> None:
    result = open_run(ran.result.path)
    assert held_out_score(result) is held_out_score(result)
    explain_variation(result)
    _ = result.verdict
    watched = weakref.ref(result)
    del result
    gc.collect()
    assert watched() is None


class MallInfo(ctypes.Structure):
    """What the C library says about itself, in bytes; the eighth of ten numbers is what is in use."""

    _fields_ = [(f"_{place}" if place != IN_USE else "used", ctypes.c_size_t) for place in range(10)]


@pytest.fixture
def in_use() -> Callable[[], float]:
    """Megabytes that are allocated now, whatever the allocator holds free."""
    try:
        ask = ctypes.CDLL("libc.so.6").mallinfo2
    except (OSError, AttributeError):
        pytest.skip("this C library does not say what is in use")
    ask.restype = MallInfo

    def megabytes() -> float:
        gc.collect()
        return float(ask().used) / 1e6

    return megabytes


def _embedded(number: int) -> None:
    plugin = registry.load("embedders", "wordllama")
    model = plugin(plugin.Params(dims=64))
    model.embed([f"a short text {number} {place}" for place in range(3000)], Role.DOCUMENT)
    model.close()


def _cut(number: int) -> None:
    plugin = registry.load("chunkers", "tokens")
    chunker = plugin(plugin.Params())
    for place in range(3000):
        list(chunker.chunk(Document("a", f"short {number} {place}", "text")))


@pytest.mark.parametrize("work", [_embedded, _cut])
def test_a_tokenizer_is_read_once(work: Callable[[int], None], in_use: Callable[[], float]) -> None:
    for number in range(5):
        work(number)
    before = in_use()
    for number in range(10):
        work(5 + number)
    assert in_use() - before < KEPT_MB
