"""The bundled experiment about Python's standard library: its questions, its truth and its corpus agree."""

from __future__ import annotations

import ast
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.types import SourceItem

EXAMPLE = Path(__file__).resolve().parents[2] / "src/bakeoff/examples/stdlib"
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
CATEGORIES = {"howto", "where", "behaviour", "internals", "errors"}
INTENTS = {"lookup", "exploratory", "analytical"}
SHARES = {"easy": 0.3, "medium": 0.5, "hard": 0.2}
RUN = 6  # words in a row that a question may not share with the corpus
ABSENT = {
    "neg-yaml": r"yaml",
    "neg-websocket": r"web\s?socket",
    "neg-web-token": r"jwt|json web|bearer",
    "neg-workbook": r"xlsx|workbook|worksheet",
    "neg-encrypt": r"\baes\b|\bgcm\b|\bencrypt\w*\b(?! fs)",
    "neg-postgres": r"postgres|connection pool",
    "neg-page-template": r"jinja|template engine|render_template|template inheritance",
    "neg-multiplexing": r"hpack|http/2 (frame|stream|connection)|multiplexing",
    "neg-dataframe": r"data\s?frame|pandas",
}
"""What a file would have to mention to answer a negative question."""

Json = dict[str, Any]


def _read(name: str) -> Json:
    content: Json = yaml.load((EXAMPLE / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return content


EXPERIMENT = _read("bakeoff.yaml")
QUERIES: list[Json] = _read("queries.yaml")["queries"]
ANSWERABLE = [query for query in QUERIES if query["truth"] != "negative"]
NEGATIVE = [query for query in QUERIES if query["truth"] == "negative"]


def _pattern(glob: str) -> re.Pattern[str]:
    """A glob as a regular expression: counted from the folder if it has a slash before its end, else at any depth."""
    start = "" if "/" in glob.rstrip("/") else "(?:.*/)?"
    end = "/.*" if glob.endswith("/") else ""
    return re.compile(start + "[^/]*".join(map(re.escape, glob.strip("/").split("*"))) + end)


@cache
def _corpus() -> dict[str, str]:
    """Document id → text, of the running interpreter's library."""
    found: dict[str, str] = {}
    drop = [_pattern(glob) for glob in EXPERIMENT["corpus"]["exclude"]]
    for glob in EXPERIMENT["corpus"]["include"]:
        for path in LIBRARY.glob(glob.lstrip("/")):
            name = path.relative_to(LIBRARY).as_posix()
            if not any(pattern.fullmatch(name) for pattern in drop):
                found[name] = path.read_text(encoding="utf-8")
    return found


def _symbols(rule: Json) -> Iterator[tuple[str, int | None]]:
    """The symbols of a truth rule with their grades."""
    for part in rule.get("any", [rule]):
        named = part["symbol"]
        for symbol in [named] if isinstance(named, str) else named:
            yield symbol, part.get("grade")


def _definitions(body: list[ast.stmt], name: str) -> list[Any]:
    """The functions and classes of that name, also those under `if` and `try`."""
    found: list[Any] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found += [node] * (node.name == name)
        else:
            inner = [getattr(node, key, []) for key in ("body", "orelse", "finalbody")]
            inner += [handler.body for handler in getattr(node, "handlers", [])]
            found += [one for block in inner for one in _definitions(block, name)]
    return found


def _defined(symbol: str) -> int:
    """How many functions or classes of the corpus a symbol names."""
    name, _, dotted = symbol.partition("::")
    nodes: list[Any] = [ast.parse(_corpus()[name])]
    for part in dotted.split("."):
        nodes = [found for node in nodes for found in _definitions(node.body, part)]
    return len(nodes)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+", text.lower())


def _module_words(query: Json) -> set[str]:
    """The words of the file and package names of a query's truth, with their singulars and plurals."""
    names = {
        part
        for symbol, _ in _symbols(query["truth"])
        for part in Path(symbol.split("::")[0]).with_suffix("").parts
    }
    plain = {name.strip("_").lower() for name in names} - {"init"}
    return plain | {f"{name}s" for name in plain} | {re.sub("e?s$", "", name) for name in plain}


@cache
def _corpus_runs() -> frozenset[tuple[str, ...]]:
    """Every run of RUN words that stands somewhere in the corpus."""
    runs: set[tuple[str, ...]] = set()
    for text in _corpus().values():
        words = _words(text)
        runs.update(zip(*(words[start:] for start in range(RUN)), strict=False))
    return frozenset(runs)


def test_experiment_has_the_systems_of_the_demo() -> None:
    assert EXPERIMENT["name"] == "stdlib"
    assert EXPERIMENT["corpus"]["folder"] == "${stdlib}"
    assert EXPERIMENT["chunkers"] == ["line", "semantic"]
    assert EXPERIMENT["embedders"] == ["wordllama", "minilm"]
    assert EXPERIMENT["modes"] == ["dense", "bm25", "hybrid"]
    assert EXPERIMENT["measures"]["primary"] == "nDCG@10(document)"


def test_corpus_is_large_enough_and_quick_to_embed() -> None:
    lines = sum(len(text.splitlines()) for text in _corpus().values())
    assert 30_000 <= lines <= 80_000
    assert len(_corpus()) >= 150


def test_corpus_has_no_tests_caches_or_installed_packages() -> None:
    unwanted = re.compile(r"(^|/)(tests?|__pycache__|site-packages|idlelib|lib2to3)/")
    assert not [name for name in _corpus() if unwanted.search(name)]


def test_included_globs_count_from_the_folder() -> None:
    assert all("/" in glob for glob in EXPERIMENT["corpus"]["include"])


def test_product_reads_the_same_documents() -> None:
    source = pytest.importorskip("bakeoff.plugins.sources.folder").FolderSource
    params = source.Params(**{**EXPERIMENT["corpus"], "folder": LIBRARY})
    read = {item.id for item in source(params).items() if isinstance(item, SourceItem)}
    assert read == {name for name, text in _corpus().items() if text}


@pytest.mark.parametrize("key", ["include", "exclude"])
def test_globs_are_not_repeated(key: str) -> None:
    globs = EXPERIMENT["corpus"][key]
    assert len(globs) == len(set(globs))


def test_product_reads_the_same_questions() -> None:
    read = pytest.importorskip("bakeoff.truth.queries").read_queries(EXAMPLE / "queries.yaml")
    assert [query.id for query in read.queries] == [query["id"] for query in QUERIES]
    assert [query.id for query in read.queries if query.negative] == [query["id"] for query in NEGATIVE]


def test_ids_and_texts_are_unique() -> None:
    for key in ("id", "text"):
        assert max(Counter(query[key].lower() for query in QUERIES).values()) == 1


def test_there_are_enough_questions() -> None:
    assert len(ANSWERABLE) >= 63
    assert len(NEGATIVE) >= 6


def test_labels_are_known() -> None:
    assert {query["category"] for query in ANSWERABLE} == CATEGORIES
    assert {query["intent"] for query in ANSWERABLE} == INTENTS
    assert {query["category"] for query in NEGATIVE} <= CATEGORIES


def test_difficulties_are_mixed() -> None:
    counts = Counter(query["difficulty"] for query in QUERIES)
    assert set(counts) == set(SHARES)
    for difficulty, share in SHARES.items():
        assert counts[difficulty] / len(QUERIES) == pytest.approx(share, abs=0.05)


@pytest.mark.slow
def test_truth_is_in_the_corpus() -> None:
    for query in ANSWERABLE:
        symbols = list(_symbols(query["truth"]))
        assert len({symbol for symbol, _ in symbols}) == len(symbols)
        for symbol, _ in symbols:
            assert symbol.split("::")[0] in _corpus(), symbol
            assert _defined(symbol) == 1, symbol


def test_graded_truth_has_a_main_answer() -> None:
    for query in ANSWERABLE:
        grades = [grade for _, grade in _symbols(query["truth"])]
        assert set(grades) in ({None}, {2}, {1, 2}), query["id"]


def test_few_questions_name_the_module() -> None:
    leaking = [query["id"] for query in ANSWERABLE if _module_words(query) & set(_words(query["text"]))]
    assert len(leaking) <= len(ANSWERABLE) / 3, leaking


def test_few_questions_name_the_symbol() -> None:
    def names(query: Json) -> set[str]:
        return {
            part.lower()
            for symbol, _ in _symbols(query["truth"])
            for part in symbol.split("::")[1].split(".")
        }

    leaking = [query["id"] for query in ANSWERABLE if names(query) & set(_words(query["text"]))]
    assert len(leaking) <= len(ANSWERABLE) / 10, leaking


def test_no_question_is_copied_from_the_corpus() -> None:
    for query in QUERIES:
        words = _words(query["text"])
        if len(words) < RUN:
            whole = " ".join(words)
            assert not [name for name, text in _corpus().items() if whole in " ".join(_words(text))]
        shared = {
            run
            for run in zip(*(words[start:] for start in range(RUN)), strict=False)
            if run in _corpus_runs()
        }
        assert not shared, query["id"]


def test_every_negative_has_words_to_look_for() -> None:
    assert {query["id"] for query in NEGATIVE} == set(ABSENT)


@pytest.mark.slow
def test_nothing_answers_a_negative_question() -> None:
    for query in sorted(ABSENT):
        wanted = re.compile(ABSENT[query], re.IGNORECASE)
        assert not {name: found.group() for name, text in _corpus().items() if (found := wanted.search(text))}


@pytest.mark.parametrize(
    ("symbol", "count"), [("heapq.py::merge", 1), ("heapq.py::merged", 0), ("heapq.py::merge.key", 0)]
)
def test_missing_symbols_are_noticed(symbol: str, count: int) -> None:
    assert _defined(symbol) == count
