"""sentence-transformers: the reference that MiniLM's vectors are held against, and the engine itself where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from bakeoff import registry
from bakeoff.errors import EmbedderError, MissingExtraError, ModelNotFoundError
from bakeoff.plugins.embedders.minilm import MiniLMEmbedder
from bakeoff.types import Role

REFERENCE = json.loads(Path(__file__).with_name("minilm_reference.json").read_text())


@pytest.fixture
def plugin() -> Any:
    try:
        return registry.load("embedders", "sentence_transformers")
    except MissingExtraError as exc:
        pytest.skip(str(exc))


def made(plugin: Any, **params: object) -> Any:
    return plugin(plugin.Params.model_validate(params))


def test_minilm_gives_the_vectors_of_the_reference(minilm: MiniLMEmbedder) -> None:
    """The file was written by sentence-transformers on the same weights: six decimals of 6 × 384 numbers."""
    rows = minilm.embed(REFERENCE["texts"], Role.DOCUMENT)
    assert np.abs(rows - np.array(REFERENCE["vectors"])).max() < 2e-6


def test_the_engine_gives_the_vectors_of_the_reference(plugin: Any, minilm: MiniLMEmbedder) -> None:
    embedder = made(plugin, folder=minilm._weights.folder, max_tokens=256)
    rows = embedder.embed(REFERENCE["texts"], Role.DOCUMENT)
    assert np.abs(rows - np.array(REFERENCE["vectors"])).max() < 2e-6
    assert np.abs(rows - minilm.embed(REFERENCE["texts"], Role.DOCUMENT)).max() < 2e-6
    assert (embedder.info.dims, embedder.info.max_tokens, embedder.info.normalised) == (384, 256, True)
    assert embedder.count_tokens(["A man is eating food.", "word " * 1000]) == [8, 1002]


def test_f42_prompts_and_cuts_are_part_of_the_identity(plugin: Any, minilm: MiniLMEmbedder) -> None:
    folder = minilm._weights.folder
    plain, asked = made(plugin, folder=folder), made(plugin, folder=folder, query_prompt="query: ")
    assert len({plain.info, asked.info, made(plugin, folder=folder, max_tokens=64).info}) == 3
    assert np.allclose(
        asked.embed(["food"], Role.QUERY), plain.embed(["query: food"], Role.DOCUMENT), atol=1e-6
    )


def test_a_model_that_is_not_here_is_not_fetched(plugin: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="download: true"):
        made(plugin, model="nobody/has-this").embed(["a"], Role.QUERY)
    with pytest.raises(ModelNotFoundError):
        made(plugin, folder=tmp_path).embed(["a"], Role.QUERY)


def test_more_tokens_than_the_model_reads_are_refused(plugin: Any, minilm: MiniLMEmbedder) -> None:
    with pytest.raises(EmbedderError, match="512"):
        _ = made(plugin, folder=minilm._weights.folder, max_tokens=513).info


def test_a_folder_or_a_name_is_wanted_not_both(plugin: Any, tmp_path: Path) -> None:
    for params in ({}, {"folder": tmp_path, "model": "a/b"}):
        with pytest.raises(ValidationError, match="folder, or its name"):
            made(plugin, **params)
