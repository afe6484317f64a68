"""The contract of sources."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from bakeoff.protocols import RowSource, Source
from bakeoff.testing.contracts import PluginContract
from bakeoff.types import Document, DocumentBatch, Skipped, SourceFile, SourceItem


class _CorpusContract(PluginContract):
    """Common part of the contracts of sources.

    Override `corpus`: write a few documents into a folder and return the parameters that read them.
    """

    kind = "sources"

    def corpus(self, folder: Path) -> dict[str, object]:  # noqa: ARG002 - for subclasses
        """Parameters of a source with at least two documents."""
        return self.params

    @pytest.fixture
    def settings(self, tmp_path: Path) -> dict[str, object]:
        return self.corpus(tmp_path)


class SourceContract(_CorpusContract):
    """Items come in a stable order with unique ids, and any instance can read any of them."""

    def source(self, params: dict[str, object]) -> Source:
        """A new instance."""
        plugin = cast("type[Source]", self.plugin())
        return plugin(plugin.Params(**params))

    def test_items_have_unique_ids_in_a_stable_order(self, settings: dict[str, object]) -> None:
        one, other = self.source(settings), self.source(settings)
        first, second = list(one.items()), list(other.items())
        strange = [item for item in first if not isinstance(item, SourceItem | Skipped)]
        assert not strange, f"`items` yields {strange[0]!r}, which is neither a SourceItem nor a Skipped"
        ids = [item.id for item in first]
        assert first == second, "two instances list other items, or in another order"
        assert all(ids) and len({*ids}) == len(ids), "an id is empty or occurs twice"
        assert len(_readable(first)) > 1, "`corpus` needs at least two documents"
        assert all(item.version and item.size >= 0 for item in _readable(first)), (
            "an item has no version, or a negative size"
        )

    def test_a_new_instance_reads_any_item(self, settings: dict[str, object]) -> None:
        one, other = self.source(settings), self.source(settings)
        for item in reversed(_readable(list(one.items()))):
            first, second = one.read(item), other.read(item)
            assert first == second, f"{item.id} is read differently by a second instance"
            assert isinstance(first, Document | SourceFile | Skipped), (
                f"`read` returns a {type(first).__name__}, not a SourceFile, Document or Skipped"
            )
            assert first.id == item.id, f"`read` of {item.id} returns the id {first.id}"


class RowSourceContract(_CorpusContract):
    """A source of rows returns the same columns in every instance, with unique ids, and knows its content's
    version."""

    def source(self, params: dict[str, object]) -> RowSource:
        """A new instance."""
        plugin = cast("type[RowSource]", self.plugin())
        return plugin(plugin.Params(**params))

    def test_batches_have_unique_ids_in_a_stable_order(self, settings: dict[str, object]) -> None:
        first, second = (list(self.source(settings).batches()) for _ in range(2))
        rows = [_rows_of(batch) for batch in first]
        assert rows == [_rows_of(batch) for batch in second], (
            "two instances read other rows, or in another order"
        )
        ids = [row[0] for batch in rows for row in batch]
        assert all(ids) and len({*ids}) == len(ids), "an id is empty or occurs twice"
        assert len(ids) > 1, "`corpus` needs at least two documents"

    def test_it_counts_what_it_reads(self, settings: dict[str, object]) -> None:
        source = self.source(settings)
        read = sum(len(batch.ids) + len(batch.skipped) for batch in source.batches())
        assert source.count_rows() in (None, read), "`count_rows` is not the number of rows that are read"
        assert source.content_version() == self.source(settings).content_version()


def _rows_of(batch: DocumentBatch) -> list[tuple[str, ...]]:
    columns = [
        batch.ids,
        batch.texts,
        *([batch.titles] if batch.titles is not None else []),
        *batch.fields.values(),
    ]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _readable(items: list[SourceItem | Skipped]) -> list[SourceItem]:
    return [item for item in items if isinstance(item, SourceItem)]
