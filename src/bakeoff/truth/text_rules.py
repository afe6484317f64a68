"""Resolves rules about texts (sql, keywords, signals); rules over the same texts share scans."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bakeoff.corpus.segmentation import has_spaceless_script
from bakeoff.errors import TruthError
from bakeoff.truth import text_tables as scopes
from bakeoff.truth.rule_matches import RuleMatches, hits
from bakeoff.truth.rules import Sql, WordsRule
from bakeoff.truth.sql import SECONDS, SqlEngine
from bakeoff.truth.sql_process import SqlProcess
from bakeoff.truth.text_tables import SYNONYMS, TextTables

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.truth.corpus import TruthCorpus


TextRule = Sql | WordsRule
Answer = list[RuleMatches] | TruthError
_FREE = {"documents": scopes.document_texts, "sections": scopes.section_texts, "lines": scopes.line_texts}
"""Texts that don't depend on the chunker."""


def answer(
    rules: Sequence[TextRule],
    corpus: TruthCorpus,
    chunkings: Mapping[str, pa.Table],
    seconds: float = SECONDS,
) -> list[Answer]:
    """What each rule matches (over chunks: in each chunking), or why it can't be run."""
    answers: list[Answer] = [[] for _ in rules]
    for over in dict.fromkeys(rule.over for rule in rules):
        places = [place for place, rule in enumerate(rules) if rule.over == over]
        with SqlProcess() as process:
            for scope in _scopes(over, corpus, chunkings):
                found = _answer([rules[place] for place in places], scope, seconds, process)
                for place, answered in zip(places, found, strict=True):
                    answers[place] = _together(answers[place], answered)
        if over == "chunks" and not chunkings:
            for place in places:
                answers[place] = TruthError(
                    "the rule is over chunks, but no chunker is set. Add a chunker, or use over: lines."
                )
    return answers


def _together(before: Answer, answered: RuleMatches | TruthError) -> Answer:
    if isinstance(before, TruthError):
        return before
    return answered if isinstance(answered, TruthError) else [*before, answered]


def _scopes(over: str, corpus: TruthCorpus, chunkings: Mapping[str, pa.Table]) -> list[TextTables]:
    if over == "chunks":
        return [scopes.chunk_texts(corpus, chunks, name) for name, chunks in chunkings.items()]
    return [_FREE[over](corpus)]


def _answer(
    rules: Sequence[TextRule], scope: TextTables, seconds: float, process: SqlProcess
) -> list[RuleMatches | TruthError]:
    arguments = scope.over, scope.rows, SYNONYMS[scope.over], seconds, scope.widen, scope.size, process
    with SqlEngine(*arguments) as engine:
        checked = [_check_rule(rule, engine) for rule in rules]
        sound = list(dict.fromkeys(text for text in checked if isinstance(text, str)))
        rows = dict(zip(sound, engine.rows(sound), strict=True))
    return [
        text if isinstance(text, TruthError) else _hits(rule, rows[text], scope)
        for rule, text in zip(rules, checked, strict=True)
    ]


def _check_rule(rule: TextRule, engine: SqlEngine) -> str | TruthError:
    if isinstance(rule, WordsRule):
        return condition(rule)
    try:
        return engine.check(rule.where)
    except TruthError as exc:
        return exc


def _hits(rule: TextRule, rows: np.ndarray | TruthError, scope: TextTables) -> RuleMatches | TruthError:
    if isinstance(rows, TruthError):
        return rows
    return hits(rule.source, rule.grade, scope.at.take(rows), scope.chunking)


_EDGE = r"[^\p{L}\p{M}\p{N}_]"
"""What may surround a whole word; RE2's own word boundary knows only ASCII."""


def condition(rule: WordsRule) -> str:
    """A condition on the column `text` that is true if at least `at_least` of the words occur."""
    tests = [_contains(word, rule) for word in rule.of]
    if rule.at_least == 1:
        return " OR ".join(f"({test})" for test in tests)
    if rule.at_least == len(tests):
        return " AND ".join(f"({test})" for test in tests)
    return f"{' + '.join(f'CAST(({test}) AS INTEGER)' for test in tests)} >= {rule.at_least}"


def _contains(word: str, rule: WordsRule) -> str:
    if rule.match == "substring" or has_spaceless_script(word):  # such a word has no edges
        return _holds(word.strip(), rule.case)
    parts = word.split()
    flag = "" if rule.case else "(?i)"
    phrase = r"\s+".join(re.sub(r"([^0-9A-Za-z_])", _escape, part) for part in parts)
    pattern = f"{flag}(^|{_EDGE}){phrase}($|{_EDGE})"
    # CASE runs the expensive test only if the cheap one holds
    likely = _holds(max(parts, key=len), rule.case)
    return f"CASE WHEN {likely} THEN regexp_matches(text, {_quote(pattern)}) ELSE false END"


def _holds(words: str, case: bool) -> str:
    if case:
        return f"contains(text, {_quote(words)})"
    return f"contains(lower(text), lower({_quote(words)}))"


def _escape(match: re.Match[str]) -> str:
    char = match[1]
    return f"\\{char}" if char.isascii() else char


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
