"""The plug-ins of the author's guide, taken from the page itself, under the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.testing import ChunkerContract, StoreContract

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugin-guide.md"


def defined(name: str) -> Any:
    """What a Python block of the page defines under a name."""
    blocks = [part.split("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]]
    source = next(block for block in blocks if f"class {name}:" in block)
    space: dict[str, Any] = {"__name__": f"plugin_guide_{name}"}
    exec(compile(source, f"{PAGE.name}:{name}", "exec"), space)
    return space[name]


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    added = [("stores", "plain_duckdb", "PlainDuckdb"), ("chunkers", "paragraph", "ParagraphChunker")]
    for kind, name, plugin in added:
        registry.add(kind, name, defined(plugin))
    yield
    for kind, name, _ in added:
        registry.remove(kind, name)


class TestPlainDuckdb(StoreContract):
    name = "plain_duckdb"


class TestParagraph(ChunkerContract):
    name = "paragraph"
