"""Which SQL a truth rule may use: one condition on a row, of known columns and harmless functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bakeoff.config.pydantic_messages import did_you_mean, shorten
from bakeoff.errors import TruthError
from bakeoff.types import JsonObject

if TYPE_CHECKING:
    import duckdb

MAX_LENGTH = 20_000
_BEFORE = "SELECT (\n"
_NEAR = re.compile(r'at or near "(.+)"')
_WHERE = re.compile(r"\s*where\b", re.IGNORECASE)

CLASSES = frozenset(
    (
        "CONJUNCTION",
        "COMPARISON",
        "FUNCTION",
        "OPERATOR",
        "COLUMN_REF",
        "CONSTANT",
        "BETWEEN",
        "CASE",
        "CAST",
        "TYPE",
    )
)
FUNCTIONS = frozenset(
    (
        *(
            "~~",
            "!~~",
            "~~*",
            "!~~*",
            "~~~",
            "like_escape",
            "not_like_escape",
            "ilike_escape",
            "not_ilike_escape",
        ),
        *(
            "lower",
            "upper",
            "lcase",
            "ucase",
            "trim",
            "ltrim",
            "rtrim",
            "strip_accents",
            "nfc_normalize",
            "||",
            "concat",
        ),
        *("contains", "starts_with", "ends_with", "prefix", "suffix", "^@", "instr", "strpos", "position"),
        *("length", "len", "strlen", "substring", "substr", "left", "right", "array_slice", "array_extract"),
        *(
            "regexp_matches",
            "regexp_full_match",
            "regexp_extract",
            "~",
            "!~",
            "list_contains",
            "json_extract_string",
        ),
        *("->>", "+", "-", "*", "/", "//", "%", "abs", "round", "floor", "ceil", "least", "greatest"),
        *("coalesce", "ifnull", "nullif"),
    )
)
"""Pure functions whose work grows no faster than their input: none that repeats or pads a text."""
JOINING = frozenset(("||", "concat"))
MAX_JOINED = 16
"""Most columns one text may be concatenated from."""
BINARY_TYPES = frozenset(("bit", "bitstring", "blob", "bytea", "binary", "varbinary"))
"""Types whose text form is many times longer than their source."""


def check_condition(
    condition: str, table: str, columns: Sequence[str], connection: duckdb.DuckDBPyConnection
) -> str:
    """The condition without a leading WHERE, or an error that shows the position in it."""
    expression = _WHERE.sub("", condition, count=1).strip() if _WHERE.match(condition) else condition.strip()
    if not expression:
        raise TruthError("the sql is empty. Write a condition such as lower(chunk_text) LIKE '%fatigue%'.")
    if len(expression) > MAX_LENGTH:
        raise TruthError(
            f"the sql has {len(expression):,} characters; at most {MAX_LENGTH:,} are run. Split it."
        )
    node = _only_node(expression, table, _parse_expression(expression, table, connection))
    for part in _expressions(node["select_list"]):
        _check(part, expression, table, columns)
    return expression


def _parse_expression(expression: str, table: str, connection: duckdb.DuckDBPyConnection) -> JsonObject:
    text = f"{_BEFORE}{expression}\n) FROM {table}"
    rows = connection.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [text]).fetchall()
    tree: JsonObject = json.loads(rows[0][0])
    if tree["error"] and "position" in tree:
        near = _NEAR.search(tree["error_message"])
        at = place(int(tree["position"]), expression, near[1] if near else "")
        raise TruthError(f"sql: {tree['error_message']}, {at}. Write one condition, as after WHERE.")
    if tree["error"]:
        raise TruthError(
            f"sql: only a condition is run, not {shorten(expression)}. Write only what follows WHERE."
        )
    return tree


def _only_node(expression: str, table: str, tree: JsonObject) -> JsonObject:
    """The single SELECT node, which must have nothing but its condition."""
    nodes = [statement["node"] for statement in tree["statements"]]
    plain = len(nodes) == 1 and nodes[0]["type"] == "SELECT_NODE" and len(nodes[0]["select_list"]) == 1
    empty = ("where_clause", "having", "qualify", "sample", "group_expressions", "modifiers")
    plain = plain and not any(nodes[0].get(key) for key in empty)
    plain = plain and nodes[0]["from_table"].get("table_name") == table and _depth_kept(expression)
    if not plain:
        raise TruthError(
            f"sql: {shorten(expression)} is more than one condition. Write only what follows WHERE."
        )
    return nodes[0]


def _depth_kept(expression: str) -> bool:
    """Whether brackets balance within the expression, ignoring strings and quoted names."""
    depth = 0
    for part in re.findall(
        r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|[()]", expression, re.DOTALL
    ):
        depth += {"(": 1, ")": -1}.get(part, 0)
        if depth < 0:
            return False
    return True


def _expressions(tree: object) -> Iterator[dict[str, object]]:
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for value in tree.values():
            yield from _expressions(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _expressions(value)


def _check(part: JsonObject, expression: str, table: str, columns: Sequence[str]) -> None:
    at = place(int(part.get("query_location", 0)), expression)
    if part["class"] == "SUBQUERY":
        raise TruthError(
            f"sql: a subquery, {at}. A rule sees only its own row; use any: or all: to combine rules."
        )
    if part["class"] not in CLASSES:
        raise TruthError(
            f"sql: {part['type'].lower()} is not allowed, {at}. Compare columns with texts and numbers."
        )
    if part["class"] == "FUNCTION" and part["function_name"].lower() not in FUNCTIONS:
        name = part["function_name"]
        near = did_you_mean(name, sorted(FUNCTIONS))
        raise TruthError(
            f"sql: the function {name} is not allowed, {at}.{near}"
            " Allowed are LIKE, lower, contains, regexp_matches and their like."
        )
    if part["class"] == "FUNCTION" and part["function_name"].lower() in JOINING:
        _check_joined(part, at)
    if part["class"] in ("CAST", "TYPE"):
        _check_type(part, at)
    if part["class"] == "COLUMN_REF":
        _check_column(part["column_names"], at, table, columns)


def _check_joined(part: dict[str, object], at: str) -> None:
    joined = sum(inner["class"] == "COLUMN_REF" for inner in _expressions(part))
    if joined > MAX_JOINED:
        raise TruthError(
            f"sql: one text joined from {joined:,} columns, {at}. At most {MAX_JOINED} are joined;"
            " compare them one by one."
        )


def _check_type(part: JsonObject, at: str) -> None:
    # DuckDB 2 has a node for the type, DuckDB 1 a property of the cast
    name = part.get("type_name") or (part.get("cast_type") or {}).get("id", "")
    if name.lower() in BINARY_TYPES:
        raise TruthError(f"sql: a cast to {name}, {at}. Compare texts and numbers.")


def _check_column(names: Sequence[str], at: str, table: str, columns: Sequence[str]) -> None:
    known = {column.lower() for column in columns}
    own = len(names) == 1 or (len(names) == 2 and names[0].lower() == table)
    if not own or names[-1].lower() not in known:
        near = did_you_mean(names[-1], list(columns))
        raise TruthError(f'sql: no column "{".".join(names)}", {at}.{near} Columns: {", ".join(columns)}.')


def place(position: int, expression: str, near: str = "") -> str:
    """ "at character 12: LIKE 'x", from a position in the parsed text."""
    data = expression.encode()
    at = min(max(position - len(_BEFORE), 0), len(data))
    in_bytes = len(data[:at].decode("utf-8", "ignore"))
    # DuckDB 2 counts bytes, DuckDB 1 characters
    start = at if near and expression[at:].startswith(near) else in_bytes
    excerpt = shorten(expression[start : start + 40]) if start < len(expression) else "the end"
    return f"at character {start + 1}: {excerpt}"
