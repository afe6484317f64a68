"""The query file: questions with labels and truth, read once and validated as a whole."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from bakeoff.config import yaml_document
from bakeoff.config.pydantic_messages import did_you_mean
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.corpus.dates import date_seconds, last_second
from bakeoff.errors import QueryFileError
from bakeoff.truth.rule_parser import NEGATIVE, UNJUDGED, TruthPart
from bakeoff.truth.rule_schema import RuleFields, Text
from bakeoff.truth.rules import Rule
from bakeoff.types import Condition, DateCondition, Json, JsonObject, Query, Where

DIFFICULTIES = ("easy", "medium", "hard")
TABLES = frozenset({".csv", ".tsv"})


def _difficulty(value: object) -> object:
    if isinstance(value, str) and value.strip().lower() in DIFFICULTIES:
        return value.strip()
    raise ValueError(f"difficulty is {value!r}. Write easy, medium or hard")


def _tags(value: object) -> object:
    return dict.fromkeys(map(str, value), "") if isinstance(value, list) else value


def _categories(value: object) -> object:
    return dict.fromkeys(map(str, value)) if isinstance(value, list) else value


def _share(value: object) -> object:
    if isinstance(value, str) and value.endswith("%"):
        return float(value.removesuffix("%")) / 100
    return value


Difficulty = Annotated[str, BeforeValidator(_difficulty, json_schema_input_type=str)]
Tags = Annotated[dict[str, str], BeforeValidator(_tags, json_schema_input_type=dict[str, str] | list[str])]


Share = Annotated[float, BeforeValidator(_share, json_schema_input_type=float | str), Field(ge=0, le=1)]
Categories = Annotated[
    dict[str, int | None],
    BeforeValidator(_categories, json_schema_input_type=dict[str, int | None] | list[str]),
]


def _condition(value: object) -> object:
    if isinstance(value, dict):
        return value
    values = value if isinstance(value, list) else [value]
    if not values or any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
        raise ValueError(
            f"{value!r} should be a text or number, a list of them, {{least: …, most: …}} or {{from: …, to: …}}"
        )
    return {"among": values}


def _seconds(value: Json, of: Callable[[object], int]) -> Json:
    try:
        return of(value)
    except ValueError as exc:
        raise ValueError(f"{value!r} is not a date such as 2026-05-01 or 2026-05-01T12:00:00Z") from exc


Begin = Annotated[
    int, BeforeValidator(lambda value: _seconds(value, date_seconds), json_schema_input_type=str)
]
End = Annotated[int, BeforeValidator(lambda value: _seconds(value, last_second), json_schema_input_type=str)]


class ConditionPart(RuleFields):
    """Condition on a field: one of some values, or a number or date within inclusive bounds."""

    among: list[str | int | float] = Field(default_factory=list, description="written as the value or a list")
    least: float | None = None
    most: float | None = None
    begin: Begin | None = Field(default=None, alias="from", description="a date, as in 2026-05-01")
    end: End | None = Field(default=None, alias="to", description="a date; without a time, all of its day")

    @property
    def dated(self) -> bool:
        """Whether the bounds are dates."""
        return self.begin is not None or self.end is not None

    def condition(self, name: str) -> Condition:
        """The condition on a field of this name."""
        if self.dated:
            return DateCondition(name, (), self.begin, self.end)
        return Condition(name, tuple(self.among), self.least, self.most)

    @model_validator(mode="after")
    def _one_kind(self) -> ConditionPart:
        if self.dated and (self.among or self.least is not None or self.most is not None):
            raise ValueError("from and to are for dates, least and most for numbers. Keep one pair")
        if self.begin is not None and self.end is not None and self.begin > self.end:
            raise ValueError("from is after to. Swap them")
        return self

    @model_validator(mode="after")
    def _within(self) -> ConditionPart:
        if not self.among and self.least is None and self.most is None and not self.dated:
            raise ValueError(
                "it has no condition. Write a value, a list, {least: …, most: …} or {from: …, to: …}"
            )
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError(f"least {self.least:g} is above most {self.most:g}. Swap them")
        return self


Plain = str | int | float
Filter = dict[
    Text,
    Annotated[
        ConditionPart,
        BeforeValidator(_condition, json_schema_input_type=Plain | list[Plain] | ConditionPart),
    ],
]


class LabelsPart(RuleFields):
    """Labels of a query; under `defaults` they apply to every query without its own."""

    category: Text | None = None
    difficulty: Difficulty | None = None
    intent: Text | None = None
    synthetic: bool | None = None
    tags: Tags = Field(default_factory=dict)


class QueryPart(LabelsPart):
    """One query."""

    id: Text
    text: Text
    notes: str | None = None
    cluster: Text | None = Field(
        default=None,
        description="queries that are not independent share one; default: queries with the same documents",
    )
    filter: Filter = Field(default_factory=dict)
    truth: TruthPart


class MetadataPart(RuleFields):
    """The file's description of itself; declared counts and mixes are checked against the queries."""

    name: str = ""
    description: str = ""
    version: str = ""
    categories: Categories = Field(default_factory=dict)
    difficulty_mix: dict[Difficulty, Share] = Field(default_factory=dict)
    total: int | None = None
    extra: JsonObject = Field(default_factory=dict)


