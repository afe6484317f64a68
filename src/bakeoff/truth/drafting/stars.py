"""The columns of a query whose SELECT has a star, from the columns of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

_CANNOT = (
    SqlglotError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What the library raises on a query it can read and not resolve: not all of it is an error of its own."""


def columns_of(
    query: exp.Query, find: Callable[[exp.Table], str], known: Mapping[str, tuple[str, ...]], local: set[str]
) -> tuple[str, ...] | None:
    """The names of a query's columns in order; None where a star is over something unknown."""
    if not query.find(exp.Star):
        return tuple(name.lower() for name in query.named_selects)
    plain, schema = _rename_relations(query, find, known, local)
    try:
        made = qualify(plain, schema=schema, validate_qualify_columns=False, quote_identifiers=False)
    except _CANNOT:
        return None
    names = tuple(name.lower() for name in made.named_selects)
    return None if "*" in names or not names else names


def _rename_relations(
    query: exp.Query, find: Callable[[exp.Table], str], known: Mapping[str, tuple[str, ...]], local: set[str]
) -> tuple[exp.Query, dict[str, object]]:
    """The query with each known relation under a name of one part, for sqlglot wants all names of one depth."""
    made = query.copy()
    schema: dict[str, object] = {}
    for table in made.find_all(exp.Table):
        name = "" if not table.db and table.name.lower() in local else find(table)
        if name not in known:
            continue
        flat = name.replace(".", "__")
        schema[flat] = dict.fromkeys(known[name], "VARCHAR")
        alias = table.alias_or_name
        table.replace(exp.alias_(exp.to_table(flat), alias, table=True))
    return made, schema
