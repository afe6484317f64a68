"""Fills in judgments by rules: KEYWORD_MATCH only if a keyword rule holds in the passage itself.

A rule that names documents says nothing about the passage, so it fills nothing in by itself. Inside `all` it is a
further condition. Rules that need the whole corpus (lines, quoted passages, symbols) never fill anything in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.errors import TruthError
from bakeoff.review.pool import PooledPassage
from bakeoff.runs.folder import read_tags
from bakeoff.truth.documents import Names
from bakeoff.truth.rules import AllOf, AnyOf, Documents, Rule, Sections, Sql, WordsRule, leaves

if TYPE_CHECKING:
    import pyarrow as pa

SIGNALS = 2
"""S4-11 calls a chunk relevant if it contains "multiple" signals."""
_LITERAL = re.compile(r"'((?:[^']|'')*)'")
_SQL_TAGS = ("verification_sql", "sql")

Place = tuple[str, int, int]
"""Document, start and end of a passage."""
TextRule = Sql | WordsRule


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """Whether a rule holds in a passage, and the names of the keyword rules that made it hold."""

    true: bool
    names: tuple[str, ...] = ()


class AutoFill:
    """The rules of all queries, evaluated on all passages of a pool at once."""

    def __init__(self, rules: Mapping[str, Rule], passages: Sequence[PooledPassage]) -> None:
        self._rules = rules
        self._names = Names(sorted({one.document_id for one in passages}))
        self.notes: list[str] = []
        self._found = self._ask(passages)

    def names(self, query: str, passage: PooledPassage) -> tuple[str, ...]:
        """The rules that make a passage a KEYWORD_MATCH for a query; empty if it stays open."""
        rule = self._rules.get(query)
        return self._holds(rule, passage).names if rule is not None else ()

    def words(self, query: str) -> tuple[str, ...]:
        """The words to mark in the passages of a query."""
        rule = self._rules.get(query)
        return tuple(dict.fromkeys(word for _, leaf in leaves(rule) for word in _words(leaf))) if rule else ()

    def _ask(self, passages: Sequence[PooledPassage]) -> dict[TextRule, frozenset[Place]]:
        rules = [
            _over_chunks(leaf) for rule in self._rules.values() for _, leaf in leaves(rule) if _text(leaf)
        ]
        distinct = list(dict.fromkeys(rules))
        if not distinct or not passages:
            return {}
        return dict(zip(distinct, self._answers(distinct, passages), strict=True))

    def _answers(self, rules: list[TextRule], passages: Sequence[PooledPassage]) -> list[frozenset[Place]]:
        from bakeoff.truth.corpus import TruthCorpus
        from bakeoff.truth.text_rules import answer

        ids = list(self._names.ids)
        found = []
        answers = answer(rules, TruthCorpus(_documents(ids)), {"pool": _chunks(ids, passages)})
        for rule, matches in zip(rules, answers, strict=True):
            if isinstance(matches, TruthError):
                self.notes.append(
                    f"{rule.source} cannot be evaluated on a passage and fills nothing in: {matches}"
                )
                found.append(frozenset[Place]())
                continue
            at = [part.at for part in matches]
            places = (row for one in at for row in zip(one.doc, one.start, one.end, strict=True))
            found.append(frozenset((ids[doc], int(start), int(end)) for doc, start, end in places))
        return found

    def _holds(self, rule: Rule, passage: PooledPassage) -> RuleOutcome:
        if rule.grade == 0:
            return RuleOutcome(False)
        match rule:
            case AnyOf():
                parts = [self._holds(child, passage) for child in rule.rules]
                names = tuple(dict.fromkeys(name for part in parts if part.true for name in part.names))
                return RuleOutcome(
                    any(part.true for part in parts), (rule.name,) if rule.name and names else names
                )
            case AllOf():
                parts = [self._holds(child, passage) for child in rule.rules]
                true = all(part.true for part in parts)
                return RuleOutcome(true, (rule.source,) if true and any(part.names for part in parts) else ())
            case Sql() | WordsRule():
                place = (passage.document_id, passage.start, passage.end)
                true = place in self._found.get(_over_chunks(rule), frozenset())
                return RuleOutcome(true, (rule.source,) if true else ())
            case Documents():
                return RuleOutcome(self._is_named(rule, passage))
            case Sections():
                return RuleOutcome(any(name.lower() in passage.section.lower() for name in rule.names))
        return RuleOutcome(False)

    def _is_named(self, rule: Documents, passage: PooledPassage) -> bool:
        for name in rule.names:
            try:
                rows = self._names.find(name, rule.match)
            except TruthError:  # no document of the pool has this name
                continue
            if any(self._names.ids[row] == passage.document_id for row in rows):
                return True
        return False


def tag_rules(tags: Mapping[str, str]) -> tuple[Rule, ...]:
    """Rules stored in a query's tags because they are not part of its truth: signals and SQL (S4-47)."""
    rules: list[Rule] = []
    words = tuple(word for part in tags.get("signals", "").split(",") if (word := part.strip()))
    if words:
        least = min(SIGNALS, len(words))
        name = f"signals>={least} (tag)"
        rules.append(WordsRule(of=words, at_least=least, match="substring", written="signals", name=name))
    for key in _SQL_TAGS:
        if tags.get(key, "").strip():
            rules.append(Sql(where=tags[key], name=f"{key} (tag)"))
    return tuple(rules)


