"""Files that were not read, by format: how many, one of them, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bakeoff.corpus.document_kinds import format_of
from bakeoff.types import Skipped

KINDS_SHOWN = 5
EXAMPLES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SkippedFiles:
    """Files of one format that were not read: how many, one of them, and why that one was not."""

    kind: str
    files: int
    example: str
    reason: str
    has_text: bool


def summarise_skipped(skipped: Iterable[Skipped]) -> tuple[SkippedFiles, ...]:
    """What was not read by format: first what leaves text out of the corpus, then what there is most of."""
    groups: dict[str, list[Skipped]] = {}
    for item in skipped:
        groups.setdefault(format_of(item.id), []).append(item)
    found = []
    for kind, items in groups.items():
        first = next((item for item in items if item.has_text), items[0])
        found.append(SkippedFiles(kind, len(items), first.id, first.reason, first.has_text))
    return tuple(sorted(found, key=lambda one: (not one.has_text, -one.files, one.kind)))


def describe_skipped(found: Sequence[SkippedFiles]) -> str:
    """How many files were not read, of which formats, and why some of them were not; '' where all were read."""
    if not found:
        return ""
    total = sum(one.files for one in found)
    kinds = [f"{one.files:,} {one.kind}" for one in found[:KINDS_SHOWN]]
    rest = sum(one.files for one in found[KINDS_SHOWN:])
    counted = ", ".join([*kinds, *([f"{rest:,} other"] if rest else [])])
    examples = "; ".join(f"{one.example} ({one.reason.partition(':')[0]})" for one in found[:EXAMPLES_SHOWN])
    return f"Skipped {total:,} file{'' if total == 1 else 's'} ({counted}), e.g. {examples}."
