"""A corpus from a bundled generator: the same documents for the same seed, labelled synthetic."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from bakeoff.plugins.sources.folder import FolderSource
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import Skipped, SourceFile, SourceItem


class GeneratedParams(BaseModel):
    """Which generator, and its seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    example: Annotated[
        Literal["incidents"], Field(description="the bundled example whose corpus to generate")
    ]
    seed: int = 7


class GeneratedSource:
    """Writes the corpus into its own folder and reads it from there."""

    version: ClassVar[str] = "1"
    Params = GeneratedParams

    def __init__(self, params: GeneratedParams) -> None:
        self._params = params
        self._scratch = TempDir("corpus")

    @cached_property
    def _folder(self) -> FolderSource:
        """Written on first use, so that the time counts as reading time."""
        generator = import_module(f"bakeoff.examples.{self._params.example}.generate")
        generator.write_reports(self._scratch.path, seed=self._params.seed)
        return FolderSource(FolderSource.Params(folder=self._scratch.path))

    def items(self) -> Iterable[SourceItem | Skipped]:
        """Yield the files that were written."""
        return self._folder.items()

    def read(self, item: SourceItem) -> SourceFile | Skipped:
        """Read the bytes of one file."""
        return self._folder.read(item)