def with_tags(rule: Rule | None, tags: Mapping[str, str]) -> Rule | None:
    """A query's rule, the rules in its tags, or either of them."""
    parts = [*([rule] if rule is not None else []), *tag_rules(tags)]
    return parts[0] if len(parts) == 1 else AnyOf(rules=tuple(parts)) if parts else None


def parsed_tags(text: str | None) -> dict[str, str]:
    """The tags of a query, as stored in a run."""
    return {key: str(value) for key, value in read_tags(text).items()}


def _text(leaf: Rule) -> bool:
    return isinstance(leaf, Sql | WordsRule)


def _over_chunks(rule: Rule) -> TextRule:
    """The condition of a rule, evaluated on the passage itself, not on its metadata."""
    assert isinstance(rule, Sql | WordsRule)
    return replace(rule, over="chunks", grade=None, min_documents=None, expected=None)


def _words(leaf: Rule) -> Sequence[str]:
    if isinstance(leaf, WordsRule):
        return leaf.of
    if isinstance(leaf, Sql):
        return [
            word.replace("''", "'")
            for text in _LITERAL.findall(leaf.where)
            for word in text.split("%")
            if word
        ]
    return ()


def _documents(ids: list[str]) -> pa.Table:
    """Documents by id only; conditions on unavailable titles never hold."""
    from bakeoff.storage.schemas import DOCUMENTS

    nothing = [None] * len(ids)
    return DOCUMENTS.table(
        {
            "id": ids,
            "version": nothing,
            "kind": nothing,
            "title": nothing,
            "fields": nothing,
            "text": [""] * len(ids),
        }
    )


def _chunks(ids: list[str], passages: Sequence[PooledPassage]) -> pa.Table:
    from bakeoff.storage.schemas import CHUNKS

    row = {name: place for place, name in enumerate(ids)}
    ordered = sorted(passages, key=lambda one: (row[one.document_id], one.start, one.end))
    nothing = [None] * len(ordered)
    return CHUNKS.table(
        {
            "id": [one.chunk_id for one in ordered],
            "doc": [row[one.document_id] for one in ordered],
            "start": [one.start for one in ordered],
            "end": [one.end for one in ordered],
            "line_start": nothing,
            "line_end": nothing,
            "section": [one.section for one in ordered],
            "symbol": nothing,
            "context": nothing,
            "text": [one.text for one in ordered],
        }
    )
