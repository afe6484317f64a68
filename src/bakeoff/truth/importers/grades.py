"""The meaning of foreign grades: on most scales the highest is the best, on Cranfield's 1 is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from bakeoff.errors import DataError, SettingError
from bakeoff.truth.importers.draft import ImportLog
from bakeoff.truth.importers.qrels import Judgment
from bakeoff.truth.importers.rules import HIGHEST, GradedJudgment

HIGHEST_BEST = "highest-best"
LOWEST_BEST = "lowest-best"
FEWEST_GRADES = 3
"""A scale with fewer grades gives no hint of its direction."""
_MAP = re.compile(r"\s*(-?\d+)\s*=\s*(\d+)\s*")


def regrade(judged: Sequence[Judgment], choice: str, ledger: ImportLog) -> dict[Judgment, GradedJudgment]:
    """Each judgment on our scale; raises for a scale that looks reversed unless `choice` settles it."""
    counts = Counter(one.grade for one in judged)
    if not choice and _looks_reversed(counts):
        listing = ", ".join(f"{grade}: {counts[grade]:,}" for grade in sorted(counts))
        raise DataError(
            f"which grade is the best? By grade: {listing}. None is 0 and 1 is much rarer than 2, as on a scale "
            f"on which 1 is the best (Cranfield). Say --grades {LOWEST_BEST}, --grades {HIGHEST_BEST}, or what each "
            "grade means, for example --grades 1=3,2=3,3=2,4=1,5=0."
        )
    if not choice and _without_zero(counts):
        ledger.attend(
            f"no judgment has the grade 0; the highest grade was taken as the best. Say --grades {LOWEST_BEST} if 1 is."
        )
    places = _places(choice, counts)
    if places:
        listing = ", ".join(f"{old} → {places[old]}" for old in sorted(places) if counts[old])
        ledger.attend(
            f"grades were changed by --grades {choice}: {listing}; the originals are kept in a tag."
        )
    return {
        one: GradedJudgment(one.document, places.get(one.grade, one.grade), one.grade if places else None)
        for one in judged
    }


def _looks_reversed(counts: Counter[int]) -> bool:
    """Whether nothing is graded 0 and 1 is less than half as frequent as 2: the lowest grade is seldom rare."""
    return _without_zero(counts) and 0 < 2 * counts[1] < counts[2]


def _without_zero(counts: Counter[int]) -> bool:
    return not counts[0] and sum(grade > 0 for grade in counts) >= FEWEST_GRADES


def _places(choice: str, counts: Counter[int]) -> dict[int, int]:
    """New grade of each old one; empty if none changes."""
    if choice in ("", HIGHEST_BEST):
        return {}
    if choice == LOWEST_BEST:
        worst = max((grade for grade in counts if grade > 0), default=0)
        return {grade: min(HIGHEST, worst + 1 - grade) for grade in counts if grade > 0}
    pairs = [_MAP.fullmatch(part) for part in choice.split(",")]
    places = {int(pair[1]): int(pair[2]) for pair in pairs if pair}
    if len(places) < len(pairs) or max(places.values()) > HIGHEST:
        raise SettingError(
            f"--grades {choice!r} is not {LOWEST_BEST}, {HIGHEST_BEST} or a list such as 1=3,2=2,3=1 with new grades "
            f"from 0 to {HIGHEST}."
        )
    missing = sorted(set(counts) - set(places))
    if missing:
        raise SettingError(
            f"--grades {choice} does not name the grades {', '.join(map(str, missing))}. Add them."
        )
    return places
