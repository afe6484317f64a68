"""Relations of SQL files and the questions about them, against the lineage example's own computation."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("sqlglot")

from bakeoff.errors import SettingError
from bakeoff.truth.drafting.lineage import from_lineage
from bakeoff.truth.drafting.relations import Relation, relations

ROOT = Path(__file__).resolve().parents[3]
WAREHOUSE = ROOT / "src/bakeoff/examples/lineage/warehouse"
_spec = importlib.util.spec_from_file_location("lineage_oracle", ROOT / "tests/examples/test_lineage.py")
assert _spec
assert _spec.loader
oracle: ModuleType = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = oracle
_spec.loader.exec_module(oracle)


@cache
def found() -> dict[str, Relation]:
    files = [
        (path.relative_to(WAREHOUSE).as_posix(), path.read_text())
        for path in sorted(WAREHOUSE.rglob("*.sql"))
    ]
    made, failed = relations(files, "")
    assert failed == []
    return made


def test_relations_are_those_of_the_files() -> None:
    expected = oracle.warehouse()
    assert set(found()) == set(expected)
    for name, relation in found().items():
        assert relation.document == expected[name].document
        assert relation.reads == expected[name].parents, name
        assert relation.columns == expected[name].columns, name
        assert relation.base == (expected[name].query is None)


def test_joins_reach_through_ctes() -> None:
    pairs = {pair for relation in found().values() for pair in relation.direct}
    assert len(pairs) > 30
    for pair in pairs:
        ours = {name for name, relation in found().items() if pair in relation.joins}
        theirs = {r.name for r in oracle.warehouse().values() if oracle.joins(r, sorted(pair))}
        assert ours == theirs, pair


def grades(truth: dict[str, object]) -> dict[str, int]:
    parts = truth.get("any") or [{**truth, "grade": 2}]
    return {document: part["grade"] for part in parts for document in part["documents"]}  # type: ignore[index,attr-defined]


def test_questions_have_the_truth_that_the_sql_decides() -> None:
    full = {name.split(".")[1]: name for name in oracle.warehouse()}
    asked: dict[str, int] = {}
    kinds = {
        "What does ": ("parents", "What does {} read directly?"),
        "Which relations": ("readers", "Which relations select from {}?"),
        "If ": ("stale", "If {} is wrong, what else is wrong, however indirectly?"),
        "From which": ("sources", "From which base tables does {} finally come?"),
    }
    for draft in from_lineage(found()):
        for start, (kind, pattern) in kinds.items():
            if draft.text.startswith(start):
                before, after = pattern.split("{}")
                name = full[draft.text.removeprefix(before).removesuffix(after)]
                assert grades(dict(draft.truth)) == oracle.KINDS[kind](name), draft.text
                asked[kind] = asked.get(kind, 0) + 1
    assert min(asked[kind] for kind, _ in kinds.values()) > 10


def test_all_of_s0_s_categories_are_asked() -> None:
    assert {draft.category for draft in from_lineage(found())} == set(oracle.S0_SHARES)


def test_templates_of_jinja_and_lone_selects_are_read() -> None:
    files = [
        (
            "models/orders.sql",
            "{{ config(materialized='view') }}\nSELECT id, amount FROM {{ source('raw', 'orders') }}",
        ),
        ("models/daily.sql", "SELECT sum(o.amount) AS total FROM {{ ref('orders') }} AS o"),
        ("raw/orders.sql", "CREATE TABLE raw.orders (id INT, amount INT)"),
    ]
    made, failed = relations(files, "")
    assert failed == []
    assert made["orders"].reads == {"raw.orders"}
    assert made["daily"].reads == {"orders"} and made["daily"].computed == {"total": frozenset({"orders"})}


def test_a_file_that_is_no_sql_is_named() -> None:
    made, failed = relations([("a.sql", "SELECT FROM WHERE ((("), ("b.sql", "SELECT 1 AS one")], "")
    assert failed == ["a.sql"] and list(made) == ["b"]


def test_a_cte_is_no_relation() -> None:
    text = "CREATE VIEW v AS WITH orders AS (SELECT 1 AS x) SELECT * FROM orders"
    made, _ = relations([("v.sql", text), ("orders.sql", "CREATE TABLE orders (x INT)")], "")
    assert made["v"].reads == frozenset()


def test_a_star_over_a_table_outside_the_corpus_hides_columns_and_is_not_asked_about() -> None:
    files = [
        ("a.sql", "CREATE TABLE a (kept INT)"),
        ("b.sql", "CREATE TABLE b (other INT)"),
        ("v.sql", "CREATE VIEW v AS SELECT * FROM a JOIN elsewhere.x USING (kept)"),
    ]
    made, _ = relations(files, "")
    assert made["v"].opaque and not made["a"].opaque
    asked = {draft.text for draft in from_lineage(made) if draft.category == "schema_lookup"}
    assert asked == {"Which table has the column other?"}


def test_relations_that_read_each_other_are_still_relations() -> None:
    files = [("a.sql", "CREATE VIEW a AS SELECT * FROM b"), ("b.sql", "CREATE VIEW b AS SELECT * FROM a")]
    made, _ = relations(files, "")
    assert made["a"].reads == {"b"} and made["b"].reads == {"a"}
    assert list(from_lineage(made))


def test_an_unknown_dialect_is_an_error() -> None:
    with pytest.raises(SettingError, match="--dialect: Unknown dialect 'duckbd'"):
        relations([("a.sql", "SELECT 1 AS x")], "duckbd")
