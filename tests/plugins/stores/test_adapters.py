"""What an adapter's file is: short, and no copy of another's."""

import ast
import re
from itertools import combinations
from pathlib import Path

import bakeoff.plugins.stores as stores

FILES = sorted(Path(stores.__path__[0]).glob("*.py"))
LINES, MODULES, RUN = 350, 30, 6
SHARED = {
    "_lucene.py": {"elasticsearch.py", "opensearch.py"},
    "_lucene_index.py": {"elasticsearch.py", "opensearch.py", "_lucene.py"},
    "_milvus.py": {"milvus.py"},
    "_postgres.py": {"pgvector.py", "_postgres_table.py"},
    "_postgres_table.py": {"pgvector.py"},
    "_qdrant.py": {"qdrant.py", "_qdrant_edge.py", "_qdrant_server.py"},
    "_qdrant_edge.py": {"qdrant.py"},
    "_qdrant_server.py": {"qdrant.py"},
    "_weaviate.py": {"weaviate.py"},
}
"""The files that the stores of one engine share, with those that import them."""


def code(path: Path) -> list[str]:
    """The lines that are neither blank nor imports, without their indentation."""
    text = path.read_text(encoding="utf-8")
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    skipped = {line for node in imports for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), 1)
    return [line.strip() for number, line in lines if line.strip() and number not in skipped]


def runs(path: Path) -> set[tuple[str, ...]]:
    lines = code(path)
    return {tuple(lines[i : i + RUN]) for i in range(len(lines) - RUN + 1)}


def test_a_store_is_one_file_under_350_lines() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lengths.items() if count >= LINES} == {}
    assert len(FILES) <= MODULES


def test_a_store_shares_at_most_the_files_of_its_engine() -> None:
    found: dict[str, set[str]] = {}
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"plugins\.stores(?:\.| import )(_\w+)", text):
            found.setdefault(f"{name}.py", set()).add(path.name)
    assert found == SHARED


def test_no_two_files_share_a_run_of_six_lines() -> None:
    found = {path.name: runs(path) for path in FILES}
    shared = {(a, b): found[a] & found[b] for a, b in combinations(found, 2)}
    assert {pair: lines for pair, lines in shared.items() if lines} == {}
