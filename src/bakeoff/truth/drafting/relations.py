"""SQL files as relations: what each defines, reads, joins and computes, parsed by sqlglot."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from bakeoff.errors import SettingError

DIALECTS = ("", "duckdb", "postgres", "snowflake", "bigquery", "spark", "tsql", "mysql", "oracle")
"""Dialects to try, in order, if the user names none."""
_REF = re.compile(r"\{\{\s*ref\(\s*(?:['\"][^'\"]*['\"]\s*,\s*)?['\"]([^'\"]+)['\"]\s*\)\s*\}\}")
_SOURCE = re.compile(r"\{\{\s*source\(\s*['\"]([^'\"]+)['\"]\s*,\s*['\"]([^'\"]+)['\"]\s*\)\s*\}\}")
_OTHER = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Relation:
    """One table or view: its file, and by name what it reads, which pairs it joins, and its columns.

    `direct` has the pairs named in one FROM, `joins` also those behind its CTEs and subqueries. `computed`
    has each column that is more than a copy, with the relations its inputs are read from directly. `opaque`
    if its columns are not all known.
    """

    name: str
    document: str
    reads: frozenset[str]
    direct: frozenset[frozenset[str]]
    joins: frozenset[frozenset[str]]
    columns: tuple[str, ...]
    computed: Mapping[str, frozenset[str]]
    base: bool
    opaque: bool = False

    @property
    def short(self) -> str:
        """The name without its schema."""
        return self.name.rpartition(".")[2]


def relations(files: Iterable[tuple[str, str]], dialect: str) -> tuple[dict[str, Relation], list[str]]:
    """The relations in files (document, text) by name, and the files that could not be parsed."""
    _check(dialect)
    parsed: list[_DefinedNames] = []
    failed: list[str] = []
    for document, text in files:
        statements = _parse_sql(text, dialect)
        if statements is None:
            failed.append(document)
        else:
            parsed += _created_relations(document, statements)
    names = _Names([definition.name for definition in parsed])
    columns: dict[str, tuple[str, ...]] = {}
    relations_by_name = {}
    for definition in _in_order(parsed, names):
        relations_by_name[definition.name] = _relation(definition, names, columns)
        if not relations_by_name[definition.name].opaque:
            columns[definition.name] = relations_by_name[definition.name].columns
    return dict(sorted(relations_by_name.items())), failed


def _check(dialect: str) -> None:
    try:
        sqlglot.Dialect.get_or_raise(dialect or None)
    except ValueError as exc:
        raise SettingError(f"--dialect: {exc} Known: {', '.join(filter(None, DIALECTS))} and more.") from exc


class _Names:
    """Relation names, found in full or by an unambiguous last part."""

    def __init__(self, names: list[str]) -> None:
        self._full = set(names)
        self._last: dict[str, list[str]] = {}
        for name in names:
            self._last.setdefault(name.rpartition(".")[2], []).append(name)

    def find(self, table: exp.Table) -> str:
        """The known relation that a table expression means, or ''."""
        name = _name(table)
        if name in self._full:
            return name
        last = self._last.get(table.name.lower(), [])
        return last[0] if len(last) == 1 and not table.db else ""


def _parse_sql(text: str, dialect: str) -> list[exp.Expression] | None:
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


@dataclass(frozen=True, slots=True)
class _DefinedNames:
    """A relation as written in its file."""

    name: str
    document: str
    create: exp.Expression | None
    query: exp.Query | None

    @property
    def local(self) -> set[str]:
        """The names of its CTEs."""
        return {cte.alias.lower() for cte in self.query.find_all(exp.CTE)} if self.query else set()

    def reads(self, names: _Names) -> frozenset[str]:
        """The known relations it reads."""
        tables = self.query.find_all(exp.Table) if self.query else ()
        stored = (table for table in tables if table.db or table.name.lower() not in self.local)
        return frozenset(name for table in stored if (name := names.find(table))) - {self.name}


def _created_relations(document: str, statements: list[exp.Expression]) -> Iterator[_DefinedNames]:
    """The relations a file creates; a lone SELECT is named after its file."""
    for statement in statements:
        if isinstance(statement, exp.Create) and statement.kind in ("TABLE", "VIEW"):
            table = statement.find(exp.Table)
            if table is not None:
                query = statement.expression
                yield _DefinedNames(
                    _name(table), document, statement, query if isinstance(query, exp.Query) else None
                )
    if len(statements) == 1 and isinstance(statements[0], exp.Query):
        yield _DefinedNames(
            document.rsplit("/", 1)[-1].rsplit(".", 1)[0].lower(), document, None, statements[0]
        )


def _in_order(parsed: list[_DefinedNames], names: _Names) -> list[_DefinedNames]:
    """Sort relations after what they read; file order for cycles."""
    by_name = {definition.name: definition for definition in parsed}
    try:
        order = TopologicalSorter(
            {name: definition.reads(names) for name, definition in by_name.items()}
        ).static_order()
        return [by_name[name] for name in order]
    except CycleError:
        return list(by_name.values())


def _relation(definition: _DefinedNames, names: _Names, known: Mapping[str, tuple[str, ...]]) -> Relation:
    query, local = definition.query, definition.local
    if query is None:
        columns = (
            tuple(c.name.lower() for c in definition.create.find_all(exp.ColumnDef))
            if definition.create
            else ()
        )
        none: frozenset[frozenset[str]] = frozenset()
        return Relation(
            name=definition.name,
            document=definition.document,
            reads=frozenset(),
            direct=none,
            joins=none,
            columns=columns,
            computed={},
            base=True,
        )
    direct = frozenset(_direct_pairs(query, names, local))
    own_columns = columns_of(query, names.find, known, local)
    return Relation(
        name=definition.name,
        document=definition.document,
        reads=definition.reads(names),
        direct=direct,
        joins=direct | frozenset(_joins(query, names)),
        columns=own_columns or (),
        computed=_computed_columns(query, names, local),
        base=False,
        opaque=own_columns is None,
    )


def _direct_pairs(query: exp.Query, names: _Names, local: set[str]) -> Iterator[frozenset[str]]:
    """Pairs of relations in the FROM and JOIN of one SELECT."""
    for select in query.find_all(exp.Select):
        sides = sorted(set(_sources(select, names, local).values()))
        if select.args.get("joins"):
            yield from (frozenset((a, b)) for i, a in enumerate(sides) for b in sides[i + 1 :])


def _joins(query: exp.Query, names: _Names) -> Iterator[frozenset[str]]:
    """Pairs of relations behind different sources of one SELECT."""
    for scope in traverse_scope(query):
        sides = [_behind(source, names) for _, source in scope.selected_sources.values()]
        for one, other in itertools.combinations(sides, 2):
            yield from (frozenset((a, b)) for a in one for b in other if a != b)


def _behind(source: exp.Expression | Scope, names: _Names) -> frozenset[str]:
    """Relations that one source reads, through CTEs and subqueries."""
    if isinstance(source, exp.Table):
        return frozenset(filter(None, [names.find(source)]))
    if not isinstance(source, Scope):
        return frozenset()
    inner = [*source.set_operation_scopes, *(each for _, each in source.selected_sources.values())]
    return frozenset().union(*(_behind(each, names) for each in inner if each is not source))


def _computed_columns(query: exp.Query, names: _Names, local: set[str]) -> dict[str, frozenset[str]]:
    """Calculated columns of the outer SELECT, with the relations behind the aliases they use."""
    if not isinstance(query, exp.Select):
        return {}
    sources = _sources(query, names, local)
    columns = {}
    for projection in query.expressions:
        inner = projection.unalias()
        if isinstance(projection, exp.Alias) and not isinstance(inner, exp.Column | exp.Literal):
            used = (sources.get(column.table.lower(), "") for column in inner.find_all(exp.Column))
            columns[projection.alias.lower()] = frozenset(name for name in used if name)
    return columns


def _sources(select: exp.Select, names: _Names, local: set[str]) -> dict[str, str]:
    """Alias → relation of the tables a SELECT names directly."""
    clauses = [select.args.get("from_") or select.args.get("from"), *(select.args.get("joins") or [])]
    tables = [clause.this for clause in clauses if clause is not None and isinstance(clause.this, exp.Table)]
    named = ((t.alias_or_name.lower(), names.find(t)) for t in tables if t.db or t.name.lower() not in local)
    return {alias: name for alias, name in named if name}


def _name(table: exp.Table) -> str:
    return ".".join(part for part in (table.db, table.name) if part).lower()


_CANNOT = (
    SqlglotError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""Exceptions for a query the library can parse but not resolve; not all are its own."""


