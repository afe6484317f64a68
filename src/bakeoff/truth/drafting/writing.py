"""Drafts as the text of a query file, checked by reading it back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError
from bakeoff.truth.drafting.draft import QueryDraft
from bakeoff.truth.queries import QuerySet, query_set

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
    """The queries of a text that was written here."""
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
