"""F51: a convention is in the record and the live code ignores it; a module that only tests import."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import bakeoff
from bakeoff import registry
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.types import Hits

PACKAGE = Path(bakeoff.__file__).parent


def lay_out(files: dict[str, str], queries: list[dict[str, Any]], **experiment: Any) -> Path:
    """An experiment over these files in the working folder."""
    for name, text in files.items():
        path = Path("corpus") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    Path("queries.yaml").write_text(yaml.safe_dump({"queries": queries}))
    whole = {
        "corpus": {"folder": "corpus"},
        "queries": "queries.yaml",
        "allow": ["leak", "duplicate"],
        **experiment,
    }
    path = Path("bakeoff.yaml")
    path.write_text(yaml.safe_dump(whole))
    return path


LINES = [{"line": {"doc_lines": 1, "overlap": 0}}]
ZEBRAS = {"x.md": "".join(f"zebra zebra zebra zebra stripe{i}\n" for i in range(6)), "b.md": "nothing\n"}
ZEBRAS["a.md"] = "a long line that speaks of one zebra and of many other animals in the wide savannah\n"


def test_f51_vectordb_counts_the_first_chunks_and_ranks_by_chunk(home: Path) -> None:
    """Served x,x,x,x,x,x,a with a relevant: S3 has R@5 = 0 and RR = 1/7."""
    queries = [{"id": "q", "text": "zebra", "truth": {"documents": ["a.md"]}}]
    path = lay_out(ZEBRAS, queries, chunkers=LINES, modes=["bm25"], preset="vectordb")
    result = run(path, out="run")
    assert [row["document_id"] for row in result.rankings.to_pylist()] == ["x.md"] * 6 + ["a.md"]
    values = {row["measure"]: row["value"] for row in result.scores.to_pylist()}
    assert result.record.conventions["k_counts"] == "chunks"
    assert values["R@5(document)"] == 0.0 and values["RR(document)"] == pytest.approx(1 / 7)
    assert values["R@10(document)"] == 1.0 and values["RR@5(document)"] == 0.0
    assert values["P_unique@10(document)"] == pytest.approx(1 / 2)
    assert values["nDCG@10(document)"] == pytest.approx(1 / np.log2(8))


# --- every field changes a number ---------------------------------------------------------------------

WORDS = {
    "same1.md": "lion\nlion\n",
    "same2.md": "lion\nlion\n",
    "both.md": "# Overview of lions\n\nlion lion cub\n\n# Hunting notes\n\nlion hunts\n",
    **ZEBRAS,
    "spans.md": "tiger one\ntiger two\ntiger three\ntiger four\n",
}
WORD_QUERIES: list[dict[str, Any]] = [
    {
        "id": "graded",
        "text": "lion",
        "truth": {"any": [{"documents": ["same1.md"]}, {"documents": ["both.md"], "grade": 2}]},
    },
    {"id": "plain", "text": "tiger", "truth": {"lines": {"document": "spans.md", "from": 2, "to": 3}}},
    {"id": "silent", "text": "okapi", "truth": {"documents": ["same2.md"]}},
    {"id": "section", "text": "lion hunts", "truth": {"sections": {"of": ["hunt"]}}},
]
WORD_QUERIES.append({"id": "late", "text": "zebra", "truth": {"documents": ["a.md"]}})
WORD_MEASURES = {
    "primary": "RR(document)",
    "also": ["R@2(document)", "P@2(document)", "P@3(document, rel=2)", "R@1(chunk)", "SecAcc@5"],
}
CHANGES: dict[str, Any] = {
    "rel": 2,
    "order": "score_id",
    "empty_truth": "zero",
    "no_results": "exclude",
    "k_counts": "chunks",
    "universal_sections": [],
    "section_match": "contains",
    "overlap_share": 0.9,
}
VECTOR_CHANGES: dict[str, Any] = {"score_precision": "single", "knn_tolerance": 1000.0}


def numbers(result: Result) -> dict[tuple[str, ...], float | None]:
    assert not result.failed
    names = ("system", "query_id", "measure")
    return {tuple(row[name] for name in names): row["value"] for row in result.scores.to_pylist()}


@pytest.fixture
def by_words(home: Path) -> Callable[[dict[str, Any]], Result]:
    """Runs the keyword experiment with these conventions."""

    def ran(conventions: dict[str, Any]) -> Result:
        chunkers = [{"line": {"doc_lines": 2, "overlap": 0}}, "semantic"]
        path = lay_out(
            WORDS,
            WORD_QUERIES,
            chunkers=chunkers,
            modes=["bm25"],
            measures=WORD_MEASURES,
            conventions=conventions,
        )
        return run(path, out=f"run-{len(list(Path.cwd().glob('run-*')))}")

    return ran


@pytest.fixture
def by_vectors(home: Path, register: Callable[..., None]) -> Callable[[dict[str, Any]], Result]:
    """Runs a store that misses the nearest chunk and whose scores differ beyond single precision only."""
    exact = registry.load("stores", "exact")

    class Near(exact):  # type: ignore[misc, valid-type]
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            hits = super().search(vector, k, query)
            scores = np.full(len(hits.ids) - 1, 1e-3) - 1e-13 * np.arange(len(hits.ids) - 1)
            return Hits(hits.ids[1:], scores)

    register("stores", "near", Near)

    def ran(conventions: dict[str, Any]) -> Result:
        path = lay_out(
            WORDS,
            WORD_QUERIES[:1],
            chunkers=LINES,
            modes=["dense"],
            stores=["near"],
            embedders=[{"wordllama": {"dims": 64}}],
            measures={"primary": "RR(document)", "also": ["nDCG@5(document)", "kNN@2(vector)"]},
            conventions={"order": "score_id", **conventions},
        )
        return run(path, out=f"run-{len(list(Path.cwd().glob('run-*')))}")

    return ran


def test_f51_every_convention_is_tried() -> None:
    assert {*CHANGES, *VECTOR_CHANGES} == {field.name for field in fields(Conventions)}


def test_f51_every_convention_changes_a_number_of_a_run(by_words: Callable[..., Result]) -> None:
    usual = numbers(by_words({}))
    for name, value in CHANGES.items():
        changed = by_words({name: value})
        assert changed.record.conventions[name] == value
        assert numbers(changed) != usual, f"{name} is in the record, and no number depends on it"


def test_f51_conventions_of_vectors_change_a_number_of_a_run(by_vectors: Callable[..., Result]) -> None:
    usual = numbers(by_vectors({}))
    for name, value in VECTOR_CHANGES.items():
        assert numbers(by_vectors({name: value})) != usual, (
            f"{name} is in the record, and no number depends on it"
        )


def test_f51_the_usual_value_written_out_changes_nothing(by_words: Callable[..., Result]) -> None:
    assert numbers(by_words({name: DEFAULT.to_dict()[name] for name in CHANGES})) == numbers(by_words({}))


# --- every module is reachable ------------------------------------------------------------------------


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Every dotted name that a file imports, at the top or in a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], base]
                ).strip(".")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def named(tree: ast.AST) -> Iterator[str]:
    """Modules that a file starts or imports by name: `bakeoff.x.y`, a path's last part, f"bakeoff.x.{name}.y"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value in MODULES:
                yield node.value
                yield f"{node.value}.__main__"
            elif re.fullmatch(r"\w+\.py", node.value):
                yield from (name for name, path in MODULES.items() if path.name == node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [
                re.escape(str(one.value)) if isinstance(one, ast.Constant) else r"\w+" for one in node.values
            ]
            if parts and parts[0].startswith("bakeoff"):
                yield from (name for name in MODULES if re.fullmatch("".join(parts), name))


def reachable(roots: set[str]) -> set[str]:
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        while name and name not in MODULES:
            name = name.rpartition(".")[0]
        if not name or name in seen:
            continue
        seen.add(name)
        path = MODULES[name]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        # a module brings the packages it is in
        waiting += [name.rpartition(".")[0], *imported(tree, package), *named(tree)]
    return seen


def test_f51_every_module_is_reachable_from_what_a_user_starts() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    points = [project["scripts"], *project["entry-points"].values()]
    roots = {"bakeoff", "bakeoff.__main__", "bakeoff.testing"}
    roots |= {value.partition(":")[0] for table in points for value in table.values()}
    assert set(MODULES) - reachable(roots) == set()
