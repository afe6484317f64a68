"""Chooses the reader for a file: the one the experiment names for its kind, else the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config.plan import PluginSpec
from bakeoff.corpus.document_kinds import KIND_OF_SUFFIX, TEXTS, format_of, kind_of
from bakeoff.errors import BakeoffError, FileLimitError, MissingExtraError, UnreadableFileError
from bakeoff.protocols import Reader
from bakeoff.types import Document, Skipped, SourceFile

Found = Document | SourceFile | Skipped
"""What a source returns for an item."""
USUAL = {"pdf": ("pdfium", "pypdf"), "eml": ("email",), "mbox": ("email",)}
"""Readers of a kind in the order they are tried; other kinds use the reader of their own name."""


@dataclass(frozen=True, slots=True)
class ReaderPart:
    """A reader of one kind of files, serialisable for another process; `missing` says why it can't be used."""

    name: str
    plugin: type | None = None
    params: BaseModel | None = None
    missing: str = ""

    def identity(self) -> list[Any]:
        """Its part of a cache key."""
        if self.plugin is None or self.params is None:
            return [self.name, self.missing]
        return [self.name, cast(Any, self.plugin).version, self.params.model_dump(mode="json")]

    def open(self) -> Reader:
        """Create the reader with its parameters."""
        if self.plugin is None:
            raise UnreadableFileError(self.missing)
        return cast(Reader, self.plugin(self.params))

    @property
    def packed(self) -> bool:
        """Whether a small file may expand to far more than its size."""
        return bool(getattr(self.plugin, "packed", True))


@dataclass(frozen=True, slots=True)
class FileReaders:
    """The readers of some kinds of files."""

    parts: Mapping[str, tuple[ReaderPart, ...]]
    _open: dict[str, Reader] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[FileReaders], tuple[Mapping[str, tuple[ReaderPart, ...]]]]:
        return FileReaders, (self.parts,)

    def identity(self, name: str) -> list[Any]:
        """Everything that shapes the text of a file besides its bytes."""
        return [part.identity() for part in self.parts[kind_of(name)]]

    def packed(self, name: str) -> bool:
        """Whether a file may expand to far more than its size."""
        return any(part.packed for part in self.parts[kind_of(name)])

    @property
    def local(self) -> bool:
        """Whether only this process can import one of them."""
        plugins = (part.plugin for parts in self.parts.values() for part in parts)
        return any(plugin is not None and plugin.__module__ == "__main__" for plugin in plugins)

    def document(self, item: Found) -> Document | Skipped:
        """Turn a source's item into a document, with the first reader that can read it."""
        if not isinstance(item, SourceFile):
            return item
        parts, failed = self.parts[kind_of(item.id)], {}
        for part in parts:
            try:
                return self._read(part, item)
            except FileLimitError as exc:
                return Skipped(item.id, str(exc))
            except UnreadableFileError as exc:
                failed[part.name] = str(exc)
            except (BakeoffError, MemoryError):
                raise
            except Exception as exc:  # noqa: BLE001 - whatever a reader raises on one file, the others are read
                failed[part.name] = f"the reader {part.name} failed ({type(exc).__name__}: {exc})"[:300]
        return Skipped(item.id, _why(item.id, parts, failed))

    def _read(self, part: ReaderPart, file: SourceFile) -> Document | Skipped:
        if part.name not in self._open:
            self._open[part.name] = part.open()
        outcome = self._open[part.name].read(file)
        if isinstance(outcome, Document) and part.packed:
            return replace(outcome, fields={**outcome.fields, "reader": part.name})
        return outcome


def file_readers(names: Iterable[str], chosen: Mapping[str, PluginSpec] | None = None) -> FileReaders:
    """The readers for some file names; `chosen` ones come from the experiment, by kind."""
    kinds = dict.fromkeys(kind_of(name) for name in names)
    by_kind = chosen or {}
    return FileReaders(
        {kind: (_chosen(by_kind[kind]),) if kind in by_kind else _usual_parts(kind) for kind in kinds}
    )


def usual_readers(kind: str) -> tuple[str, ...]:
    """Names of the default readers of a kind: the reader of that name, and `text` for text formats."""
    if kind in USUAL:
        return USUAL[kind]
    named = kind not in TEXTS and (kind in KIND_OF_SUFFIX.values() or kind in registry.names("readers"))
    return (kind,) if named else ("text",)


def _chosen(spec: PluginSpec) -> ReaderPart:
    return ReaderPart(spec.name, registry.load("readers", spec.name), spec.params)


def _usual_parts(kind: str) -> tuple[ReaderPart, ...]:
    return tuple(_usual_part(name) for name in usual_readers(kind))


def _usual_part(name: str) -> ReaderPart:
    try:
        plugin = registry.load("readers", name)
    except MissingExtraError as exc:
        return ReaderPart(name, missing=str(exc))
    return ReaderPart(name, plugin, plugin.Params())


def _why(name: str, parts: tuple[ReaderPart, ...], failed: Mapping[str, str]) -> str:
    """Why no reader could read a file: what to install, or each one's error."""
    if all(part.plugin is None for part in parts):
        return parts[0].missing
    if len(parts) == 1:
        return failed[parts[0].name]
    damage = f"damaged {format_of(name)}: "
    each = "; ".join(f"{reader}: {why.removeprefix(damage)}" for reader, why in failed.items())
    return f"{damage}{each}"
