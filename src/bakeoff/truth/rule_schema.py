"""Values of a truth rule's keys in a query file."""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bakeoff.truth.rules import WordMatch
from bakeoff.types import JsonObject

T = TypeVar("T")


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("the text is blank. Write one, or remove the key")
    return text


class _OrOne:
    """Declares in the JSON Schema that a list of one may be written without brackets."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> JsonObject:
        schema = handler(core)
        return {"anyOf": [schema["items"], schema]}


OneOrMore = Annotated[list[T], Field(min_length=1), BeforeValidator(_as_list), _OrOne]
Text = Annotated[str, AfterValidator(_not_blank), Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


class RuleFields(BaseModel):
    """A mapping in a query file: unknown keys are errors, and numbers are accepted as texts."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True, populate_by_name=False)


class LineRangePart(RuleFields):
    """Lines of a document, from 1, inclusive."""

    document: Text
    first: int = Field(alias="from", ge=1)
    last: int = Field(alias="to", ge=1)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"lines go from {self.first} to {self.last}. Swap them.")
        return self


class CharacterRangePart(RuleFields):
    """Characters of a document, from 0, the end excluded."""

    document: Text
    start: int = Field(alias="from", ge=0)
    end: int = Field(alias="to", ge=1)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.end <= self.start:
            raise ValueError(
                f"characters go from {self.start} to {self.end}: nothing is between. Give an end."
            )
        return self


class PassagePart(RuleFields):
    """A quoted text that occurs once in its document, or in the corpus if no document is named."""

    text: Text
    document: Text | None = None


def _passage(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


PassageForm = Annotated[PassagePart, BeforeValidator(_passage, json_schema_input_type=str | PassagePart)]


class KeywordsPart(RuleFields):
    """Words that must all, or of which any must, occur in the text."""

    any: OneOrMore[Text] | None = None
    all: OneOrMore[Text] | None = None
    match: WordMatch = "word"
    case: bool = False

    @model_validator(mode="before")
    @classmethod
    def _says_which(cls, value: object) -> object:
        if isinstance(value, dict) and ("any" in value) != ("all" in value):
            return value
        raise ValueError("say how many must be there: keywords: {any: [...]} or keywords: {all: [...]}")


class SignalsPart(RuleFields):
    """Words of which at least a given number must occur in the text."""

    at_least: Count
    of: OneOrMore[Text]
    match: WordMatch = "substring"
    case: bool = False

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.at_least > len(set(self.of)):
            raise ValueError(f"at_least is {self.at_least}, but only {len(set(self.of))} signals are given")
        return self


class SectionsPart(RuleFields):
    """Section titles, matched if they contain the wanted one; `universal` ones count only for SecAcc."""

    of: OneOrMore[Text]
    universal: list[Text] = Field(default_factory=list)


def _sections(value: object) -> object:
    return value if isinstance(value, dict) else {"of": value}


SectionsForm = Annotated[
    SectionsPart, BeforeValidator(_sections, json_schema_input_type=str | list[str] | SectionsPart)
]


class ExpectedPart(RuleFields):
    """Expected number of matches; a deviation above the share `within` is a warning."""

    documents: Count | None = None
    hits: Count | None = None
    within: float = Field(default=0.2, ge=0, le=1)


def _check_shape(value: object) -> object:
    return {"documents": value} if isinstance(value, int) else value


ExpectedForm = Annotated[
    ExpectedPart, BeforeValidator(_check_shape, json_schema_input_type=int | ExpectedPart)
]
