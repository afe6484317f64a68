"""A run → its pool: the union of the systems' top k results, merged into items and filled in by rules."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.config import yaml_document
from bakeoff.errors import QueryFileError, SettingError
from bakeoff.examples import examples
from bakeoff.review.autofill import AutoFill, parsed_tags, with_tags
from bakeoff.review.choices import LabelScheme
from bakeoff.review.pool import (
    STORED_DEPTH,
    PassageGroup,
    PooledPassage,
    ReturnedPassage,
    ReviewItem,
    ReviewPool,
    group_passages,
    item_id,
)
from bakeoff.review.sheet_writer import QueryFacts
from bakeoff.runs.analysis import Result
from bakeoff.runs.verdict import with_reader
from bakeoff.truth.queries import QuerySet, read_queries
from bakeoff.truth.rules import Documents, Rule, Sql, WordsRule, leaves
from bakeoff.types import TableRow

DEFAULT_K = 10


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """What to pool: depth, systems and categories (empty: all), and the seed of the order.

    `labels` is what reviewers choose from; None takes the scheme of the run's preset.
    """

    k: int = DEFAULT_K
    systems: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    seed: int = 7
    labels: LabelScheme | None = None


def make_pool(result: Result, choice: PoolChoice, queries: QuerySet | None = None) -> ReviewPool:
    """The pool of a run; `queries` hold the rules that may fill in judgments."""
    systems = _systems(result, choice)
    served = _top_rows(result, systems, _queries(result, choice), choice.k)
    passages = _passages(result, served)
    wanted = {row["query_id"]: row for row in result.queries.to_pylist()}
    rules, notes = _rules(wanted, queries, result)
    fill = AutoFill(rules, list(passages.values()))
    items = [
        _item(wanted[query], group, rows, fill)
        for query, rows in served.items()
        for group in group_passages({_key(row): passages[_key(row)] for row in rows}.values())
    ]
    items.sort(key=lambda item: item.id)
    random.Random(choice.seed).shuffle(items)
    return ReviewPool(
        run=result.record.run,
        k=choice.k,
        seed=choice.seed,
        systems=systems,
        items=tuple(items),
        notes=(*notes, *fill.notes),
        labels=choice.labels or LabelScheme.of_preset(result.record.preset),
    )


def find_queries(result: Result, given: Path | None = None) -> QuerySet | None:
    """The query file of a run: the one given (a query file or an experiment), or that of its experiment.

    The experiment is found by its text: near the run, or among the bundled examples.
    """
    if given is not None:
        return _query_file(given)
    near = (Path(), result.path.parent, result.path.parent.parent)
    for folder in (*near, *(one.experiment.parent for one in examples())):
        for path in sorted(folder.glob("*.y*ml")):
            if _holds(path, result.record.experiment):
                return _query_file(path)
    return None


def _holds(path: Path, text: str) -> bool:
    """Whether a file holds exactly this text; checks the size first."""
    raw = text.encode("utf-8", errors="replace")
    return path.is_file() and path.stat().st_size == len(raw) and path.read_bytes() == raw


def facts_of(queries: QuerySet | None) -> dict[str, QueryFacts]:
    """The SQL, documents and signals of each query for review files, from its rules and tags."""
    facts = {}
    for query, own in zip(queries.queries, queries.rules, strict=True) if queries else ():
        rule = with_tags(own, query.tags)
        parts = [leaf for _, leaf in leaves(rule)] if rule is not None else []
        sql = [leaf.where for leaf in parts if isinstance(leaf, Sql)]
        names = (name for leaf in parts if isinstance(leaf, Documents) for name in leaf.names)
        words = (word for leaf in parts if isinstance(leaf, WordsRule) for word in leaf.of)
        facts[query.id] = QueryFacts(
            f"WHERE {' OR '.join(sql)}" if sql else "", tuple(names), tuple(dict.fromkeys(words))
        )
    return facts


def _query_file(path: Path) -> QuerySet:
    """The queries of a query file, or of the one an experiment names."""
    path = path / "bakeoff.yaml" if path.is_dir() else path
    located = yaml_document.read(path, QueryFileError)
    named = located.data.get("queries") if isinstance(located.data, dict) else None
    # an experiment names its query file, whose own queries are a list
    return read_queries(path.parent / named if isinstance(named, str) else path)


def _systems(result: Result, choice: PoolChoice) -> tuple[str, ...]:
    if not 1 <= choice.k <= STORED_DEPTH:
        raise SettingError(
            f"k is {choice.k}; a run keeps the text of the first {STORED_DEPTH} results. Choose 1 to {STORED_DEPTH}."
        )
    chosen = tuple(dict.fromkeys(result.system(name) for name in choice.systems)) or result.done
    if not chosen:
        raise SettingError(f"{result.path} has no measured system, so there is nothing to judge.")
    _refuse_readers(result, chosen)
    return chosen


def _refuse_readers(result: Result, systems: tuple[str, ...]) -> None:
    """Refuse systems of different readers: their texts differ, so passages cannot be merged."""
    rows = (with_reader(row) for row in result.systems.to_pylist() if row["system"] in systems)
    readers = sorted({row["reader"] for row in rows})
    if len(readers) > 1:
        raise SettingError(
            f"the systems have the texts of different readers ({', '.join(readers)}), whose passages are not the same. "
            f"Choose the systems of one reader with --systems."
        )


def _queries(result: Result, choice: PoolChoice) -> frozenset[str]:
    rows = result.queries.to_pylist()
    categories = {row["category"] or "" for row in rows}
    unknown = [name for name in choice.categories if name not in categories]
    if unknown:
        raise SettingError(
            f"no query has the category {unknown[0]!r}. Categories: {', '.join(sorted(categories))}."
        )
    chosen = set(choice.categories) or categories
    return frozenset(row["query_id"] for row in rows if (row["category"] or "") in chosen)


"""A row of the rankings table."""


def _top_rows(
    result: Result, systems: tuple[str, ...], queries: frozenset[str], k: int
) -> dict[str, list[TableRow]]:
    """The first k rows of every system, by query, in the order of the run."""
    import pyarrow.compute as pc

    chunkers = dict(
        zip(result.systems["system"].to_pylist(), result.systems["chunker"].to_pylist(), strict=True)
    )
    rows = result.rankings.filter(pc.less_equal(result.rankings["rank"], k)).to_pylist()
    by_query: dict[str, list[TableRow]] = {}
    for row in rows:
        if row["system"] in systems and row["query_id"] in queries:
            by_query.setdefault(row["query_id"], []).append({**row, "chunker": chunkers[row["system"]] or ""})
    return by_query


def _key(row: TableRow) -> tuple[str, str]:
    """Chunk ids are unique in a chunking, not in a run."""
    return row["chunker"], row["chunk_id"]


def _passages(result: Result, served: Mapping[str, list[TableRow]]) -> dict[tuple[str, str], PooledPassage]:
    texts = {
        (row["chunk_id"], row["document_id"], row["start"], row["end"]): row
        for row in result.passages.to_pylist()
    }
    passages: dict[tuple[str, str], PooledPassage] = {}
    for rows in served.values():
        for row in rows:
            text = texts.get((row["chunk_id"], row["document_id"], row["start"], row["end"]))
            if text is None:
                raise SettingError(
                    f"the run keeps no text of {row['chunk_id']} ({row['system']}, rank {row['rank']}). "
                    "Choose a smaller --k, or run the experiment again."
                )
            passages[_key(row)] = PooledPassage(
                chunk_id=row["chunk_id"],
                document_id=row["document_id"],
                start=row["start"],
                end=row["end"],
                section=text["section"] or "",
                text=text["text"],
                chunker=row["chunker"],
            )
    return passages


def _rules(
    rows: Mapping[str, TableRow], queries: QuerySet | None, result: Result
) -> tuple[dict[str, Rule], tuple[str, ...]]:
    """The rules of a run's queries, with notes."""
    from bakeoff.runs.prepare import queries_key

    notes: tuple[str, ...] = ()
    own: dict[str, Rule | None] = {}
    if queries is None:
        notes = (
            "the query file of this run was not found: only rules in tags fill in judgments. Give it with --queries.",
        )
    else:
        own = {query.id: rule for query, rule in zip(queries.queries, queries.rules, strict=True)}
        if queries_key(queries) != result.record.queries_fingerprint:
            notes = (f"{queries.name} was changed after the run; its current rules are used.",)
    rules = {name: with_tags(own.get(name), parsed_tags(row["tags"])) for name, row in rows.items()}
    return {name: rule for name, rule in rules.items() if rule is not None}, notes


