"""Parses a truth rule of a query file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from bakeoff.truth import rules
from bakeoff.truth.rule_schema import (
    CharacterRangePart,
    Count,
    ExpectedForm,
    KeywordsPart,
    LineRangePart,
    OneOrMore,
    PassageForm,
    RuleFields,
    SectionsForm,
    SignalsPart,
    Text,
)
from bakeoff.truth.rules import NameMatch, Over, Rule
from bakeoff.types import JsonObject

RULE_KEYS = (
    *("file", "files", "documents", "lines", "characters", "passage", "symbol", "chunks"),
    *("keywords", "sql", "signals", "sections", "neighbours", "any", "all"),
)
NEGATIVE = "negative"
UNJUDGED = "unjudged"
OPTIONS = {"over": ("keywords", "sql", "signals", "sections"), "match": ("file", "files", "documents")}
"""Options that apply to some rules only."""


class RulePart(RuleFields):
    """One truth rule: exactly one of the rule keys, and its settings."""

    keys: ClassVar[tuple[str, ...]] = RULE_KEYS

    file: Text | None = None
    files: OneOrMore[Text] | None = None
    documents: OneOrMore[Text] | None = None
    lines: OneOrMore[LineRangePart] | None = None
    characters: OneOrMore[CharacterRangePart] | None = None
    passage: OneOrMore[PassageForm] | None = None
    symbol: OneOrMore[Annotated[str, Field(pattern=r"^\S.*::\S+$")]] | None = None
    chunks: OneOrMore[Text] | None = None
    keywords: KeywordsPart | None = None
    sql: Text | None = None
    signals: SignalsPart | None = None
    sections: SectionsForm | None = None
    neighbours: Count | None = None
    any: Annotated[list[RulePart], Field(min_length=1)] | None = None
    all: Annotated[list[RulePart], Field(min_length=1)] | None = None

    grade: int | None = Field(default=None, ge=0, le=3)
    name: Text | None = None
    over: Over | None = None
    match: NameMatch | None = None
    min_documents: Count | None = None
    expected_count: ExpectedForm | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        written = [key for key in self.keys if key in self.model_fields_set]
        if not written:
            raise ValueError(f"no rule here. Write one of: {', '.join(self.keys)}")
        if len(written) > 1:
            both = " and ".join(written)
            raise ValueError(f"{both} in one rule. Say how they combine: any: [...] or all: [...]")
        if getattr(self, written[0]) is None:
            raise ValueError(f"{written[0]} has no value. Write one, or remove the key")
        for option, keys in OPTIONS.items():
            if option in self.model_fields_set and written[0] not in keys:
                raise ValueError(f"{option} has no meaning for {written[0]}, only for {', '.join(keys)}")
        if written[0] == "sections" and self.over in ("sections", "lines"):
            raise ValueError(
                "sections are looked for over: documents (their headings) or over: chunks (labels)"
            )
        return self

    @property
    def key(self) -> str:
        """The rule key that is present."""
        return next(key for key in self.keys if key in self.model_fields_set)

    def rule(self) -> Rule:
        """The rule it describes."""
        expected = self.expected_count and rules.ExpectedCount(**self.expected_count.model_dump())
        settings = {"grade": self.grade, "name": self.name or "", "min_documents": self.min_documents}
        return _RULES[self.key](self, {**settings, "expected": expected})


class TruthPart(RulePart):
    """Truth of a query: a rule, `negative` (nothing answers it), or `unjudged` (people will judge it)."""

    keys: ClassVar[tuple[str, ...]] = (*RULE_KEYS, NEGATIVE, UNJUDGED)

    negative: Literal[True] | None = None
    unjudged: Literal[True] | None = None

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> JsonObject:
        schema = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [{"enum": [NEGATIVE, UNJUDGED]}, schema]}

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: object) -> object:
        if value in (NEGATIVE, UNJUDGED):
            return {value: True}
        if isinstance(value, dict):
            return value
        rule = f"{{documents: [{value}]}}" if isinstance(value, str) else "{documents: [...]}"
        raise ValueError(f"truth is {value!r}. Write a rule such as {rule}, or negative, or unjudged")


def _documents(part: RulePart, settings: JsonObject) -> Rule:
    names = [part.file] if part.file else part.files or part.documents or []
    return rules.Documents(names=tuple(names), match=part.match or "auto", **settings)


def _spans(part: RulePart, settings: dict[str, object]) -> Rule:
    places: list[rules.Place] = [rules.LineRange(p.document, p.first, p.last) for p in part.lines or ()]
    places += [rules.CharacterRange(p.document, p.start, p.end) for p in part.characters or ()]
    places += [rules.PassageRule(p.text, p.document or "") for p in part.passage or ()]
    places += [rules.Symbol(*text.rsplit("::", 1)) for text in part.symbol or ()]
    places += [rules.ChunkName(name) for name in part.chunks or ()]
    return rules.SpansRule(places=tuple(places), written=part.key, **settings)  # type: ignore[arg-type]


def _keywords(part: RulePart, settings: JsonObject) -> Rule:
    assert part.keywords is not None
    words = part.keywords
    of = tuple(dict.fromkeys(words.all or words.any or ()))
    at_least = len(of) if words.all else 1
    over = part.over or "chunks"
    return rules.WordsRule(
        of=of, at_least=at_least, match=words.match, case=words.case, over=over, **settings
    )


def _signals(part: RulePart, settings: JsonObject) -> Rule:
    assert part.signals is not None
    words = part.signals
    return rules.WordsRule(
        of=tuple(dict.fromkeys(words.of)),
        at_least=words.at_least,
        match=words.match,
        case=words.case,
        over=part.over or "chunks",
        written="signals",
        **settings,
    )


def _sql(part: RulePart, settings: JsonObject) -> Rule:
    return rules.Sql(where=part.sql or "", over=part.over or "chunks", **settings)


def _section_rule(part: RulePart, settings: dict[str, object]) -> Rule:
    assert part.sections is not None
    over = "chunks" if part.over == "chunks" else "documents"
    names, universal = tuple(part.sections.of), tuple(part.sections.universal)
    return rules.Sections(names=names, universal=universal, over=over, **settings)  # type: ignore[arg-type]


def _neighbours(part: RulePart, settings: JsonObject) -> Rule:
    return rules.NeighboursRule(count=part.neighbours or 0, **settings)


def _any(part: RulePart, settings: JsonObject) -> Rule:
    return rules.AnyOf(rules=tuple(child.rule() for child in part.any or ()), **settings)


def _all(part: RulePart, settings: JsonObject) -> Rule:
    return rules.AllOf(rules=tuple(child.rule() for child in part.all or ()), **settings)


_RULES = {
    **dict.fromkeys(("file", "files", "documents"), _documents),
    **dict.fromkeys(("lines", "characters", "passage", "symbol", "chunks"), _spans),
    "keywords": _keywords,
    "sql": _sql,
    "signals": _signals,
    "sections": _section_rule,
    "neighbours": _neighbours,
    "any": _any,
    "all": _all,
}
