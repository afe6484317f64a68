"""Summary of skipped files by format and reason, with examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff.corpus.document_kinds import format_of
from bakeoff.types import Skipped

KINDS_SHOWN = 5
EXAMPLES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SkippedFiles:
    """Files of one format skipped for one kind of reason: their number, one example, and its reason."""

    kind: str
    files: int
    example: str
    reason: str
    has_text: bool


def summarise_skipped(skipped: Iterable[Skipped]) -> tuple[SkippedFiles, ...]:
    """Skipped files by format and reason: first those with missing text, then by number."""
    groups: dict[tuple[str, str, bool], list[Skipped]] = {}
    for item in skipped:
        groups.setdefault((format_of(item.id), _kind_of_reason(item), item.has_text), []).append(item)
    found = [
        SkippedFiles(kind, len(items), items[0].id, items[0].reason, has_text)
        for (kind, _reason, has_text), items in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (not one.has_text, -one.files, one.kind)))


def _kind_of_reason(item: Skipped) -> str:
    """A reason without file-specific details: 'binary' of 'binary: it holds zero bytes'."""
    return re.split(r"[:(0-9]", item.reason, maxsplit=1)[0].strip()


def describe_skipped(found: Sequence[SkippedFiles]) -> str:
    """Number of skipped files, their formats, and example reasons; '' if all were read."""
    if not found:
        return ""
    total = sum(one.files for one in found)
    files: dict[str, int] = {}
    for one in found:
        files[one.kind] = files.get(one.kind, 0) + one.files
    kinds = [f"{count:,} {kind}" for kind, count in files.items()][:KINDS_SHOWN]
    rest = sum(list(files.values())[KINDS_SHOWN:])
    counted = ", ".join([*kinds, *([f"{rest:,} other"] if rest else [])])
    examples = "; ".join(f"{one.example} ({one.reason.partition(':')[0]})" for one in found[:EXAMPLES_SHOWN])
    return f"Skipped {total:,} file{'' if total == 1 else 's'} ({counted}), e.g. {examples}."
