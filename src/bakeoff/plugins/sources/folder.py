"""The files of a folder: everything that a reader can read."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

import chardet
from pydantic import BaseModel, ConfigDict, Field, field_validator

from bakeoff.corpus.document_kinds import (
    DEFAULT_INCLUDE,
    NOT_INCLUDED,
    OFFICE,
    UNSUPPORTED,
    WITHOUT_TEXT,
    format_of,
    kind_of,
)
from bakeoff.corpus.paths import full_match
from bakeoff.errors import CorpusError
from bakeoff.types import ReadLimits, Skipped, SourceFile, SourceItem

_NEVER = frozenset({"node_modules", "__pycache__", "venv", "CVS"})  # and every hidden folder
_LINK = "symbolic link: set follow_symlinks to read it"


class FileParams(BaseModel):
    """Which files to read, and with which limits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    include: list[str] = Field(
        list(DEFAULT_INCLUDE),
        description="globs of files to read: '*.py' at any depth, 'docs/**' below the folder",
    )
    exclude: list[str] = Field([], description="globs of files to leave out, and 'name/' for whole folders")
    max_mb: float = Field(20, gt=0, description="largest file in megabytes; larger ones are skipped")
    max_seconds: float = Field(30, ge=1, le=3600, description="CPU seconds after which a file is skipped")
    max_memory_mb: int = Field(
        1000, ge=100, le=1_000_000, description="megabytes of memory above which a file is skipped"
    )
    encoding: str | None = Field(
        None,
        description="encoding of files that are not UTF-8; default: detected by marks, declarations and statistics",
    )

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, name: str | None) -> str | None:
        try:
            return name if name is None else codecs.lookup(name).name
        except LookupError as exc:
            raise ValueError(
                f"{name!r} is not an encoding that Python knows: cp1252 or shift_jis, for example"
            ) from exc


class FolderParams(FileParams):
    """Parameters of the folder source."""

    folder: Path = Field(description="the folder with the documents")
    follow_symlinks: bool = Field(False, description="follow links to files and folders")


