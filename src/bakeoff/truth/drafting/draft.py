"""A drafted query, and the selection among many: spread over kinds and documents, reproducible by seed.

Drafts are written as a query file, optionally with a masked copy of their documents.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError, SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.truth.duplicates import find_similar, words
from bakeoff.truth.leaked_sentences import LEAK, blank_sentences
from bakeoff.truth.queries import QuerySet, query_set
from bakeoff.types import Json


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """One query with its truth in query-file form; `document` is its origin."""

    text: str
    category: str
    difficulty: str
    truth: Mapping[str, Json]
    document: str
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """An id that is stable while the draft is unchanged."""
        slug = "-".join(word for word in words(self.text)[:4] if word.isascii())
        return f"{slug or 'query'}-{fingerprint(self.text, dict(self.truth))[:6]}"


def choose(drafts: Iterable[QueryDraft], n: int, seed: int) -> list[QueryDraft]:
    """Select at most n drafts, spread evenly over categories, without near-duplicates."""
    pool = sorted(drafts, key=lambda draft: (draft.category, draft.document, draft.text))
    # of two near-duplicates one can stay; two identical ones have two answers, so both are dropped
    pairs = find_similar([draft.text for draft in pool])
    left_out = {
        place for pair in pairs for place in ((pair.first, pair.second) if pair.same else (pair.second,))
    }
    by_category: dict[str, list[QueryDraft]] = defaultdict(list)
    for place, draft in enumerate(pool):
        if place not in left_out:
            by_category[draft.category].append(draft)
    queues = [_spread(group, seed) for group in by_category.values()]
    turns = (draft for turn in itertools.zip_longest(*queues) for draft in turn if draft is not None)
    return sorted(itertools.islice(turns, n), key=lambda draft: (draft.category, draft.document, draft.id))


def _spread(drafts: Sequence[QueryDraft], seed: int) -> list[QueryDraft]:
    """Random order, but with a document's second draft only after the first of every other."""
    dice = random.Random(f"{seed} {drafts[0].category}")
    shuffled = dice.sample(list(drafts), len(drafts))
    counts: dict[str, int] = defaultdict(int)
    turns = []
    for place, draft in enumerate(shuffled):
        turns.append((counts[draft.document], place))
        counts[draft.document] += 1
    return [shuffled[place] for _, place in sorted(turns)]


def write_masked(folder: Path, into: Path, texts: dict[str, str], drafts: Iterable[QueryDraft]) -> int:
    """Copy a folder's documents, masking the sentences of drafts; returns the number of masked ones."""
    if into.exists() and any(into.iterdir() if into.is_dir() else [into]):
        raise SettingError(f"{into} already exists and is not empty. Give a new folder for --masked.")
    leaks: dict[str, list[str]] = {}
    for draft in drafts:
        if LEAK in draft.tags:
            leaks.setdefault(draft.document, []).append(draft.tags[LEAK])
    for name, text in texts.items():
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in leaks:
            target.write_bytes(blank_sentences(text, leaks[name]).encode("utf-8", "surrogatepass"))
        else:
            shutil.copyfile(folder / name, target)
    return len(leaks)


HEADER = """\
# Drafted by `bakeoff suggest` from what the documents say of themselves: no language model, no person.
# They find out whether a system works at all. They do not say what your users ask: read them, keep what a person
# would ask, put it in that person's words, and then take away `synthetic`.
# tags.leak is the sentence of the corpus a query was made of; docs/validating.md says what follows from it.
"""


def query_text(drafts: Sequence[QueryDraft], name: str) -> str:
    """The query file."""
    described = f"{len(drafts)} synthetic queries drafted from docstrings, headings, titles and SQL lineage"
    metadata = {"name": name, "description": described, "extra": {"synthetic": len(drafts)}}
    lines = [f"{HEADER}metadata: {_flow(metadata)}", "defaults: {synthetic: true}", "queries:"]
    for draft in drafts:
        lines += [
            f"  - id: {_flow(draft.id)}",
            f"    text: {_flow(draft.text)}",
            f"    category: {draft.category}",
            f"    difficulty: {draft.difficulty}",
            f"    cluster: {_flow(draft.document)}",
            f"    truth: {_flow(draft.truth)}",
        ]
        lines += [f"    tags: {_flow(draft.tags)}"] if draft.tags else []
    return "\n".join(lines) + "\n"


def read_back(text: str) -> QuerySet:
    """Read queries back from a text written here."""
    return query_set(yaml_document.parse(text, "the suggested queries", QueryFileError))


def _flow(value: Any) -> str:
    """A value on one line; texts are quoted as in JSON, which YAML reads the same way."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_flow(item) for item in value)}]"
    if isinstance(value, int):
        return str(value)
    return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