def _item(query: TableRow, group: PassageGroup, rows: Iterable[TableRow], fill: AutoFill) -> ReviewItem:
    members = {(one.chunker, one.chunk_id) for one in group.passages}
    returned = [_returned_passage(row) for row in rows if _key(row) in members]
    start, end, name = group.start, group.end, query["query_id"]
    return ReviewItem(
        id=item_id(name, group.passages[0].document_id, start, end),
        query_id=name,
        query_text=query["text"],
        category=query["category"] or "",
        document_id=group.passages[0].document_id,
        start=start,
        end=end,
        section=group.passages[0].section,
        text=group.text(),
        words=fill.words(name),
        rules=_matching_rules(name, group, fill),
        returned=tuple(sorted(returned, key=lambda one: (one.system, one.rank))),
    )


def _matching_rules(query: str, group: PassageGroup, fill: AutoFill) -> tuple[str, ...]:
    """The rules that hold in every passage of an item; a rule that holds only in some leaves it open."""
    names = [fill.names(query, passage) for passage in group.passages]
    return tuple(dict.fromkeys(name for one in names for name in one)) if all(names) else ()


def _returned_passage(row: TableRow) -> ReturnedPassage:
    return ReturnedPassage(
        system=row["system"],
        rank=row["rank"],
        chunk_id=row["chunk_id"],
        start=row["start"],
        end=row["end"],
        score=row["score"],
        section=row["section"] or "",
    )
