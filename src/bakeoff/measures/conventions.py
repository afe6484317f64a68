"""The conventions block of a result: every choice that changes a number. Only equal conventions are comparable."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bakeoff.errors import ComparisonError, DataError
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.types import Json, Unit

UNIVERSAL_SECTIONS = (
    "SYNOPSIS",
    "EXECUTIVE SUMMARY",
    "SUMMARY",
    "ABSTRACT",
    "BRIEF",
    "OVERVIEW",
    "APPENDIX",
    "APPENDICES",
)

FIXED = {"gain": "linear", "unjudged": "not_relevant", "collapse": "first"}
"""What holds for every result and is written with the choices: nDCG has linear gain (nDCG_exp has its own name), an
unjudged result is not relevant in the point value, a unit has the place of its first chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """The choices that numbers depend on; two results with different conventions must not be compared.

    rel                 lowest grade that is relevant
    order               served: as ranked; score_id: by score, then id, both descending, as trec_eval does
    score_precision     double, or single: scores that differ only beyond single precision are ties
    empty_truth         a query without relevant items is excluded and counted, or scores zero
    no_results          a judged query without results scores zero, or is excluded
    k_counts            k and ranks count units after collapsing, or chunks before it
    universal_sections  sections that may answer any section query
    section_match       words: whole words anywhere in the name; contains: any substring
    overlap_share       share of the shorter of chunk and gold span that makes the chunk relevant by overlap
    knn_tolerance       relative distance within which an item is as near as the k-th neighbour
    """

    rel: int = 1
    order: Literal["served", "score_id"] = "served"
    score_precision: Literal["double", "single"] = "double"
    empty_truth: Literal["exclude", "zero"] = "exclude"
    no_results: Literal["zero", "exclude"] = "zero"
    k_counts: Literal["units", "chunks"] = "units"
    universal_sections: tuple[str, ...] = UNIVERSAL_SECTIONS
    section_match: Literal["words", "contains"] = "words"
    overlap_share: float = 0.5
    knn_tolerance: float = 1e-6

    def __post_init__(self) -> None:
        for name, allowed in _choices().items():
            if (value := getattr(self, name)) not in allowed:
                raise DataError(f"conventions: {name} is {value!r}; it must be one of {', '.join(allowed)}.")
        if not isinstance(self.rel, int) or self.rel < 1:
            raise DataError(f"conventions: rel is {self.rel!r}; it must be a whole number from 1.")
        if not _is_number(self.overlap_share) or not 0 <= self.overlap_share <= 1:
            raise DataError(f"conventions: overlap_share is {self.overlap_share!r}; it must be from 0 to 1.")
        if not _is_number(self.knn_tolerance) or self.knn_tolerance < 0:
            raise DataError(f"conventions: knn_tolerance is {self.knn_tolerance!r}; it must be 0 or more.")
        if not all(isinstance(name, str) for name in self.universal_sections):
            raise DataError(
                f"conventions: universal_sections is {self.universal_sections!r}; give a list of section names."
            )

    def to_dict(self) -> dict[str, object]:
        """Plain values for run.json, including those that are the same in every result."""
        chosen = {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }
        return {**chosen, **FIXED}

    def with_values(self, values: Mapping[str, Json]) -> Conventions:
        """The same conventions with some values replaced, as in an experiment file."""
        names = [field.name for field in fields(self)]
        for name in values:
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
                hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}."
                raise DataError(f"conventions: {name} is unknown. {hint}")
        return replace(self, **{name: _plain(value) for name, value in values.items()})

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Conventions:
        """Read stored conventions; an unknown or missing key, or another value of a fixed one, is an error."""
        names = {field.name for field in fields(cls)}
        wrong = sorted((names | set(FIXED)) ^ set(values))
        wrong += [name for name, value in FIXED.items() if name in values and values[name] != value]
        if wrong:
            raise DataError(
                f"conventions: unknown or missing {', '.join(wrong)}; another version wrote this block."
            )
        return DEFAULT.with_values({name: value for name, value in values.items() if name in names})


@functools.cache
def _choices() -> dict[str, tuple[str, ...]]:
    """Allowed values of each named convention."""
    hints = get_type_hints(Conventions).items()
    return {name: get_args(hint) for name, hint in hints if get_origin(hint) is Literal}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def conventions_that_differ(a: Conventions, b: Conventions) -> tuple[tuple[str, str], ...]:
    """The name of each differing field, and the field as `name: left | right`."""
    pairs = ((field.name, getattr(a, field.name), getattr(b, field.name)) for field in fields(Conventions))
    return tuple((name, f"{name}: {left} | {right}") for name, left, right in pairs if left != right)


def affected_by(name: str, measure: Measure) -> bool:
    """Whether a measure's value in a run can depend on the named convention."""
    needs, unit = measure.needs, measure.unit or Unit.DOCUMENT
    if name in ("universal_sections", "section_match"):
        return needs is RequiredInput.SECTIONS
    if name == "knn_tolerance":
        return measure.name == "kNN"
    if needs is not RequiredInput.JUDGMENTS:
        return False
    if name == "k_counts":
        return unit is not Unit.CHUNK and not measure.definition.chunk_depth
    return name != "overlap_share" or unit is not Unit.DOCUMENT


def check_same(a: Conventions, b: Conventions, *, allow_mixed: bool = False) -> tuple[str, ...]:
    """Raise if two results have different conventions; with `allow_mixed`, return what differs."""
    found = tuple(text for _, text in conventions_that_differ(a, b))
    if found and not allow_mixed:
        raise ComparisonError(
            f"results made with different conventions ({'; '.join(found)}) are not comparable. Score both "
            "again with the same conventions, or use --allow-mixed."
        )
    return found


DEFAULT = Conventions()
TREC_EVAL = Conventions(order="score_id", score_precision="single", empty_truth="zero", no_results="exclude")
