"""The files of a folder behind a URL that fsspec can open, such as s3://bucket/docs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from bakeoff.corpus.tables.places import file_system, reading
from bakeoff.errors import CorpusError
from bakeoff.plugins.kit.server import without_secret
from bakeoff.plugins.sources.folder import FileParams, FolderParams, FolderSource
from bakeoff.storage.temp_dir import TempDir
from bakeoff.types import ReadLimits, Skipped, SourceFile, SourceItem

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

FILES_AT_ONCE = 200


class RemoteParams(FileParams):
    """Which folder, and which of its files."""

    remote: Annotated[str, AfterValidator(without_secret)] = Field(
        description="the folder's URL; its client takes keys from the environment"
    )
    max_total_mb: float = Field(
        2_000, gt=0, description="most megabytes to copy; above that, nothing is read"
    )


class RemoteSource:
    """Copies the files to read to this machine and reads them as a folder."""

    version: ClassVar[str] = FolderSource.version
    selects_by: ClassVar[tuple[str, ...]] = ("remote", "include", "exclude", "max_mb", "max_total_mb")
    Params = RemoteParams

    def __init__(self, params: RemoteParams) -> None:
        self._params = params
        self._copies = TempDir("remote")

    @cached_property
    def _folder(self) -> FolderSource:
        """Copied on first use, so that the time counts as reading time."""
        given = self._params.model_dump(include=set(FileParams.model_fields))
        folder = FolderSource(FolderParams(folder=self._copies.path, **given))
        system, path = file_system(self._params.remote)
        with reading(self._params.remote):
            if not system.isdir(path):
                raise CorpusError(f"{self._params.remote} is not a folder with files: check the URL.")
            found = system.find(path, detail=True)
            sizes = {name: int(info.get("size") or 0) for name, info in found.items()}
            self._copy(system, self._place(path, sizes, folder), sizes)
        return folder

    def _place(self, path: str, sizes: dict[str, int], folder: FolderSource) -> dict[str, Path]:
        """Where to copy each file to read; the others exist by name and size only."""
        wanted: dict[str, Path] = {}
        for name, size in sizes.items():
            below = name.removeprefix(path.rstrip("/")).lstrip("/")
            if not below or below.endswith("/"):  # how object stores mark a folder
                continue
            if ".." in below.split("/"):
                raise CorpusError(
                    f"{self._params.remote} has a file whose name leads outside it: {below!r}. Rename it."
                )
            target = self._copies.path / below
            target.parent.mkdir(parents=True, exist_ok=True)
            if folder.chooses(below) and size <= self._params.max_mb * 1e6:
                wanted[name] = target
            else:
                with target.open("wb") as file:
                    file.truncate(size)
        return wanted

    def _copy(self, system: AbstractFileSystem, wanted: dict[str, Path], sizes: dict[str, int]) -> None:
        self._check_total(sum(sizes[name] for name in wanted), len(wanted))
        names, copied = list(wanted), 0
        for begin in range(0, len(names), FILES_AT_ONCE):
            some = names[begin : begin + FILES_AT_ONCE]
            system.get(some, [str(wanted[name]) for name in some])
            copied += sum(wanted[name].stat().st_size for name in some)
            self._check_total(copied, begin + len(some))  # a server may report other sizes than it sends

    def _check_total(self, size: int, count: int) -> None:
        if size > self._params.max_total_mb * 1e6:
            raise CorpusError(
                f"{self._params.remote}: {count:,} files to copy have {size / 1e6:,.1f} MB, and max_total_mb is "
                f"{self._params.max_total_mb:g}. Choose fewer with `include`, or set max_total_mb in the corpus."
            )

    def items(self) -> Iterable[SourceItem | Skipped]:
        """Yield the copied files, and those skipped with the reason."""
        return self._folder.items()

    def read_limits(self) -> ReadLimits:
        """Limits set by the parameters."""
        return ReadLimits(self._params.max_seconds, self._params.max_memory_mb)

    def read(self, item: SourceItem) -> SourceFile | Skipped:
        """Read the bytes of one file."""
        return self._folder.read(item)
