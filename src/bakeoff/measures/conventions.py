"""The conventions block of a result: every policy that changes a number, comparable only when equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Literal, get_args, get_type_hints

from bakeoff.errors import ComparisonError, DataError

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


@dataclass(frozen=True, slots=True)
class Conventions:
    """How numbers were made; two results with different conventions must not be compared.

    rel                 lowest grade that is relevant
    gain                gain of nDCG (nDCG_exp has its own name)
    order               served: as ranked; score_id: by score, then id, both descending, as trec_eval does
    score_precision     double, or single: scores that differ only beyond single precision are ties
    empty_truth         a query without relevant items is excluded and counted, or scores zero
    no_results          a judged query without results scores zero, or is excluded
    unjudged            an unjudged result is not relevant in the point value
    collapse            a unit stands where its first chunk stands, or chunks are not collapsed
    k_counts            k counts units after collapsing, or chunks before it
    universal_sections  sections that may answer any section query
    section_match       words: whole words anywhere in the name; contains: any substring
    overlap_share       share of the shorter of chunk and gold span that makes the chunk relevant by overlap
    knn_tolerance       relative distance within which an item is as near as the k-th neighbour
    """

    rel: int = 1
    gain: Literal["linear"] = "linear"
    order: Literal["served", "score_id"] = "served"
    score_precision: Literal["double", "single"] = "double"
    empty_truth: Literal["exclude", "zero"] = "exclude"
    no_results: Literal["zero", "exclude"] = "zero"
    unjudged: Literal["not_relevant"] = "not_relevant"
    collapse: Literal["first", "none"] = "first"
    k_counts: Literal["units", "chunks"] = "units"
    universal_sections: tuple[str, ...] = UNIVERSAL_SECTIONS
    section_match: Literal["words", "contains"] = "words"
    overlap_share: float = 0.5
    knn_tolerance: float = 1e-6

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            allowed, value = get_args(hint), getattr(self, name)
            if allowed and isinstance(allowed[0], str) and value not in allowed:
                raise DataError(f"conventions: {name} is {value!r}; it must be one of {', '.join(allowed)}.")

    def to_dict(self) -> dict[str, object]:
        """Plain values for run.json."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Conventions:
        """Conventions as stored; a key nobody knows, or one that is missing, is an error."""
        names = {field.name for field in fields(cls)}
        if wrong := sorted(names ^ set(values)):
            raise DataError(
                f"conventions: unknown or missing {', '.join(wrong)}; another version wrote this block."
            )
        known = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return replace(DEFAULT, **known)  # type: ignore[arg-type]


def differences(a: Conventions, b: Conventions) -> tuple[str, ...]:
    """Each differing field as `name: left | right`."""
    pairs = ((field.name, getattr(a, field.name), getattr(b, field.name)) for field in fields(Conventions))
    return tuple(f"{name}: {left} | {right}" for name, left, right in pairs if left != right)


def check_same(a: Conventions, b: Conventions, *, allow_mixed: bool = False) -> tuple[str, ...]:
    """Refuse to compare numbers made by different conventions; with `allow_mixed` return what differs."""
    found = differences(a, b)
    if found and not allow_mixed:
        raise ComparisonError(
            f"results made with different conventions ({'; '.join(found)}) do not compare. "
            "Score both again with the same conventions, or say --allow-mixed."
        )
    return found


DEFAULT = Conventions()
TREC_EVAL = Conventions(order="score_id", score_precision="single", empty_truth="zero", no_results="exclude")
