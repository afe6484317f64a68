"""Checks the resolved truth: what every rule matches, and whether it can separate systems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.measures.names import parse
from bakeoff.runs.checks.context import ValidationContext
from bakeoff.runs.checks.findings import Finding, RuleRow, TruthRow
from bakeoff.runs.checks.text import name_some
from bakeoff.runtime.count_text import count
from bakeoff.truth.problems import Problem
from bakeoff.truth.queries import QuerySet
from bakeoff.types import Unit

MOST = 0.5
"""A query with a larger share of relevant units can't separate systems."""
FEW_UNITS = 10


def check_truth(material: ValidationContext) -> Iterator[Finding]:
    """Problems of resolving, queries that match too much, and chunkers that this truth can't compare."""
    for problem in material.truth.problems:
        yield _finding(problem, material.queries)
    yield from _too_many(material)
    yield from _chunk_bound(material)


def query_rows(material: ValidationContext) -> tuple[TruthRow, ...]:
    """What each query's truth matches."""
    documents = material.relevant(Unit.DOCUMENT)
    shares = _shares(material)
    hits: dict[str, dict[str, int]] = {}
    for row in rule_rows(material):
        if row.rule == "truth":
            hits.setdefault(row.query, {})[row.chunker] = row.hits
    return tuple(
        TruthRow(
            id=query.id,
            category=query.category,
            difficulty=query.difficulty,
            state="negative" if query.negative else "judged" if material.queries.rules[place] else "unjudged",
            synthetic=query.synthetic,
            documents=max((int(counts[place]) for counts in documents.values()), default=0),
            hits=hits.get(query.id, {}),
            share=float(shares[place]) if shares is not None else None,
        )
        for place, query in enumerate(material.queries.queries)
    )


def rule_rows(material: ValidationContext) -> tuple[RuleRow, ...]:
    """What each rule matches."""
    return tuple(
        RuleRow(hit.query_id, hit.rule, hit.source, material.labels[hit.chunking], hit.hits, hit.documents)
        for hit in material.truth.hits
    )


def _finding(problem: Problem, queries: QuerySet) -> Finding:
    """A problem as a finding, with place and text separated."""
    mark = f"query {problem.query_id}: "
    before, found, text = problem.message.partition(mark)
    where = f"{before}query {problem.query_id}" if found else queries.name
    return Finding(problem.level, problem.code, where, text if found else problem.message)


def _unit(material: ValidationContext) -> Unit:
    """Unit for counting matches: the primary measure's if it counts chunks."""
    return Unit.CHUNK if parse(material.plan.primary).unit is Unit.CHUNK else Unit.DOCUMENT


def _shares(material: ValidationContext) -> np.ndarray | None:
    """Share of all units relevant to each query, under the chunker where it is largest."""
    unit = _unit(material)
    shares = []
    for label, counts in material.relevant(unit).items():
        total = material.corpus.documents.num_rows
        if unit is Unit.CHUNK:
            total = material.chunkings[label].chunks.num_rows
        shares.append(counts / max(total, 1))
    return np.max(shares, axis=0) if shares else None


def _too_many(material: ValidationContext) -> Iterator[Finding]:
    shares, unit = _shares(material), _unit(material)
    if shares is None or material.corpus.documents.num_rows < FEW_UNITS:
        return
    for place in np.flatnonzero(shares > MOST).tolist():
        text = f"{shares[place]:.0%} of all {unit.value}s are relevant, so almost any system finds one."
        yield Finding(
            "warning",
            "too-many-hits",
            material.queries.where(place),
            f"{text} Narrow a rule, or grade the hits.",
        )


def _chunk_bound(material: ValidationContext) -> Iterator[Finding]:
    """Rules over chunks favour long chunks, so they must not compare chunkers (F08)."""
    if not material.bound or len(material.chunkings) < 2:
        return
    bound = _bound_queries(material)
    sets = [_pairs(judged.query, judged.item) for judged in material.unit_judgments(Unit.DOCUMENT).values()]
    differ = {query for one in sets for query, item in one for other in sets if (query, item) not in other}
    queries = count(len(bound), "query", "queries")
    by_document = (
        "By document it is the same under each of them"
        if not differ
        else f"Even by document the truth of {count(len(differ), 'query', 'queries')} differs between them"
    )
    text = (
        f"the truth of {queries} ({name_some(bound)}) is bound to chunks, so it can't compare the chunkers"
        f" {name_some(list(material.chunkings))}: a long chunk meets a condition more easily. {by_document}."
        " Use over: documents or over: sections in the rules, or a single chunker."
    )
    yield Finding("error", "chunk-bound", material.where(("chunkers",)), text)


def _bound_queries(material: ValidationContext) -> list[str]:
    table = material.truth.judgments
    rows = zip(table["query"].to_pylist(), table["chunking"].to_pylist(), strict=True)
    places = sorted({query for query, chunking in rows if chunking})
    return [material.queries.queries[place].id for place in places]


def _pairs(query: np.ndarray, item: np.ndarray) -> set[tuple[int, int]]:
    return set(zip(query.tolist(), item.tolist(), strict=True))
