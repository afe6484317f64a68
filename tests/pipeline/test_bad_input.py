"""Texts and models that go wrong: the chunk or document is named, and nothing that was done is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.errors import EmbedderError
from bakeoff.pipeline import embed
from bakeoff.pipeline.embed import embed_chunks
from bakeoff.runs.run import run
from bakeoff.types import Document, Role

TEN_MEGABYTES = "Value added tax is due each quarter. Refunds take ten days.\n\n" * 163_935
CHUNKERS = sorted(set(registry.names("chunkers")) - {"existing"})  # that one cuts nothing


def refuse(rows: np.ndarray) -> np.ndarray:
    raise EmbedderError("the server answered 503 to the last of 4 attempts.")


FAULTS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "not a number": (lambda rows: rows * np.nan, r"the vector of \S+#\d+-\d+\.\w+ is not finite"),
    "another dimension": (lambda rows: rows[:, :8], "changed its dimension"),
    "refused": (refuse, r"503 .* \(texts: \S+#\d+-\d+\.\w+ and 3 shorter chunks; batches before"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_half_way_names_the_chunk_and_keeps_what_was_embedded(
    bench: Any, part: Any, register: Any, monkeypatch: Any, fault: str
) -> None:
    spoil, said = FAULTS[fault]
    asked: list[str] = []

    class Failing(registry.load("embedders", "wordllama")):
        sound = 2

        def embed(self, texts: Any, role: Role) -> np.ndarray:
            self.sound -= 1
            rows = super().embed(texts, role)
            if self.sound < 0:
                return spoil(rows)
            asked.extend(texts)
            return rows

    register("embedders", "failing", Failing)
    monkeypatch.setattr(embed, "BATCH", 4)
    chunking, failing = bench.chunking("line", doc_lines=3), part("embedders/failing", dims=64)
    with pytest.raises(EmbedderError, match=said):
        embed_chunks(failing, Failing(failing.params), chunking, bench.context)
    assert len(asked) == 8
    sound = Failing(failing.params)
    sound.sound = 1000
    vectors = embed_chunks(failing, sound, chunking, bench.context)
    assert (vectors.reused, vectors.fresh) == (8, chunking.chunks.num_rows - 8)


def test_one_models_fault_is_its_own(small: Path, register: Any) -> None:
    class Blind(registry.load("embedders", "wordllama")):
        def embed(self, texts: Any, role: Role) -> np.ndarray:
            return super().embed(texts, role) * np.nan

    register("embedders", "blind", Blind)
    small.write_text(
        small.read_text().replace("[{wordllama: {dims: 64}}]", "[blind, {wordllama: {dims: 64}}]")
    )
    result = run(small, out=Path("run"))
    assert result.failed and all("blind" in name for name in result.failed)
    assert all("is not finite" in reason for reason in result.failed.values())
    assert any("wordllama" in name for name in result.done)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CHUNKERS if name != "tokens"])
def test_ten_megabytes_are_cut_without_loss(name: str) -> None:
    """tokens is left to the slow test: a tokenizer reads a megabyte a second."""
    covered(name, TEN_MEGABYTES)


@pytest.mark.slow
def test_ten_megabytes_are_cut_into_tokens_without_loss() -> None:
    covered("tokens", TEN_MEGABYTES)


@pytest.mark.parametrize("text", ["x" * 100_000, "word " * 20_000, "before\x00after\n" * 9, "", " \n\t"])
@pytest.mark.parametrize("name", CHUNKERS)
def test_odd_texts_are_cut_without_loss(name: str, text: str) -> None:
    covered(name, text)


def covered(name: str, text: str) -> None:
    """Every non-blank character is in a piece."""
    plugin = registry.load("chunkers", name)
    pieces = list(plugin(plugin.Params()).chunk(Document("odd.txt", text)))
    reached = 0
    for piece in pieces:
        assert not text[reached : piece.start].strip()
        reached = max(reached, piece.end)
    assert not text[reached:].strip()