class FolderSource:
    """Reads every matching file below a folder; skipped files are listed with the reason."""

    version: ClassVar[str] = f"3 with chardet {chardet.__version__}"
    selects_by: ClassVar[tuple[str, ...]] = ("include", "exclude", "max_mb", "follow_symlinks")

    Params = FolderParams

    def __init__(self, params: FolderParams) -> None:
        self._params = params
        self._included = match_globs(params.include)
        self._excluded = match_globs(params.exclude)

    def items(self) -> Iterator[SourceItem | Skipped]:
        """Yield the matching files by id, the posix path below the folder."""
        folder = self._params.folder
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.exists() else "does not exist"
            raise CorpusError(f"corpus folder {folder} {what}: give the folder that holds the documents")
        refused: list[Skipped] = []
        found = [self._item(folder, name) for name in self._names(folder, refused)]
        read = {format_of(item.id) for item in found}
        # a readable file that no pattern matches was left out on purpose
        chosen = [item for item in refused if item.reason != NOT_INCLUDED or format_of(item.id) not in read]
        yield from sorted([*found, *chosen], key=lambda item: item.id)

    def read_limits(self) -> ReadLimits:
        """Limits set by the parameters."""
        return ReadLimits(self._params.max_seconds, self._params.max_memory_mb)

    def reads_from(self, folder: Path) -> bool:
        """Whether a folder is below this one, and neither hidden nor excluded."""
        root, inner = self._params.folder.resolve(), folder.resolve()
        return inner.is_relative_to(root) and self._allows((inner / "report.html").relative_to(root).parts)

    def chooses(self, name: str) -> bool:
        """Whether a file with this posix path would be read if it exists and is not too large."""
        return self._included(name) and self._allows(tuple(name.split("/")))

    def _allows(self, parts: tuple[str, ...]) -> bool:
        """Whether no part of a path is hidden or excluded."""
        steps = ["".join(f"{part}/" for part in parts[:end]) for end in range(1, len(parts))]
        return not any(part.startswith(".") or part in _NEVER for part in parts) and not any(
            self._excluded(name) for name in (*steps, "/".join(parts))
        )

    def read(self, item: SourceItem) -> SourceFile | Skipped:
        """Read the bytes of one file."""
        try:
            data = (self._params.folder / item.id).read_bytes()
        except OSError as exc:
            return Skipped(item.id, _unreadable(exc))
        if _version(data) != item.version:
            raise CorpusError(f"{item.id} changed while the corpus was read: run again when it is at rest")
        return SourceFile(item.id, data, self._params.encoding)

    def _names(self, folder: Path, refused: list[Skipped]) -> Iterator[str]:
        """Posix paths of matching files, unordered; what is not entered is added to `refused`."""

        def refuse(path: Path, reason: str) -> None:
            refused.append(Skipped(f"{_printable_name(path.relative_to(folder).as_posix())}/", reason))

        def unreadable(exc: OSError) -> None:
            refuse(Path(exc.filename), _unreadable(exc))

        links = self._params.follow_symlinks
        seen: set[str] = set()
        for at, folders, files in os.walk(folder, followlinks=links, onerror=unreadable):
            here = Path(at).relative_to(folder).as_posix()
            prefix = "" if here == "." else f"{here}/"
            folders[:] = [name for name in folders if self._enters(Path(at, name), f"{prefix}{name}/", seen)]
            for name in folders:
                if not links and Path(at, name).is_symlink():
                    refuse(Path(at, name), _LINK)
            for name in files:
                path = prefix + name
                if name.startswith(".") or self._excluded(path):
                    continue
                if self._included(path):
                    yield path
                else:
                    refused.append(_other_kind(_printable_name(path)))

    def _enters(self, path: Path, name: str, seen: set[str]) -> bool:
        """Whether to enter a folder; if links are followed, each real folder once."""
        if path.name.startswith(".") or path.name in _NEVER or self._excluded(name):
            return False
        if not self._params.follow_symlinks:
            return True
        real = os.path.realpath(path)
        new = real not in seen and not self._params.folder.resolve().is_relative_to(real)
        seen.add(real)
        return new

    def _item(self, folder: Path, name: str) -> SourceItem | Skipped:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            return Skipped(_printable_name(name), "file name is not UTF-8: rename it")
        path = folder / name
        if path.is_symlink() and not self._params.follow_symlinks:
            return Skipped(name, _LINK)
        try:
            return self._readable(path, name)
        except OSError as exc:
            return Skipped(name, _unreadable(exc))

    def _readable(self, path: Path, name: str) -> SourceItem | Skipped:
        if not path.is_file():
            return Skipped(name, "no regular file" if path.exists() else "link to nothing")
        size = path.stat().st_size
        if size > self._params.max_mb * 1e6:
            return Skipped(name, f"too large: {size / 1e6:.1f} MB, max_mb is {self._params.max_mb:g}")
        data = path.read_bytes()
        if not data.strip():
            return Skipped(name, "empty", has_text=False)
        return SourceItem(name, _version(data), len(data))


def _printable_name(name: str) -> str:
    """A file name as text, even if its bytes are not UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _other_kind(name: str) -> Skipped:
    """A file that `include` does not match: its kind, and whether that leaves text out of the corpus."""
    suffix = Path(name).suffix[1:].lower()
    if suffix in UNSUPPORTED:
        return Skipped(name, f"{UNSUPPORTED[suffix]} is not supported")
    if suffix in WITHOUT_TEXT:
        return Skipped(name, f"{WITHOUT_TEXT[suffix]}, not a document", has_text=False)
    return Skipped(name, NOT_INCLUDED, has_text=kind_of(name) in OFFICE)


def _unreadable(exc: OSError) -> str:
    return f"unreadable: {exc.strerror or type(exc).__name__}"


def _version(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def match_globs(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Test posix paths, ignoring case: `*.py` matches a name anywhere, `docs/**/*.md` a path below the folder."""
    tests = [full_match(pattern, _regex(pattern), ignore_case=True) for pattern in patterns]
    return lambda path: any(test(path) for test in tests)


def _regex(pattern: str) -> str:
    """Translate a pattern; one with a slash is anchored at the folder, one without matches at any depth."""
    pattern = pattern.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        return (
            f"(?:.*/)?{_translate(pattern.rstrip('/'))}(?:/.*)?"
            if pattern.endswith("/")
            else f"(?:.*/)?{_translate(pattern)}"
        )
    return _translate(pattern.lstrip("/") + ("**" if pattern.endswith("/") else ""))


def _translate(pattern: str) -> str:
    steps = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|.", pattern, re.DOTALL)
    return "".join(steps.get(token) or _literal(token) for token in tokens)


def _literal(token: str) -> str:
    if len(token) == 1:
        return re.escape(token)
    inner = token[1:-1].replace("\\", "\\\\")
    return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
