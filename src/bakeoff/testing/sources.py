"""The contract of sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.protocols import Source
from bakeoff.testing.contracts import PluginContract
from bakeoff.types import Document, Skipped, SourceItem


class SourceContract(PluginContract):
    """Items come in a stable order with unique ids, and any instance can read any of them.

    Override `corpus`: write a few documents into a folder and return the parameters that read them.
    """

    kind = "sources"

    def corpus(self, folder: Path) -> dict[str, Any]:  # noqa: ARG002 - for subclasses
        """The parameters of a source with at least two documents."""
        return self.params

    @pytest.fixture
    def settings(self, tmp_path: Path) -> dict[str, Any]:
        return self.corpus(tmp_path)

    def source(self, params: dict[str, Any]) -> Source:
        """A new instance."""
        plugin = self.plugin()
        source: Source = plugin(plugin.Params(**params))
        return source

    def test_items_have_unique_ids_in_a_stable_order(self, settings: dict[str, Any]) -> None:
        one, other = self.source(settings), self.source(settings)
        first, second = list(one.items()), list(other.items())
        ids = [item.id for item in first]
        assert first == second, "two instances list other items, or in another order"
        assert all(ids) and len({*ids}) == len(ids), "an id is empty or occurs twice"
        assert len(_readable(first)) > 1, "`corpus` needs at least two documents"
        assert all(item.version and item.size >= 0 for item in _readable(first))

    def test_a_new_instance_reads_any_item(self, settings: dict[str, Any]) -> None:
        one, other = self.source(settings), self.source(settings)
        for item in reversed(_readable(list(one.items()))):
            first, second = one.read(item), other.read(item)
            assert first == second, f"{item.id} is read differently by a second instance"
            assert isinstance(first, Document | Skipped) and first.id == item.id


def _readable(items: list[SourceItem | Skipped]) -> list[SourceItem]:
    return [item for item in items if isinstance(item, SourceItem)]
