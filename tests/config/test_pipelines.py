"""Modes as an experiment writes them: parameters, engines, lists of values, pipelines of stages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from bakeoff import registry
from bakeoff.config import experiment
from bakeoff.config.plan import System
from bakeoff.errors import ExperimentError, UnknownPluginError

HEAD = "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [line]\n"


def plan(folder: Path, text: str) -> experiment.Plan:
    path = folder / "bakeoff.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return experiment.load(path)


def labels(folder: Path, text: str) -> list[str]:
    return [system.label.removeprefix("line · ") for system in plan(folder, text).systems]


def only(folder: Path, text: str) -> System:
    (system,) = plan(folder, text).systems
    return system


class Order:
    """A reranker that keeps the order."""

    version = "1"
    Params = type("Params", (BaseModel,), {"__annotations__": {"strength": int}, "strength": 1})

    def __init__(self, params: Any) -> None: ...

    def rerank(self, query: str, passages: list[str]) -> np.ndarray:
        return -np.arange(len(passages))

    def close(self) -> None: ...


@pytest.fixture
def rerankers(register: Callable[..., None]) -> None:
    register("rerankers", "one", type("One", (Order,), {}))
    register("rerankers", "two", type("Two", (Order,), {}))


# --- pipelines --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("rerankers")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "modes: [[bm25@200, rerank@20]]\nrerankers: [one, two]\n",
            ["bm25@200 · one@20", "bm25@200 · two@20"],
        ),
        ("mode: [bm25@200, one@50, two@10]\n", ["bm25@200 · one@50 · two@10"]),
        ("mode: [bm25, {one@5: {strength: 3}}]\nrerankers: [two]\n", ["bm25 · one(strength=3)@5"]),
        ("mode: [bm25@50]\nrerankers: [two]\n", ["bm25@50"]),
        ("modes: [bm25]\nrerankers: [one]\n", ["bm25", "bm25 · one"]),
        (
            "modes: [bm25, [bm25@100, rerank@20]]\nrerankers: [one]\n",
            ["bm25", "bm25@100 · one@20"],
        ),
        (
            "modes: [bm25, [bm25@100, one@20]]\nrerankers: [two]\n",
            ["bm25", "bm25 · two", "bm25@100 · one@20"],
        ),
        ("mode: bm25@7\n", ["bm25@7"]),
        (
            "mode: [{bm25@200: {k1: [0.5, 2]}}, one]\n",
            ["bm25@200(k1=0.5) · one@20", "bm25@200(k1=2) · one@20"],
        ),
    ],
)
def test_a_list_is_a_pipeline(tmp_path: Path, text: str, wanted: list[str]) -> None:
    assert labels(tmp_path, text) == wanted


@pytest.mark.usefixtures("rerankers")
def test_depths_are_part_of_what_a_system_is(tmp_path: Path) -> None:
    usual = only(tmp_path, "mode: bm25\n")
    assert len(usual.identity()) == 7  # as it was before there were depths
    plain, deep = plan(tmp_path, "modes: [bm25, [bm25, one@20], [bm25, one@19]]\n").systems[1:]
    assert len(plain.identity()) == 7 and plain.identity()[5][1] == "one"
    assert deep.identity()[7] == {"rerank": [[deep.rerank[0].part.identity(), 19]]}
    assert only(tmp_path, "mode: bm25@30\n").identity()[7] == {"depth": 30}


@pytest.mark.usefixtures("rerankers")
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("modes: [[]]\n", 4, "a pipeline has no stage"),
        ("modes: [[bm25@200, rerank@20]]\n", 4, "none is listed. Add rerankers"),
        ("modes: [[bm25@10, one@20]]\n", 4, "one@20 looks at more passages than the 10 that bm25 fetches"),
        ("modes:\n  - dense\n  - [bm25, one@10, two@11]\n", 6, "than the 10 that one@10 looks at"),
        ("modes: [[dense, bm25]]\n", 4, "must come first"),
        ("modes: [[one@20]]\n", 4, "no mode is called 'one'"),
        ("modes: [bm25@0]\n", 4, "number of passages"),
        ("modes: [bm25@many]\n", 4, "number of passages"),
        ("mode: bm25\nmodes: [dense]\n", 4, "mode and modes both say"),
        ("modes: [[bm25, one@5], [bm25, one@5]]\n", 4, "bm25 · one@5 is listed twice in modes"),
    ],
)
def test_pipelines_that_are_none(tmp_path: Path, text: str, line: int, said: str) -> None:
    with pytest.raises(ExperimentError, match="line") as caught:
        plan(tmp_path, text)
    assert f"line {line}" in str(caught.value) and said in str(caught.value)


def test_an_unknown_reranker_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownPluginError, match=r"line 4.*'maxsin'.*'maxsim'"):
        plan(tmp_path, "mode: [bm25, maxsin@20]\n")


# --- words ------------------------------------------------------------------------------------------


def test_k1_and_b_mean_the_engine_that_has_them(tmp_path: Path) -> None:
    system = only(tmp_path, "mode: {bm25: {k1: 0.9, b: 0.4}}\n")
    assert system.keyword is not None and system.keyword.name == "postings"
    assert system.keyword_search is not None and system.keyword_search.model_dump() == {"k1": 0.9, "b": 0.4}
    assert system.identity()[7] == {"keyword_search": {"k1": 0.9, "b": 0.4}}


def test_the_fixed_values_of_an_engine_may_be_said(tmp_path: Path) -> None:
    system = only(tmp_path, "mode: {bm25: {engine: tantivy, k1: 1.2, b: 0.75}}\n")
    assert system.keyword is not None and system.keyword.name == "tantivy"


def test_an_engine_has_its_own_settings(tmp_path: Path) -> None:
    system = only(tmp_path, "mode: {bm25: {engine: {postings: {words: plain, query: {b: 0.1}}}}}\n")
    assert system.label == "line · bm25(engine=postings)"
    assert system.keyword is not None and system.keyword.params.model_dump() == {"words": "plain"}
    assert system.keyword_search is not None and system.keyword_search.model_dump() == {"k1": 1.2, "b": 0.1}


def test_k1_of_an_engine_that_takes_it_as_a_parameter_or_in_a_group(
    tmp_path: Path, register: Callable[..., None]
) -> None:
    base = registry.load("stores", "tantivy")

    class Flat(BaseModel):
        k1: float = 1.2

    class Grouped(BaseModel):
        words: Flat = Flat()

    register("stores", "flat", type("FlatStore", (base,), {"Params": Flat}))
    register("stores", "grouped", type("GroupedStore", (base,), {"Params": Grouped}))
    flat, grouped = plan(tmp_path, "modes: [{bm25: {engine: [flat, grouped], k1: 2}}]\n").systems
    assert flat.keyword is not None and flat.keyword.params == Flat(k1=2)
    assert grouped.keyword is not None and grouped.keyword.params == Grouped(words=Flat(k1=2))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{bm25: {engine: tantivy, k1: 0.9}}", "tantivy fixes k1 = 1.2, so k1: 0.9 can't be set"),
        ("{bm25: {engine: {postings: {stem: yes}}}}", 'unknown key "stem"'),
        ("{bm25: {engine: {postings: {query: {c: 1}}}}}", 'unknown key "c"'),
        ("{bm25: {b: 2}}", "it must be 1.0 or less (it is 2)"),
        ("{hybrid: {weight: 0.3}}", "weight belongs to fusion: weighted"),
        ("{hybrid: {fusion: weighted, rrf_k: 10}}", "rrf_k belongs to fusion: rrf"),
        (
            "{hybrid: {fusion: weighted, weight: 1.5}}",
            "weight is 1.5. Write the dense share, from 0 to 1, or tuned",
        ),
        ("{hybrid: {fusion: weighted, weight: best}}", "weight is 'best'"),
        ("{hybrid: {fusion: weighted, weight: [0.1, 0.1]}}", "has a value twice"),
        ("native_hybrid", "native_hybrid needs a store that fuses by itself; exact cannot"),
    ],
)
def test_modes_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        plan(tmp_path, f"modes: [{text}]\n")
    assert said in str(caught.value) and "line" in str(caught.value)


def test_a_list_of_weights_is_a_list_of_systems(tmp_path: Path) -> None:
    text = (
        "embedders: [wordllama]\nmodes: [{hybrid: {fusion: weighted, weight: [0.1, tuned], normalise: z}}]\n"
    )
    assert labels(tmp_path, text) == [
        "wordllama · hybrid(fusion=weighted weight=0.1 normalise=z)",
        "wordllama · hybrid(fusion=weighted weight=tuned normalise=z)",
    ]


def test_rrf_said_or_not_is_the_same_system(tmp_path: Path) -> None:
    said, unsaid = (only(tmp_path, f"mode: {text}\n") for text in ("{hybrid: {fusion: rrf}}", "hybrid"))
    assert said.identity() == unsaid.identity()


def test_a_weight_is_tuned_on_judgments_only(tmp_path: Path) -> None:
    text = "mode: {hybrid: {fusion: weighted, weight: tuned}}\nmeasures: {primary: tokens@10}\n"
    with pytest.raises(ExperimentError, match=r"line 5.*tokens@10"):
        plan(tmp_path, text)


def test_a_store_that_fuses_by_itself_is_used_where_it_is(
    tmp_path: Path, register: Callable[..., None]
) -> None:
    class Fusing(registry.load("stores", "exact")):
        def search_hybrid(self, text: str, vector: np.ndarray, k: int, query: Any) -> Any: ...

    register("stores", "fusing", Fusing)
    text = "embedders: [wordllama]\nstores: [exact, fusing]\nmodes: [dense, native_hybrid]\n"
    assert labels(tmp_path, text) == [
        "wordllama · exact · dense",
        "wordllama · fusing · dense",
        "wordllama · fusing · native_hybrid",
    ]
