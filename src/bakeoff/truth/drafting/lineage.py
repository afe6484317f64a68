"""Relations → questions about joins, schemas, data flow and transformations, each with the files that answer
(S0)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from bakeoff.truth.drafting.draft import QueryDraft
from bakeoff.truth.drafting.relations import Relation
from bakeoff.types import JsonObject

MOST_FILES = 6
"""Questions with more answers are dropped: no ranking of ten could hold them."""

Relations = Mapping[str, Relation]


def from_lineage(relations: Relations) -> Iterator[QueryDraft]:
    """Questions in S0's four categories."""
    work = _Questions(relations)
    for kind in (work.joins, work.columns, work.flow, work.transformations):
        yield from kind()


class _Questions:
    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._readers: dict[str, set[str]] = defaultdict(set)
        for relation in relations.values():
            for read in relation.reads:
                self._readers[read].add(relation.name)
        shorts = [relation.short for relation in relations.values()]
        self._ambiguous = {short for short in shorts if shorts.count(short) > 1}

    def joins(self) -> Iterator[QueryDraft]:
        """Which query joins A with B?"""
        makers: dict[frozenset[str], list[str]] = defaultdict(list)
        for relation in self._relations.values():
            for pair in relation.joins:
                makers[pair].append(relation.name)
        for pair in sorted({pair for each in self._relations.values() for pair in each.direct}, key=sorted):
            one, other = sorted(pair)
            text = f"Which query joins {self._say(one)} with {self._say(other)}?"
            yield from self._draft(text, "join_analysis", "medium", makers[pair], pair)

    def columns(self) -> Iterator[QueryDraft]:
        """Which table has the column C?"""
        holders: dict[str, list[str]] = defaultdict(list)
        for relation in self._relations.values():
            for column in dict.fromkeys(relation.columns):
                holders[column].append(relation.name)
        hidden = self._behind_stars()
        for column, names in holders.items():
            if len(names) <= 3 and not hidden.intersection(names):
                text = f"Which table has the column {column}?"
                yield from self._draft(text, "schema_lookup", "easy", names)

    def _behind_stars(self) -> set[str]:
        """Relations whose columns may continue behind an unresolved star."""
        opaque = [relation.name for relation in self._relations.values() if relation.opaque]
        return {
            *opaque,
            *(up for name in opaque for up in _reachable(name, lambda e: self._relations[e].reads)),
        }

    def flow(self) -> Iterator[QueryDraft]:
        """What X reads, what reads X, what depends on it, and where it ultimately comes from."""
        for name, relation in self._relations.items():
            label, reads, readers = self._say(name), relation.reads, self._readers[name]
            if reads:
                yield from self._draft(
                    f"What does {label} read directly?", "data_flow", "medium", [name], reads
                )
            if readers:
                text = f"Which relations select from {label}?"
                yield from self._draft(text, "data_flow", "medium", readers, [name])
            later = _reachable(name, self._readers.__getitem__)
            if later > readers:
                text = f"If {label} is wrong, what else is wrong, however indirectly?"
                yield from self._draft(text, "data_flow", "hard", later, [name])
            before = _reachable(name, lambda each: self._relations[each].reads)
            base = {each for each in before if self._relations[each].base}
            if base and before > reads:
                text = f"From which base tables does {label} finally come?"
                yield from self._draft(text, "data_flow", "hard", base, (before - base) | {name})

    def transformations(self) -> Iterator[QueryDraft]:
        """How is column C of X computed?"""
        for name, relation in self._relations.items():
            for column, inputs in relation.computed.items():
                text = f"How is {column} computed in {self._say(name)}?"
                yield from self._draft(text, "transformation_logic", "medium", [name], inputs)

    def _draft(
        self, text: str, category: str, difficulty: str, two: Iterable[str], one: Iterable[str] = ()
    ) -> Iterator[QueryDraft]:
        """A draft with grade 2 for the answers and 1 for what helps; none if there are too many."""
        answers = sorted({self._relations[name].document for name in two})
        helps = sorted({self._relations[name].document for name in one} - set(answers))
        if len(answers) > MOST_FILES:
            return
        truth: JsonObject = {"documents": answers}
        if helps:
            truth = {"any": [{"documents": answers, "grade": 2}, {"documents": helps, "grade": 1}]}
        yield QueryDraft(text, category, difficulty, truth, answers[0])

    def _say(self, name: str) -> str:
        short = self._relations[name].short
        return name if short in self._ambiguous else short


def _reachable(start: str, step: Callable[[str], Iterable[str]]) -> set[str]:
    """Everything reachable by steps, without the start."""
    seen: set[str] = set()
    todo = list(step(start))
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += step(name)
    return seen - {start}
