"""A model's suggestions for a review: appended and durable, in separate files, not in the ledger.

suggestions/MODEL-HASH.jsonl has one line a passage that was asked about. The review page does not show them: whoever
judges is blind to them (F47). They count only in a judgment set that was asked for with them, and a run on it says so.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.errors import DataError, SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.review.ledger import now
from bakeoff.review.outcomes import ItemOutcome, OutcomeState
from bakeoff.review.pool import ReviewItem, ReviewPool
from bakeoff.review.suggesting import GRADES, PROMPT, SuggestedGrade

PEOPLE = (OutcomeState.AGREED, OutcomeState.ADJUDICATED)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One line: the passage by its id and the hash of its text, and the model's grade, or why there is none."""

    item: str
    query: str
    text_hash: str
    model: str
    server: str
    prompt: str
    grade: int | None
    reason: str
    missing: str
    time: str


def suggestions_file(folder: Path, model: str) -> Path:
    """The file of a model in a review's folder; names that give the same file name get a hash."""
    slug = re.sub(r"[^\w.-]+", "-", model).strip("-.") or "model"
    return folder / "suggestions" / f"{slug[:60]}-{fingerprint(model)[:6]}.jsonl"


def suggestion_files(folder: Path) -> list[Path]:
    """The files of all models in a review's folder."""
    return sorted((folder / "suggestions").glob("*.jsonl"))


def read_suggestions(path: Path) -> list[Suggestion]:
    """The last line on each passage; one that a crash cut off at the end does not count."""
    last: dict[tuple[str, str], Suggestion] = {}
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                one = _suggestion(json.loads(line))
            except (ValueError, TypeError, RecursionError) as exc:
                if number == len(lines):
                    continue
                raise DataError(
                    f"{path}, line {number} is not a suggestion ({exc}). Remove the line."
                ) from exc
            last[one.item, one.text_hash] = one
    return list(last.values())


def to_ask(
    pool: ReviewPool, settled: Mapping[str, ItemOutcome], known: Iterable[Suggestion], *, judged: bool = False
) -> list[ReviewItem]:
    """The passages nobody has judged, or with `judged` also those people did, that have no grade of the model yet."""
    have = {(one.item, one.text_hash) for one in known if one.grade is not None and one.prompt == PROMPT}
    wanted = {OutcomeState.OPEN, *(PEOPLE if judged else ())}
    return [
        item
        for item in pool.items
        if settled[item.id].state in wanted and (item.id, item.text_hash) not in have
    ]


def suggest(
    items: Iterable[ReviewItem],
    path: Path,
    model: str,
    server: str,
    ask: Callable[[ReviewItem], SuggestedGrade],
) -> Iterator[Suggestion]:
    """Ask about each passage in turn; each answer is on disk before the next question."""
    for item in items:
        said = ask(item)
        one = Suggestion(
            item.id, item.query_id, item.text_hash, model, server, PROMPT, said.grade, said.reason,
            said.missing, now(),
        )  # fmt: skip
        _append(path, one)
        yield one


def grades(pool: ReviewPool, suggested: Iterable[Suggestion]) -> dict[str, int]:
    """The model's grade of each passage of the pool that still reads as it did."""
    items = pool.by_id()
    return {
        one.item: one.grade
        for one in suggested
        if one.grade is not None and one.item in items and items[one.item].text_hash == one.text_hash
    }


def _append(path: Path, one: Suggestion) -> None:
    data = json.dumps(asdict(one), ensure_ascii=False, sort_keys=True).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        raise SettingError(f"cannot write {path}: {exc.strerror}. The last suggestion is not saved.") from exc


def _suggestion(data: object) -> Suggestion:
    if not isinstance(data, dict):
        raise TypeError("it is not an object")
    one = Suggestion(**data)
    if not all(isinstance(value, str) for name, value in data.items() if name != "grade"):
        raise TypeError("one of its values is not text")
    if one.grade is not None and (type(one.grade) is not int or one.grade not in GRADES):
        raise ValueError(f"grade {one.grade!r}")
    return one
