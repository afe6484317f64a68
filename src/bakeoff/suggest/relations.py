"""SQL files as relations: what each defines, reads, joins and computes, by sqlglot."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

DIALECTS = ("", "duckdb", "postgres", "snowflake", "bigquery", "spark", "tsql", "mysql", "oracle")
"""Tried in this order where the user names none."""
_REF = re.compile(r"\{\{\s*ref\(\s*(?:['\"][^'\"]*['\"]\s*,\s*)?['\"]([^'\"]+)['\"]\s*\)\s*\}\}")
_SOURCE = re.compile(r"\{\{\s*source\(\s*['\"]([^'\"]+)['\"]\s*,\s*['\"]([^'\"]+)['\"]\s*\)\s*\}\}")
_OTHER = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Relation:
    """One table or view: its file, and by name what it reads, which pairs it joins, and its columns.

    `beside` has the pairs that one FROM names itself, `joins` also those behind its CTEs and subqueries.
    `computed` has each column that is more than a copy, with the relations its inputs are read from directly.
    """

    name: str
    document: str
    reads: frozenset[str]
    beside: frozenset[frozenset[str]]
    joins: frozenset[frozenset[str]]
    columns: tuple[str, ...]
    computed: Mapping[str, frozenset[str]]
    base: bool

    @property
    def short(self) -> str:
        """The name without its schema."""
        return self.name.rpartition(".")[2]


def relations(files: Iterable[tuple[str, str]], dialect: str) -> tuple[dict[str, Relation], list[str]]:
    """The relations of files (document, text) by name, and the files that could not be parsed."""
    parsed, failed = [], []
    for document, text in files:
        statements = _parsed(text, dialect)
        if statements is None:
            failed.append(document)
        else:
            parsed += [(document, *made) for made in _made(document, statements)]
    known = _Names([name for _, name, _, _ in parsed])
    found = {
        name: _relation(document, name, create, query, known) for document, name, create, query in parsed
    }
    return found, failed


class _Names:
    """Relation names, found in full or by their last part where that is theirs alone."""

    def __init__(self, names: list[str]) -> None:
        self._full = set(names)
        self._last: dict[str, list[str]] = {}
        for name in names:
            self._last.setdefault(name.rpartition(".")[2], []).append(name)

    def find(self, table: exp.Table) -> str:
        """The known relation a table expression means, or ''."""
        name = _name(table)
        if name in self._full:
            return name
        last = self._last.get(table.name.lower(), [])
        return last[0] if len(last) == 1 and not table.db else ""


def _parsed(text: str, dialect: str) -> list[exp.Expression] | None:
    plain = _OTHER.sub("", _SOURCE.sub(r"\1.\2", _REF.sub(r"\1", text)))
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        for tried in (dialect,) if dialect else DIALECTS:
            try:
                return [each for each in sqlglot.parse(plain, read=tried or None) if each is not None]
            except (SqlglotError, RecursionError):
                continue
    finally:
        logger.disabled = before
    return None


def _made(
    document: str, statements: list[exp.Expression]
) -> Iterator[tuple[str, exp.Expression | None, exp.Query | None]]:
    """(name, definition, query) of each relation a file makes; a lone SELECT is named by its file."""
    for statement in statements:
        if isinstance(statement, exp.Create) and statement.kind in ("TABLE", "VIEW"):
            table = statement.find(exp.Table)
            if table is not None:
                query = statement.expression
                yield _name(table), statement, query if isinstance(query, exp.Query) else None
    if len(statements) == 1 and isinstance(statements[0], exp.Query):
        yield document.rsplit("/", 1)[-1].rsplit(".", 1)[0].lower(), None, statements[0]


def _relation(
    document: str, name: str, create: exp.Expression | None, query: exp.Query | None, known: _Names
) -> Relation:
    if query is None:
        columns = tuple(c.name.lower() for c in create.find_all(exp.ColumnDef)) if create else ()
        none: frozenset[frozenset[str]] = frozenset()
        return Relation(name, document, frozenset(), none, none, columns, {}, base=True)
    local = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    tables = [t for t in query.find_all(exp.Table) if t.db or t.name.lower() not in local]
    reads = frozenset(found for table in tables if (found := known.find(table))) - {name}
    columns = tuple(column.lower() for column in query.named_selects if column != "*")
    computed = {} if query.find(exp.Star) and not columns else _computed(query, known, local)
    beside = frozenset(_beside(query, known, local))
    joins = beside | frozenset(_joins(query, known))
    return Relation(name, document, reads, beside, joins, columns, computed, base=False)


def _beside(query: exp.Query, known: _Names, local: set[str]) -> Iterator[frozenset[str]]:
    """Pairs of relations that stand side by side in the FROM and JOIN of one SELECT."""
    for select in query.find_all(exp.Select):
        sides = sorted(set(_sources(select, known, local).values()))
        if select.args.get("joins"):
            yield from (frozenset((a, b)) for i, a in enumerate(sides) for b in sides[i + 1 :])


def _joins(query: exp.Query, known: _Names) -> Iterator[frozenset[str]]:
    """Pairs of relations that lie behind different sources of one SELECT."""
    for scope in traverse_scope(query):
        sides = [_behind(source, known) for _, source in scope.selected_sources.values()]
        for one, other in itertools.combinations(sides, 2):
            yield from (frozenset((a, b)) for a in one for b in other if a != b)


def _behind(source: exp.Expression | Scope, known: _Names) -> frozenset[str]:
    """The relations that one source reads, through CTEs and subqueries."""
    if isinstance(source, exp.Table):
        return frozenset(filter(None, [known.find(source)]))
    if not isinstance(source, Scope):
        return frozenset()
    inner = [*source.set_operation_scopes, *(each for _, each in source.selected_sources.values())]
    return frozenset().union(*(_behind(each, known) for each in inner if each is not source))


def _computed(query: exp.Query, known: _Names, local: set[str]) -> dict[str, frozenset[str]]:
    """Columns of the outer SELECT that are calculated, with the relations behind the aliases they use."""
    if not isinstance(query, exp.Select):
        return {}
    sources = _sources(query, known, local)
    found = {}
    for projection in query.expressions:
        inner = projection.unalias()
        if isinstance(projection, exp.Alias) and not isinstance(inner, exp.Column | exp.Literal):
            used = (sources.get(column.table.lower(), "") for column in inner.find_all(exp.Column))
            found[projection.alias.lower()] = frozenset(name for name in used if name)
    return found


def _sources(select: exp.Select, known: _Names, local: set[str]) -> dict[str, str]:
    """Alias → relation of the tables a SELECT names directly."""
    clauses = [select.args.get("from_") or select.args.get("from"), *(select.args.get("joins") or [])]
    tables = [clause.this for clause in clauses if clause is not None and isinstance(clause.this, exp.Table)]
    named = ((t.alias_or_name.lower(), known.find(t)) for t in tables if t.db or t.name.lower() not in local)
    return {alias: name for alias, name in named if name}


def _name(table: exp.Table) -> str:
    return ".".join(part for part in (table.db, table.name) if part).lower()
