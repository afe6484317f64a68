"""Finds documents by name: exact id, path suffix (extension optional) or glob; several matches or none is an
error."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from bakeoff.corpus.paths import full_match
from bakeoff.errors import TruthError
from bakeoff.truth.rules import NameMatch
from bakeoff.types import Skipped

SHOWN = 3
_GLOB = re.compile(r"[*?\[]")
_POOL = 5_000
"""Most names to compare when searching for the nearest."""


class Names:
    """Document ids, found by any form a query file may use (C-18)."""

    def __init__(self, ids: Sequence[str], unread: Sequence[Skipped] = ()) -> None:
        self.ids = ids
        self._unread = unread
        self._by_id = _NameIndex(ids, str)

    @cached_property
    def _by_last(self) -> _NameIndex:
        """The documents by the last part of their path."""
        return _NameIndex(self.ids, _last_part)

    @cached_property
    def _by_stem(self) -> _NameIndex:
        """The documents by the last part of their path without its extension."""
        return _NameIndex(self.ids, _stem)

    def _row(self, name: str) -> int | None:
        """The row of the document with exactly this id."""
        rows = self._by_id.rows(name)
        return rows[-1] if rows else None

    def one(self, name: str) -> int:
        """Row of the one matching document."""
        rows = self.find(name)
        if len(rows) > 1:
            raise TruthError(self._ambiguous(name, rows))
        return rows[0]

    def find(self, name: str, match: NameMatch = "auto") -> list[int]:
        """Rows of the matching documents; only globs and substrings may match several."""
        rows = self._find(name, match)
        if not rows:
            raise TruthError(self._unknown(name, match))
        if len(rows) > 1 and match in ("auto", "path_suffix") and not self._is_glob(name, match):
            raise TruthError(self._ambiguous(name, rows))
        return rows

    def left_out(self, name: str, match: NameMatch = "auto") -> list[Skipped]:
        """Matching files that were not read; a pattern matches only those that may contain text."""
        if not self._unread or (match != "substring" and self._row(name) is not None):
            return []
        rows = self._unread_names._find(name, match, stems=not self._find(name, match))
        named = [one for one in map(self._unread.__getitem__, rows) if not one.id.endswith("/")]
        folders = (one for one in self._unread if one.id.endswith("/"))
        skipped = [*named, *(one for one in folders if _plain_path(name).startswith(one.id))]
        pattern = match == "substring" or self._is_glob(name, match)
        return [one for one in skipped if one.has_text] if pattern and self._find(name, match) else skipped

    @cached_property
    def _unread_names(self) -> Names:
        return Names([one.id for one in self._unread])

    def _find(self, name: str, match: NameMatch, *, stems: bool = True) -> list[int]:
        if match != "substring" and (row := self._row(name)) is not None:
            return [row]
        if match == "exact":
            return []
        if match == "substring":
            return [row for row, id_ in enumerate(self.ids) if name in id_]
        if self._is_glob(name, match):
            return self._glob(name)
        return self._suffix(name) or (self._without_extension(name) if stems else [])

    def _is_glob(self, name: str, match: NameMatch) -> bool:
        return match == "glob" or (match == "auto" and bool(_GLOB.search(name)) and self._row(name) is None)

    def _suffix(self, name: str) -> list[int]:
        name = _plain_path(name)
        rows = self._by_last.rows(_last_part(name))
        return [row for row in rows if f"/{self.ids[row]}".endswith(f"/{name}")]

    def _without_extension(self, name: str) -> list[int]:
        """Documents whose path ends with a name without its extension: doc_040 matches doc_040.md."""
        name = _plain_path(name)
        rows = self._by_stem.rows(_last_part(name))
        return [row for row in rows if f"/{self.ids[row].rpartition('.')[0]}".endswith(f"/{name}")]

    def _glob(self, pattern: str) -> list[int]:
        matches = full_match(pattern, glob_expression(pattern))
        return [row for row, id_ in enumerate(self.ids) if matches(id_)]

    def _ambiguous(self, name: str, rows: Sequence[int]) -> str:
        some = ", ".join(self.ids[row] for row in rows[:SHOWN])
        more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        return f'"{name}" matches {len(rows)} documents: {some}{more}. Write more of the path, or a glob.'

    def _unknown(self, name: str, match: NameMatch) -> str:
        near = self.nearest(name)
        nearest = f" Nearest: {', '.join(near)}." if near else ""
        named = "Documents are named by their path below the corpus folder."
        return f'no document matches "{name}".{nearest} {named} {self._advice(name, match)}'

    def _advice(self, name: str, match: NameMatch) -> str:
        if match == "exact" and _GLOB.search(name):
            return "With match: exact it is a name, not a pattern: remove match: exact, or fix the name."
        if match == "substring" or self._is_glob(name, match):
            return "Fix the pattern."
        stem = name.rsplit("/", 1)[-1]
        return f'Fix the name, or use a glob: documents: ["{stem}*"].'

    def nearest(self, name: str) -> list[str]:
        """Up to three similar ids."""
        word = _last_part(name.strip("*")).lower()
        starting: dict[str, int] = {}
        pool: dict[str, int] = {}
        for row, last in enumerate(map(_last_part, self.ids)):
            if len(pool) < _POOL:
                pool.setdefault(last, row)
            if word and len(starting) < SHOWN and last.lower().startswith(word):
                starting.setdefault(last, row)
        by_lower = {last.lower(): last for last in reversed(pool)}
        close = difflib.get_close_matches(word, [last.lower() for last in pool], n=SHOWN, cutoff=0.5)
        candidates = starting | {last: pool[last] for last in (by_lower[near] for near in close)}
        return [self.ids[row] for row in list(candidates.values())[:SHOWN]]


class _NameIndex:
    """Rows by what is made of a name: hashes in order, 16 bytes for each document, instead of a dict of lists."""

    def __init__(self, ids: Sequence[str], part: Callable[[str], str]) -> None:
        self._ids, self._part = ids, part
        hashes = np.fromiter((hash(part(id_)) for id_ in ids), np.int64, len(ids))
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def rows(self, name: str) -> list[int]:
        """The rows whose part is this name, ascending."""
        first, past = (np.searchsorted(self._hashes, hash(name), side=side) for side in ("left", "right"))
        rows: list[int] = self._order[first:past].tolist()
        return [row for row in rows if self._part(self._ids[row]) == name]


def _last_part(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _stem(name: str) -> str:
    last = _last_part(name)
    return last.rpartition(".")[0] or last


def _plain_path(name: str) -> str:
    """Normalise a path below the corpus folder."""
    return name.replace("\\", "/").removeprefix("./").lstrip("/")


def glob_expression(pattern: str) -> str:
    """A regular expression for a path glob: `*` and `?` stay inside a component, `**` does not."""
    out = "(?:.*/)?"
    for part in re.split(r"(\*\*/?|\*|\?|\[[^\]]*\])", pattern.removeprefix("./").removeprefix("/")):
        if part.startswith("**"):
            out += ".*"
        elif part.startswith("[") and len(part) > 2:
            out += "[" + part[1:-1].replace("\\", "\\\\").replace("!", "^", 1) + "]"
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
    return out
