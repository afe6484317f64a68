"""Resolves rules against documents and chunks: every rule is executed, every match counted, every problem
reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.errors import TruthError
from bakeoff.runtime.count_text import count
from bakeoff.storage.schemas import JUDGMENTS
from bakeoff.truth.corpus import TruthCorpus
from bakeoff.truth.location_rules import PlaceFinder
from bakeoff.truth.overlap import concatenate_ranges
from bakeoff.truth.problems import Level, Problem
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.rule_matches import RuleMatches, intersection, join_matches
from bakeoff.truth.rules import (
    AllOf,
    AnyOf,
    Documents,
    NameMatch,
    Rule,
    Sections,
    SpansRule,
    Sql,
    WordsRule,
    leaves,
)
from bakeoff.truth.sql import SECONDS
from bakeoff.truth.text_rules import Answer, answer
from bakeoff.types import Skipped

if TYPE_CHECKING:
    import pyarrow as pa

Path = tuple[str | int, ...]
UNREAD = "unread"
"""Code of problems about files that were not read, as used in an experiment's `allow`."""
FEW_DOCUMENTS = "few-documents"
"""Code of truth that matches fewer documents than its `min_documents`, as used in `allow`."""
UNJUDGED_COPY = "unjudged-copy"
"""Code of the warning about copies of right documents; it concerns all queries and is filed under the first."""
SHOWN = 3
SCANNED = 65_536
"""Documents whose texts are looked through in one step."""


@dataclass(frozen=True, slots=True)
class RuleHits:
    """How often one rule of a query matched, and in how many documents; `rule` is its path in the truth."""

    query_id: str
    source: str
    rule: str
    chunking: str
    hits: int
    documents: int
    min_documents: int | None = None


@dataclass(frozen=True, slots=True)
class UnreadTruth:
    """A file that a query's truth names but that was not read: the name or pattern, and the reason."""

    query_id: str
    name: str
    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Truth:
    """Judgments of all queries (query = its index in the set), what each rule matched, problems, and unread
    files."""

    judgments: pa.Table
    hits: tuple[RuleHits, ...]
    problems: tuple[Problem, ...]
    unread: tuple[UnreadTruth, ...] = ()
    aligned: bool = False
    """Whether spans were aligned to the text of one of several readers, where some may be missing."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that stop a run."""
        return tuple(problem for problem in self.problems if problem.level == "error")


def resolve(
    queries: QuerySet,
    documents: pa.Table,
    chunkings: Mapping[str, pa.Table],
    strict: bool = False,
    seconds: float = SECONDS,
    *,
    unread: Sequence[Skipped] = (),
    allowed: Collection[str] = (),
) -> Truth:
    """Resolve a query set; `chunkings` (fingerprint → chunks) serve rules over chunks.

    With `strict`, errors raise one TruthError that lists them all. Truth that names one of the
    `unread` files (F55) or matches too few documents is an error, or a warning if `allowed` has its code.
    """
    work = _Resolver(queries, TruthCorpus(documents, unread), chunkings, seconds, allowed)
    truth = work.truth()
    if strict:
        require_sound(truth)
    return truth


def require_sound(truth: Truth) -> None:
    """Raise one TruthError that lists every error of a truth, if there are any."""
    if truth.errors:
        raise TruthError(lines=[problem.message for problem in truth.errors])


