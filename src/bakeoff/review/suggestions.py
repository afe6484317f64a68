"""A model's suggestions for a review: appended and durable, in separate files, not in the ledger.

suggestions/MODEL-HASH.jsonl has one line per passage. The review page does not show them: whoever
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
from bakeoff.review.agreement import Coefficient, kappa, raw_agreement
from bakeoff.review.ledger import now
from bakeoff.review.outcomes import ItemOutcome, OutcomeState
from bakeoff.review.pool import ReviewItem, ReviewPool
from bakeoff.review.suggesting import GRADES, PROMPT, SuggestedGrade
from bakeoff.truth.human_judgments import STABILITY

PEOPLE = (OutcomeState.AGREED, OutcomeState.ADJUDICATED)


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeStability:
    """How often a model changed its grade of a passage when asked again with the same prompt."""

    asked_again: int
    changed: int

    @property
    def words(self) -> str:
        """The count as a part of a sentence."""
        if not self.asked_again:
            return "no grade was asked for twice"
        return f"{self.changed:,} of {self.asked_again:,} grades changed when asked again"


def suggestions_file(folder: Path, model: str) -> Path:
    """The file of a model in a review's folder; a hash separates names with the same file name."""
    slug = re.sub(r"[^\w.-]+", "-", model).strip("-.") or "model"
    return folder / "suggestions" / f"{slug[:60]}-{fingerprint(model)[:6]}.jsonl"


def suggestion_files(folder: Path) -> list[Path]:
    """The files of all models in a review's folder."""
    return sorted((folder / "suggestions").glob("*.jsonl"))


def read_suggestions(path: Path) -> list[Suggestion]:
    """The last line on each passage; a truncated last line does not count."""
    return list({(one.item, one.text_hash): one for one in _read_lines(path)}.values())


def grade_stability(path: Path) -> GradeStability:
    """How stable the grades in a model's file are, over the passages it was asked about more than once."""
    repeated = [given for given in _given_grades(path).values() if len(given) > 1]
    return GradeStability(asked_again=len(repeated), changed=sum(len(set(given)) > 1 for given in repeated))


def named_with_stability(folder: Path, model: str) -> str:
    """The model as the source of its judgments, so that a run on them reports how stable its grades are."""
    return f"{model}{STABILITY}{grade_stability(suggestions_file(folder, model)).words}"


def to_ask_again(pool: ReviewPool, path: Path, count: int) -> list[ReviewItem]:
    """Passages to ask about again until `count` have been; always the same ones of a pool."""
    by_item = _given_grades(path)
    once = [item for item in pool.items if len(by_item.get((item.id, item.text_hash), ())) == 1]
    missing = max(0, count - sum(len(grades) > 1 for grades in by_item.values()))
    return sorted(once, key=lambda item: fingerprint(item.id))[:missing]


def _given_grades(path: Path) -> dict[tuple[str, str], list[int]]:
    """Every grade of each passage with the current prompt, in order."""
    grades: dict[tuple[str, str], list[int]] = {}
    for one in _read_lines(path):
        if one.grade is not None and one.prompt == PROMPT:
            grades.setdefault((one.item, one.text_hash), []).append(one.grade)
    return grades


def _read_lines(path: Path) -> Iterator[Suggestion]:
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
            yield one


def to_ask(
    pool: ReviewPool,
    settled: Mapping[str, ItemOutcome],
    suggestions: Iterable[Suggestion],
    *,
    judged: bool = False,
) -> list[ReviewItem]:
    """The unjudged passages without a grade of the model; with `judged`, also judged ones."""
    have = {
        (one.item, one.text_hash) for one in suggestions if one.grade is not None and one.prompt == PROMPT
    }
    states = {OutcomeState.OPEN, *(PEOPLE if judged else ())}
    return [
        item
        for item in pool.items
        if settled[item.id].state in states and (item.id, item.text_hash) not in have
    ]


def suggest(
    items: Iterable[ReviewItem],
    path: Path,
    model: str,
    server: str,
    ask: Callable[[ReviewItem], SuggestedGrade],
) -> Iterator[Suggestion]:
    """Ask about each passage in turn; each answer is saved before the next question."""
    for item in items:
        answer = ask(item)
        one = Suggestion(
            item=item.id,
            query=item.query_id,
            text_hash=item.text_hash,
            model=model,
            server=server,
            prompt=PROMPT,
            grade=answer.grade,
            reason=answer.reason,
            missing=answer.missing,
            time=now(),
        )
        _append(path, one)
        yield one


def grades(pool: ReviewPool, suggested: Iterable[Suggestion]) -> dict[str, int]:
    """The model's grade of each unchanged passage of the pool."""
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


HIGHEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAgreement:
    """Cohen's kappa on relevant or not, weighted kappa on grades where people gave some, and who found more relevant.

    `suggested` counts the model's grades, `missing` what it was asked and gave no grade for.
    """

    model: str
    suggested: int
    missing: int
    same: float | None
    relevant: Coefficient
    graded: Coefficient
    only_model: int
    only_people: int
    stability: GradeStability


def model_agreement(
    model: str,
    grades: Mapping[str, int],
    missing: int,
    settled: Mapping[str, ItemOutcome],
    stability: GradeStability,
) -> ModelAgreement:
    """The model compared with human outcomes; judgments by rules do not count."""
    people = {item: one for item, one in settled.items() if one.state in PEOPLE and one.relevance is not None}
    both = sorted(set(people) & set(grades))
    theirs = [float((people[item].relevance or 0) > 0) for item in both]
    ours = [float(grades[item] > 0) for item in both]
    ranked = [item for item in both if people[item].grade is not None]
    return ModelAgreement(
        model=model,
        suggested=len(grades),
        missing=missing,
        same=raw_agreement(ours, theirs),
        relevant=kappa(ours, theirs),
        graded=kappa(
            [float(grades[item]) for item in ranked],
            [float(min(people[item].relevance or 0, HIGHEST)) for item in ranked],
            "linear",
        ),
        only_model=sum(our > their for our, their in zip(ours, theirs, strict=True)),
        only_people=sum(our < their for our, their in zip(ours, theirs, strict=True)),
        stability=stability,
    )
