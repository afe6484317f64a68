"""The plug-ins of the author's guide, taken from the page itself, under the contract."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff import registry
from bakeoff.config import experiment
from bakeoff.measures.arrays import JudgmentArrays
from bakeoff.measures.ceilings import ceiling
from bakeoff.measures.names import parse
from bakeoff.plugins import kit
from bakeoff.testing import ChunkerContract, MeasureContract, SourceContract, StoreContract

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugin-guide.md"


def defined(name: str) -> Any:
    """What a Python block of the page defines under a name."""
    blocks = [part.split("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]]
    source = next(block for block in blocks if f"class {name}:" in block or f"class {name}(" in block)
    space: dict[str, Any] = {"__name__": f"plugin_guide_{name}"}
    exec(compile(source, f"{PAGE.name}:{name}", "exec", dont_inherit=True), space)
    return space[name]


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    added = [
        ("stores", "plain_duckdb", "PlainDuckdb"),
        ("chunkers", "paragraph", "ParagraphChunker"),
        ("measures", "F1", "F1"),
        ("sources", "jsonl", "JsonlSource"),
    ]
    if find_spec("voyager"):
        added.append(("stores", "voyager", "VoyagerStore"))
    for kind, name, plugin in added:
        registry.add(kind, name, defined(plugin))
    yield
    for kind, name, _ in added:
        registry.remove(kind, name)


class TestPlainDuckdb(StoreContract):
    name = "plain_duckdb"


class TestParagraph(ChunkerContract):
    name = "paragraph"


class TestF1(MeasureContract):
    name = "F1"


def test_the_ceiling_of_f1_with_one_relevant_document() -> None:
    truth = JudgmentArrays(np.array([0]), np.array([1]), np.array([1]))
    assert ceiling(parse("F1@10"), truth) == pytest.approx([2 / 11])


if find_spec("voyager"):

    class TestVoyager(StoreContract):
        name = "voyager"


class TestJsonl(SourceContract):
    name = "jsonl"

    def corpus(self, folder: Path) -> dict[str, Any]:
        return defined("TestJsonl")().corpus(folder)


def test_the_experiment_of_the_guide_is_accepted(tmp_path: Path) -> None:
    (text,) = [part.split("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```yaml\n")[1:]]
    (tmp_path / "bakeoff.yaml").write_text(text, encoding="utf-8")
    plan = experiment.load(tmp_path / "bakeoff.yaml")
    assert len(plan.systems) == 2 * (2 + 1)  # two chunkers, each with two stores for dense and one BM25
    assert plan.source.name == "jsonl"


def test_the_guide_names_every_helper_of_the_kit() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in kit.__all__ if f"`{name}" not in page] == []
    assert [name for name in kit.__all__ if not hasattr(kit, name)] == []
