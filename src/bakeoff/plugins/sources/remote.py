"""The files of a folder behind a URL that fsspec opens, such as s3://bucket/docs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bakeoff.corpus.tables.places import file_system, reading
from bakeoff.errors import CorpusError
from bakeoff.plugins.kit.server import without_secret
from bakeoff.plugins.sources.folder import FolderSource
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import Skipped, SourceFile, SourceItem


class RemoteParams(BaseModel):
    """Which folder, and which of its files."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    remote: Annotated[str, AfterValidator(without_secret)] = Field(
        description="the folder's URL; keys come from the environment, as its client finds them"
    )
    include: list[str] = Field([], description="globs of files to read; default: those of the folder source")
    exclude: list[str] = Field([], description="globs of files to leave out")


class RemoteSource:
    """Copies the files to this machine and reads them as a folder."""

    version: ClassVar[str] = FolderSource.version
    selects_by: ClassVar[tuple[str, ...]] = ("remote", "include", "exclude")
    Params = RemoteParams

    def __init__(self, params: RemoteParams) -> None:
        self._params = params
        self._copies = TempDir("remote")

    @cached_property
    def _folder(self) -> FolderSource:
        """Copied when it is first listed: the seconds that takes are seconds of reading."""
        system, path = file_system(self._params.remote)
        with reading(self._params.remote):
            if not system.isdir(path):
                raise CorpusError(f"{self._params.remote} is not a folder with files: check the URL.")
            system.get(path.rstrip("/") + "/", f"{self._copies.path}/", recursive=True)
        chosen = {"include": self._params.include} if self._params.include else {}
        folder = FolderSource.Params(folder=self._copies.path, exclude=self._params.exclude, **chosen)
        return FolderSource(folder)

    def items(self) -> Iterable[SourceItem | Skipped]:
        """The files that were copied."""
        return self._folder.items()

    def read(self, item: SourceItem) -> SourceFile | Skipped:
        """The bytes of one of them."""
        return self._folder.read(item)
