"""F42: an embedding cache keyed by text only: roles, models or revisions share a vector."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.config.experiment import PluginSpec
from bakeoff.pipeline.canary import TEXTS
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.embed import embed_queries, vector_identity
from bakeoff.runs.run import run
from bakeoff.storage.cache import Cache
from bakeoff.types import ModelInfo, Role

WORDLLAMA = registry.load("embedders", "wordllama")
BASE = WORDLLAMA(WORDLLAMA.Params(dims=64))
PART = PluginSpec("embedders", "wordllama", "wordllama", WORDLLAMA.Params(dims=64))


class Changed:
    """The same model that says something else about itself."""

    def __init__(self, **changes: Any) -> None:
        self.info: ModelInfo = dataclasses.replace(BASE.info, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"revision": "2"},
        {"weights": "f" * 64},
        {"max_tokens": 128},
        {"normalised": False},
        {"dtype": "float16"},
        {"pooling": "cls"},
        {"query_prompt": "query: "},
        {"document_prompt": "passage: "},
        {"dims": 128},
        {"stand_in": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_f42_everything_that_shapes_a_vector_is_in_its_name(changes: dict[str, Any]) -> None:
    assert vector_identity(PART, Changed(**changes), Role.QUERY) != vector_identity(PART, BASE, Role.QUERY)


def test_f42_every_field_of_a_model_is_tried_or_shapes_nothing() -> None:
    tried = {"name", "revision", "weights", "max_tokens", "normalised", "dtype", "pooling", "query_prompt"}
    tried |= {"document_prompt", "dims", "stand_in"}
    assert {field.name for field in dataclasses.fields(ModelInfo)} - tried == {"licence"}


def test_f42_role_parameters_and_code_version_are_in_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = vector_identity(PART, BASE, Role.QUERY)
    assert vector_identity(PART, BASE, Role.DOCUMENT) != before
    longer = dataclasses.replace(PART, params=WORDLLAMA.Params(dims=128))
    assert vector_identity(longer, BASE, Role.QUERY) != before
    monkeypatch.setattr(WORDLLAMA, "version", "2")
    assert vector_identity(PART, BASE, Role.QUERY) != before


def test_f42_a_text_that_is_query_and_document_has_two_vectors(
    small: Path, tmp_path: Path, register: Callable[..., None]
) -> None:
    class TwoFaced(WORDLLAMA):
        """Queries and documents get different vectors, as with prompts."""

        def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
            rows = super().embed(texts, role)
            return -rows if role is Role.QUERY else rows

    register("embedders", "twofaced", TwoFaced)
    part = PluginSpec("embedders", "twofaced", "twofaced", TwoFaced.Params(dims=64))
    context = StageContext(Cache(tmp_path / "cache"))
    model = TwoFaced(part.params)
    found = embed_queries(part, model, ["same text"], [], 1, context).matrix[0]
    assert np.array_equal(found, -model.embed(["same text"], Role.DOCUMENT)[0])


def test_f42_a_new_revision_embeds_everything_again(small: Path, register: Callable[..., None]) -> None:
    embedded: list[str] = []

    class Revised(WORDLLAMA):
        revision = "1"

        @property
        def info(self) -> ModelInfo:
            return dataclasses.replace(BASE.info, revision=self.revision)

        def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
            embedded.extend(text for text in texts if role is Role.DOCUMENT and text not in TEXTS)
            return super().embed(texts, role)

    register("embedders", "revised", Revised)
    small.write_text(small.read_text().replace("{wordllama:", "{revised:"))
    run(small, out=Path("one"))
    first = sorted(embedded)
    embedded.clear()
    run(small, out=Path("two"))
    assert embedded == []
    Revised.revision = "2"
    run(small, out=Path("three"))
    assert sorted(embedded) == first != []


def test_f42_two_models_over_one_corpus_have_vectors_of_their_own(
    small: Path, register: Callable[..., None]
) -> None:
    class Negated(WORDLLAMA):
        """Another model of the same length."""

        @property
        def info(self) -> ModelInfo:
            return dataclasses.replace(BASE.info, name="negated", weights="e" * 64)

        def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
            rows = super().embed(texts, role)
            return -rows if role is Role.DOCUMENT else rows

    register("embedders", "negated", Negated)
    small.write_text(
        small.read_text().replace(
            "[{wordllama: {dims: 64}}]", "[{wordllama: {dims: 64}}, {negated: {dims: 64}}]"
        )
    )
    rankings = run(small, out=Path("run")).rankings.to_pylist()
    first = {
        name: {
            row["query_id"]: row["score"] for row in rankings if name in row["system"] and row["rank"] == 1
        }
        for name in ("wordllama", "negated")
    }
    assert len(first["wordllama"]) == 14
    assert all(first["wordllama"][query] != first["negated"][query] for query in first["wordllama"])
