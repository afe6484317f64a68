"""A corpus without the sentences that queries were made of: blanks in their place, every offset and line as before."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.truth.drafting.draft import QueryDraft
from bakeoff.truth.leaked_sentences import LEAK, blank_sentences


def write_masked(folder: Path, into: Path, texts: dict[str, str], drafts: Iterable[QueryDraft]) -> int:
    """Copy the documents of a folder into another, masked where drafts were made of them; returns how many are."""
    if into.exists() and any(into.iterdir() if into.is_dir() else [into]):
        raise SettingError(f"{into} is there already and not empty. Give a new folder for --masked.")
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
