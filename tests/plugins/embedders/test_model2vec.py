"""Static models from a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model2vec import StaticModel
from tokenizers import Tokenizer

from bakeoff.errors import ModelNotFoundError
from bakeoff.plugins.embedders.model2vec import Model2VecEmbedder
from bakeoff.types import Role

TABLE = np.random.default_rng(5).normal(size=(46, 8)).astype(np.float32)


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    StaticModel(TABLE, tokenizer).save_pretrained(tmp_path / "static")
    return tmp_path / "static"


def made(folder: Path, **params: object) -> Model2VecEmbedder:
    return Model2VecEmbedder(Model2VecEmbedder.Params.model_validate({"folder": folder, **params}))


def test_a_vector_is_the_mean_of_its_tokens_at_unit_length(folder: Path) -> None:
    row = made(folder).embed(["w1 w2 w3"], Role.DOCUMENT)[0]
    mean = TABLE[[5, 6, 7]].mean(axis=0)
    assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-6)


def test_dims_and_tokens_are_cut_as_told(folder: Path) -> None:
    short = made(folder, dims=4)
    assert short.info.dims == 4 and short.embed(["w1"], Role.QUERY).shape == (1, 4)
    cut = made(folder, max_tokens=2)
    assert np.array_equal(cut.embed(["w1 w2 w3"], Role.QUERY), cut.embed(["w1 w2"], Role.QUERY))


def test_a_name_that_is_no_folder_is_not_looked_for_on_the_network(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"model\.safetensors"):
        made(tmp_path / "minishlab" / "potion-base-8M").embed(["a"], Role.QUERY)
