"""The catalogue as it is shipped: every model can be checked, run and fetched."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from bakeoff import registry
from bakeoff.errors import ModelNotFoundError
from bakeoff.storage.catalogue import WeightSource, entries, find_entry, names


def test_every_model_names_a_plugin_its_hashes_and_a_source() -> None:
    for entry in entries().values():
        assert entry.plugin in registry.names(entry.kind)
        assert entry.licence and entry.languages and entry.megabytes
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in entry.files.values())
        assert bool(entry.files) == bool(entry.sources)
        if entry.kind == "embedders":
            assert entry.dims is not None
        for source in entry.sources:
            assert set(source.members) <= set(entry.files)


def test_the_maker_comes_first_and_a_registry_second() -> None:
    for entry in entries().values():
        kinds = ["hub" if source.hub else "registry" for source in entry.sources]
        assert kinds in (["hub", "registry"], ["registry"], [])
    assert find_entry("bge-small").sources[0].hub == "BAAI/bge-small-en-v1.5"
    assert next(iter(find_entry("minilm").files.values())).startswith("53aa51172d142c89")


def test_published_figures_and_prompts() -> None:
    assert {name: entry.scifact for name, entry in entries().items() if entry.scifact} == {
        "minilm": 0.64508, "bge-small": 0.71273, "mpnet": 0.6557,
    }  # fmt: skip
    assert find_entry("e5-small").query_prompt == "query: "
    assert find_entry("nomic").matryoshka == (768, 512, 256, 128, 64)
    assert names("rerankers") == ("cross-encoder-small",)


def test_a_near_name_is_offered() -> None:
    with pytest.raises(ModelNotFoundError, match="'bge-small'"):
        find_entry("bge-smal")


def test_a_source_is_one_place() -> None:
    with pytest.raises(ValidationError, match="exactly one of"):
        WeightSource(hub="a/b", maven="c:d:e")