def columns_of(
    query: exp.Query, find: Callable[[exp.Table], str], known: Mapping[str, tuple[str, ...]], local: set[str]
) -> tuple[str, ...] | None:
    """Names of a query's columns in order; None if a star covers something unknown."""
    if not query.find(exp.Star):
        return tuple(name.lower() for name in query.named_selects)
    plain, schema = _rename_relations(query, find, known, local)
    try:
        qualified = qualify(plain, schema=schema, validate_qualify_columns=False, quote_identifiers=False)
    except _CANNOT:
        return None
    names = tuple(name.lower() for name in qualified.named_selects)
    return None if "*" in names or not names else names


def _rename_relations(
    query: exp.Query, find: Callable[[exp.Table], str], known: Mapping[str, tuple[str, ...]], local: set[str]
) -> tuple[exp.Query, dict[str, object]]:
    """The query with one-part names for known relations, because sqlglot requires names of equal depth."""
    renamed = query.copy()
    schema: dict[str, object] = {}
    for table in renamed.find_all(exp.Table):
        name = "" if not table.db and table.name.lower() in local else find(table)
        if name not in known:
            continue
        flat = name.replace(".", "__")
        schema[flat] = dict.fromkeys(known[name], "VARCHAR")
        alias = table.alias_or_name
        table.replace(exp.alias_(exp.to_table(flat), alias, table=True))
    return renamed, schema