class QueryFile(RuleFields):
    """A query file."""

    metadata: MetadataPart = MetadataPart()
    defaults: LabelsPart = LabelsPart()
    queries: Annotated[list[QueryPart], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Metadata:
    """Declarations of a query file: category → number of queries (None: not declared), difficulty → share."""

    name: str = ""
    description: str = ""
    version: str = ""
    categories: Mapping[str, int | None] = field(default_factory=dict)
    difficulty_mix: Mapping[str, float] = field(default_factory=dict)
    total: int | None = None


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Queries in file order with the rule of each (None: negative or unjudged).

    `filters` has each query's filter, and is empty if there are none.
    """

    queries: tuple[Query, ...]
    rules: tuple[Rule | None, ...]
    metadata: Metadata = Metadata()
    name: str = "queries"
    located: YamlDocument | None = field(default=None, repr=False, compare=False)
    filters: tuple[Where, ...] = ()

    def content(self) -> tuple[object, ...]:
        """What makes two sets equal, for a fingerprint: not the file's name, lines, comments or metadata."""
        return (self.queries, self.rules, *([self.filters] if self.filters else []))

    def where(self, query: int, path: Keys = ()) -> str:
        """ "queries.yaml, line 14, query con-05" for a path inside a query's truth."""
        at = f", line {self.located.line(('queries', query, 'truth', *path))}" if self.located else ""
        return f"{self.name}{at}, query {self.queries[query].id}"


def read_queries(path: Path) -> QuerySet:
    """The queries of a YAML or JSON file."""
    if path.suffix.lower() in TABLES and path.is_file():
        raise QueryFileError(
            f"{path.name} is a table; queries are read from YAML or JSON. Make it one with:"
            f" bakeoff import csv {shlex.quote(os.path.relpath(path))} --out queries.yaml"
        )
    return query_set(yaml_document.read(path, QueryFileError, name=path.name))


def query_set(located: YamlDocument) -> QuerySet:
    """Build the query set from a file's content."""
    file = yaml_document.validate_model(QueryFile, located, QueryFileError)
    queries = tuple(_query(part, file.defaults) for part in file.queries)
    metadata = _metadata(file.metadata)
    _check_ids(queries, located)
    _check_categories(queries, metadata, located)
    rules = tuple(map(_rule, file.queries))
    return QuerySet(queries, rules, metadata, located.name, located, _filters(file.queries))


def _rule(part: QueryPart) -> Rule | None:
    return None if part.truth.key in (NEGATIVE, UNJUDGED) else part.truth.rule()


def _filters(parts: list[QueryPart]) -> tuple[Where, ...]:
    """Each query's filter; empty if there are none."""
    filters = tuple(tuple(one.condition(name) for name, one in part.filter.items()) for part in parts)
    return filters if any(filters) else ()


def _query(part: QueryPart, defaults: LabelsPart) -> Query:
    difficulty = part.difficulty or defaults.difficulty or ""
    tags = {**defaults.tags, **part.tags}
    if difficulty.lower() != difficulty:
        tags["difficulty_as_written"] = difficulty
    if part.notes:
        tags["notes"] = part.notes
    return Query(
        id=part.id,
        text=part.text,
        category=part.category or defaults.category or "",
        difficulty=difficulty.lower(),
        intent=part.intent or defaults.intent or "",
        negative=part.truth.key == NEGATIVE,
        synthetic=defaults.synthetic is True if part.synthetic is None else part.synthetic,
        tags=tags,
        cluster=part.cluster or "",
    )


def _metadata(part: MetadataPart) -> Metadata:
    mix = {level.lower(): share for level, share in part.difficulty_mix.items()}
    return Metadata(part.name, part.description, part.version, part.categories, mix, part.total)


def _check_ids(queries: tuple[Query, ...], located: YamlDocument) -> None:
    first: dict[str, int] = {}
    for place, query in enumerate(queries):
        other = first.setdefault(query.id, place)
        if other != place:
            where, line = located.where(("queries", place, "id")), located.line(("queries", other, "id"))
            raise QueryFileError(
                f"{where}, query {query.id}: the query in line {line} has this id too."
                " Give each query an id of its own."
            )


def _check_categories(queries: tuple[Query, ...], metadata: Metadata, located: YamlDocument) -> None:
    declared = metadata.categories
    wrong = [(place, q) for place, q in enumerate(queries) if declared and q.category not in declared]
    if not wrong:
        return
    place, query = wrong[0]
    more = f" {len(wrong) - 1} more queries have an undeclared category." if len(wrong) > 1 else ""
    raise QueryFileError(
        f"{located.where(('queries', place, 'category'))}, query {query.id}: unknown category"
        f' "{query.category}".{did_you_mean(query.category, list(declared))} metadata.categories declares:'
        f" {', '.join(declared)}. Use one of them, or add it there.{more}"
    )
