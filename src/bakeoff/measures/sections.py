"""Section accuracy: results from the target sections, with and without the universal ones (C-6, C-7, F11)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.errors import TruthError
from bakeoff.measures.conventions import DEFAULT, Conventions


@dataclass(frozen=True, slots=True)
class SectionScores:
    """SecAcc@k, SecAcc_primary@k and SecAcc_returned@k of one query."""

    universal: float
    primary: float
    returned: float


def matches(section: str, targets: Sequence[str], conventions: Conventions = DEFAULT) -> bool:
    """Whether a section name contains a target, ignoring case: "(b) Fire Damage" contains "FIRE DAMAGE"."""
    name = " ".join(section.split()).casefold()
    titles = (" ".join(target.split()).casefold() for target in targets)
    if conventions.section_match == "contains":
        return any(target in name for target in titles)
    return any(re.search(rf"(?<!\w){re.escape(target)}(?!\w)", name) for target in titles)


def section_scores(
    sections: Sequence[str], targets: Sequence[str], k: int, conventions: Conventions = DEFAULT
) -> SectionScores:
    """Section accuracy of one ranking, given the section names of its results in served order."""
    if not targets:
        raise TruthError("a section query needs at least one target section.")
    top = sections[:k]
    primary = sum(matches(section, targets, conventions) for section in top)
    widened = sum(
        matches(section, (*targets, *conventions.universal_sections), conventions) for section in top
    )
    return SectionScores(widened / k, primary / k, primary / len(top) if top else 0.0)