class _Resolver:
    """Executes the rules of one query set."""

    def __init__(
        self,
        queries: QuerySet,
        corpus: TruthCorpus,
        chunkings: Mapping[str, pa.Table],
        seconds: float,
        allowed: Collection[str],
    ) -> None:
        self.queries = queries
        self.corpus = corpus
        self.allowed = allowed
        self.places = PlaceFinder(corpus, chunkings)
        self.unread: list[UnreadTruth] = []
        self.rule_hits: list[RuleHits] = []
        self.problems: list[Problem] = []
        self.answers = self._answers(corpus, chunkings, seconds)

    def _answers(
        self, corpus: TruthCorpus, chunkings: Mapping[str, pa.Table], seconds: float
    ) -> dict[tuple[int, Path], Answer]:
        """What every leaf of every rule matches."""
        answers: dict[tuple[int, Path], Answer] = {}
        places: list[tuple[int, Path]] = []
        texts: list[Sql | WordsRule] = []
        for query, rule in self._rules():
            for path, leaf in leaves(rule):
                if isinstance(leaf, Sql | WordsRule):
                    places.append((query, path))
                    texts.append(leaf)
                else:
                    answers[query, path] = _attempt(self.places, leaf)
        answers |= zip(places, answer(texts, corpus, chunkings, seconds), strict=True)
        return answers

    def _rules(self) -> Iterator[tuple[int, Rule]]:
        return ((query, rule) for query, rule in enumerate(self.queries.rules) if rule is not None)

    def truth(self) -> Truth:
        """The judgments of all queries."""
        matches: list[tuple[int, RuleMatches]] = []
        for place, query in enumerate(self.queries.queries):
            rule = self.queries.rules[place]
            if rule is not None:
                matches += [(place, part) for part in self._query(place, rule)]
            elif not query.negative:
                self._say(
                    "warning", place, (), "nothing is judged yet. Judge it in a review, or write its truth."
                )
        judgments = _table(matches)
        self.problems += _unjudged_copies(self.queries, self.corpus.table, judgments)
        return Truth(judgments, tuple(self.rule_hits), tuple(self.problems), tuple(self.unread))

    def _query(self, query: int, rule: Rule) -> list[RuleMatches]:
        """What a query's truth matches, once per source and chunking."""
        before = len(self.problems)
        parts = self._node(query, (), rule)
        keys = dict.fromkeys((part.source, part.chunking) for part in parts)
        matches = [join_matches((p for p in parts if (p.source, p.chunking) == key), *key) for key in keys]
        if any((part.grade > 0).any() for part in matches):
            return matches
        if any(problem.code == UNREAD for problem in self.problems[before:]):
            if UNREAD in self.allowed:
                text = "nothing relevant of its truth was read, so it has no score and enters no mean."
                self._say("warning", query, (), text, UNREAD)
        elif not any(problem.level == "error" for problem in self.problems[before:]):
            self._say(
                "error", query, (), "its truth matches nothing. Widen a rule, or write truth: negative."
            )
        return matches

    def _node(self, query: int, path: Path, rule: Rule) -> list[RuleMatches]:
        """What one rule of a tree matches, compared with its author's expectation."""
        match rule:
            case AnyOf() | AllOf():
                parts = self._combine(query, path, rule)
            case _:
                parts = self._leaf(query, path, rule)
        self._count(query, path, rule, parts)
        self._expectations(query, path, rule, parts)
        return parts

    def _leaf(self, query: int, path: Path, rule: Rule) -> list[RuleMatches]:
        unread = self._unread(query, path, rule)
        answered = self.answers[query, path]
        if isinstance(answered, TruthError):
            for line in str(answered).splitlines():
                self._say("error", query, path, line)
            return []
        if isinstance(rule, Sections):
            for line in self.places.unmatched_titles(rule):
                self._say("warning", query, path, line)
        if not unread and not any(len(part) for part in answered):
            self._say("warning", query, path, f"{rule.source} matches nothing. Correct it, or remove it.")
        return answered

    def _unread(self, query: int, path: Path, rule: Rule) -> bool:
        """Whether a rule names files that were not read; each name is a problem (F55)."""
        identity, before = self.queries.queries[query].id, len(self.unread)
        for name, match in _names(rule):
            files = self.corpus.names.left_out(name, match)
            self.unread += [UnreadTruth(identity, name, one.id, one.reason) for one in files]
            if files:
                self._say(self._level(UNREAD), query, path, _left_out(name, files), UNREAD)
        return len(self.unread) > before

    def _combine(self, query: int, path: Path, rule: AnyOf | AllOf) -> list[RuleMatches]:
        key = "any" if isinstance(rule, AnyOf) else "all"
        children = [self._node(query, (*path, key, i), child) for i, child in enumerate(rule.rules)]
        parts = [part for child in children for part in child]
        if isinstance(rule, AllOf):
            parts = intersection(children, rule.source)
        return [part.rename(rule.name or part.source, rule.grade) for part in parts]

    def _count(self, query: int, path: Path, rule: Rule, parts: list[RuleMatches]) -> None:
        name = ".".join(map(str, ("truth", *path)))
        identity = self.queries.queries[query].id
        chunkings = dict.fromkeys(part.chunking for part in parts) or {"": None}
        for chunking in chunkings:
            all_ = join_matches((part for part in parts if part.chunking == chunking), rule.source, chunking)
            counted = len(all_), len(np.unique(all_.at.doc))
            self.rule_hits.append(
                RuleHits(identity, rule.source, name, chunking, *counted, rule.min_documents)
            )

    def _expectations(self, query: int, path: Path, rule: Rule, parts: list[RuleMatches]) -> None:
        if rule.min_documents is None and rule.expected is None:
            return
        docs = len(np.unique(concatenate_ranges(part.at for part in parts).doc))
        if rule.min_documents is not None and docs < rule.min_documents:
            text = (
                f"{rule.source} finds {count(docs, 'document')}, but min_documents is {rule.min_documents}."
            )
            remedy = f"Widen the rule, correct the number, or measure anyway: allow: [{FEW_DOCUMENTS}]."
            self._say(self._level(FEW_DOCUMENTS), query, path, f"{text} {remedy}", FEW_DOCUMENTS)
        if rule.expected is None:
            return
        counts = ((rule.expected.documents, docs, "document"), (rule.expected.hits, _most(parts), "hit"))
        for expected, actual, what in counts:
            if expected is not None and abs(actual - expected) > rule.expected.within * expected:
                text = f"{rule.source} finds {count(actual, what)}, expected_count is {expected:,}"
                self._say("warning", query, path, f"{text} (± {rule.expected.within:.0%}). Check the rule.")

    def _level(self, code: str) -> Level:
        return "warning" if code in self.allowed else "error"

    def _say(self, level: Level, query: int, path: Path, text: str, code: str = "truth") -> None:
        where = self.queries.where(query, path)
        self.problems.append(Problem(level, self.queries.queries[query].id, f"{where}: {text}", code))


