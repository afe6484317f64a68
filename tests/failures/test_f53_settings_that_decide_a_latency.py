"""F53: a client's consistency or refresh setting decided the latency, and was printed nowhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from bakeoff import registry
from bakeoff.benchmark.results.ann_results import read_ann
from bakeoff.errors import MissingExtraError
from bakeoff.protocols import Guarantee, SupportsGuarantees
from bakeoff.report.build import build_report
from bakeoff.report.render import html, markdown
from bakeoff.runs.run import run

EXACT = registry.load("stores", "exact")
OWN = {
    "milvus": ({"uri": "http://127.0.0.1:1"}, {"query.consistency_level": "Bounded"}),
    "elasticsearch": ({}, {"build.refresh_interval": "1s", "build.durability": "request"}),
    "opensearch": ({}, {"build.refresh_interval": "1s", "build.durability": "request"}),
    "qdrant": (
        {"url": "http://127.0.0.1:1"},
        {"query.consistency": "one", "build.write_consistency_factor": "1", "build.wait": "True"},
    ),
    "weaviate": ({}, {"query.consistency_level": "ONE", "write_consistency": "QUORUM"}),
    "pgvector": ({}, {"synchronous_commit": "on"}),
    "lancedb": ({}, {"read_consistency": "None"}),
    "sqlite_vec": ({}, {"synchronous": "full"}),
    "chroma": ({}, {"build.sync_threshold": "1000"}),
}
"""What each engine does by itself, by its own documents."""


class Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    freshness: Literal["now", "soon"] = "soon"


class Promising(EXACT):
    """Says by itself what its searches wait for."""

    @classmethod
    def guarantees(cls, params: Any, query: Query) -> tuple[Guarantee, ...]:
        return (Guarantee("query.freshness", "consistency", query.freshness, "soon"),)


Promising.Query = Query


@pytest.mark.parametrize("freshness", ["now", "soon"])
def test_f53_the_settings_are_recorded_and_reported_next_to_the_latency(
    freshness: str, small: Path, register: Callable[..., None]
) -> None:
    register("stores", "promising", Promising)
    chosen = f"{{promising: {{query: {{freshness: {freshness}}}}}}}"
    small.write_text(small.read_text().replace("[exact]", f"[{chosen}]"))
    result = run(small, out=Path("run"))
    (found,) = result.record.guarantees
    assert (found.system, found.name, found.kind) == (result.done[0], "query.freshness", "consistency")
    assert (found.value, found.default) == (freshness, "soon")
    report = build_report(result)
    (row,) = report.latencies
    own = " (engine's default: soon)" if freshness == "now" else ""
    assert row.guarantees == f"consistency: query.freshness = {freshness}{own}"
    shown = markdown.text(report).partition("## Latency")[2].partition("\n## ")[0]
    assert f"query.freshness = {freshness}" in shown.replace("\\", "")
    assert f"query.freshness = {freshness}" in re.split('id="times"', html.page(report))[1]


@pytest.mark.parametrize("name", OWN)
def test_f53_the_default_is_the_engine_s_own_and_shown(name: str) -> None:
    given, own = OWN[name]
    try:
        plugin = registry.load("stores", name)
    except MissingExtraError as exc:
        pytest.skip(str(exc))
    found = plugin.guarantees(plugin.Params(**given), plugin.Query())
    assert {one.name: one.value for one in found} == {one.name: one.default for one in found} == own


def test_f53_a_chosen_value_is_told_from_the_engine_s() -> None:
    plugin = registry.load("stores", "milvus")
    strong = plugin.Query(consistency_level="Strong")
    (found,) = plugin.guarantees(plugin.Params(uri="http://127.0.0.1:1"), strong)
    assert (found.value, found.default) == ("Strong", "Bounded")


def test_f53_an_engine_inside_the_client_promises_nothing_of_a_server() -> None:
    for name in ("milvus", "qdrant"):
        plugin = registry.load("stores", name)
        assert issubclass(plugin, SupportsGuarantees)
        assert plugin.guarantees(plugin.Params(), plugin.Query()) == ()


def test_f53_ann_records_and_prints_them_too(
    tmp_path: Path, register: Callable[..., None], cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    register("stores", "promising", Promising)
    typed = cli(
        "ann",
        "synthetic:300x8",
        "--queries",
        40,
        "--stores",
        "promising",
        "--runs",
        1,
        "--out",
        "found",
        "--json",
    )
    assert typed.code == 0, typed.err
    (store,) = json.loads(typed.out)["stores"]
    wanted = {"name": "query.freshness", "kind": "consistency", "value": "soon", "default": "soon"}
    assert store["guarantees"] == [wanted]
    assert "promising: consistency: query.freshness = soon" in read_ann(Path("found")).notes