def _names(rule: Rule) -> list[tuple[str, NameMatch]]:
    """Document names in a rule, and how each is matched."""
    if isinstance(rule, Documents):
        return [(name, rule.match) for name in rule.names]
    if isinstance(rule, SpansRule):
        named = dict.fromkeys(place.document for place in rule.places if place.document)
        return [(name, "auto") for name in named]
    return []


def _left_out(name: str, files: Sequence[Skipped]) -> str:
    examples = "; ".join(f"{one.id} ({one.reason})" for one in files[:SHOWN])
    more = f"; and {len(files) - SHOWN:,} more" if len(files) > SHOWN else ""
    one = len(files) == 1
    count = "a document that was not read" if one else f"{len(files):,} documents that were not read"
    fix = f"Repair {'it' if one else 'them'}, correct the truth, or measure without: allow: [{UNREAD}]."
    return f'"{name}" names {count}: {examples}{more}. {fix}'


def _unjudged_copies(queries: QuerySet, documents: pa.Table, judgments: pa.Table) -> list[Problem]:
    """A warning if a relevant document has an identical copy that counts as wrong: their order decides the score."""
    import pyarrow.compute as pc

    relevant = judgments.filter(pc.greater(judgments["grade"], 0))
    judged = set(zip(judgments["query"].to_pylist(), judgments["doc"].to_pylist(), strict=True))
    alike = _same_text(documents, relevant["doc"].unique())
    copies: dict[int, tuple[int, int]] = {}
    for query, doc in zip(relevant["query"].to_pylist(), relevant["doc"].to_pylist(), strict=True):
        copy = next((one for one in alike.get(doc, ()) if (query, one) not in judged), None)
        if copy is not None:
            copies.setdefault(query, (doc, copy))
    if not copies:
        return []
    query, pair = next(iter(copies.items()))
    names = [documents["id"][doc].as_py() for doc in pair]
    ids = [queries.queries[place].id for place in copies]
    more = f" and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else ""
    whose = (
        "1 question has a right document" if len(ids) == 1 else f"{len(ids):,} questions have right documents"
    )
    text = (
        f"{whose} with an identical copy that counts as wrong ({', '.join(ids[:SHOWN])}{more}; {names[0]} and "
        f"{names[1]}), so which of the two comes first decides the score. Name both in the truth, or remove one."
    )
    return [Problem("warning", queries.queries[query].id, text, UNJUDGED_COPY)]


def _same_text(documents: pa.Table, wanted: pa.Array) -> dict[int, list[int]]:
    """For each wanted document with copies, the documents with the same text; only texts of equal length are
    read."""
    import pyarrow.compute as pc

    texts = documents["text"].take(wanted).combine_chunks().unique()
    lengths = pc.binary_length(texts).unique()
    groups: dict[str, list[int]] = {}
    for begin in range(0, documents.num_rows, SCANNED):
        block = documents["text"].slice(begin, SCANNED)
        places = pc.indices_nonzero(pc.is_in(pc.binary_length(block), value_set=lengths))
        near = block.take(places)
        same = pc.is_in(near, value_set=texts)
        pairs = zip(places.filter(same).to_pylist(), near.filter(same).to_pylist(), strict=True)
        for place, text in pairs:
            groups.setdefault(text, []).append(begin + place)
    return {place: group for group in groups.values() if len(group) > 1 for place in group}


def _attempt(places: PlaceFinder, rule: Rule) -> Answer:
    try:
        return places.find(rule)
    except TruthError as exc:
        return exc


def _most(parts: list[RuleMatches]) -> int:
    """Matches under the chunking with most; unbound matches count for all."""
    free = sum(len(part) for part in parts if not part.chunking)
    by_chunking = {part.chunking: 0 for part in parts if part.chunking}
    for part in parts:
        if part.chunking:
            by_chunking[part.chunking] += len(part)
    return free + max(by_chunking.values(), default=0)


def _table(matches: list[tuple[int, RuleMatches]]) -> pa.Table:
    import pyarrow as pa

    counts = [len(part) for _, part in matches]
    codes = np.repeat(np.arange(len(matches)), counts)
    at = concatenate_ranges(part.at for _, part in matches)
    return JUDGMENTS.table(
        {
            "query": np.array([query for query, _ in matches], dtype=np.int32)[codes],
            "doc": at.doc,
            "start": pa.array(at.start, mask=at.whole),
            "end": pa.array(at.end, mask=at.whole),
            "grade": np.concatenate([np.zeros(0, np.int8), *(part.grade for _, part in matches)]),
            "source": pa.array([part.source for _, part in matches], pa.string()).take(pa.array(codes)),
            "chunking": pa.array([part.chunking for _, part in matches], pa.string()).take(pa.array(codes)),
        }
    )
