"""Tables and figures for a paper: LaTeX that compiles in meaning, figures with error bars, the same bytes each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.report.build import build_report
from bakeoff.report.render import latex
from bakeoff.report.render.write import write
from bakeoff.runs.analysis import Result

Make = Callable[..., Result]


def test_every_special_character_is_escaped(make_run: Make) -> None:
    report = build_report(make_run(labels=("a_b & c% · $x$ · dense", r"d\e{f} · #1 · dense")))
    text = latex.files(report)["systems.tex"]
    assert r"a\_b \& c\% $\cdot$ \$x\$" in text and r"d\textbackslash{}e\{f\}" in text and r"\#1" in text


def test_every_row_has_as_many_cells_as_the_head(make_run: Make) -> None:
    for text in latex.files(build_report(make_run(failed=1, nulls=3))).values():
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        cells = {len(re.split(r"(?<!\\)&", row)) for row in rows}
        assert len(rows) > 1 and len(cells) == 1


def test_the_means_are_those_of_the_run(make_run: Make) -> None:
    result = make_run(systems=3)
    text = latex.files(build_report(result))["systems.tex"]
    for system in result.done:
        mean = result.summaries(result.record.primary)[system].mean
        assert mean is not None and f"{mean:.3f}"[1:] in text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_figures_are_written_and_the_same_each_time(make_run: Make, tmp_path: Path, kind: str) -> None:
    pytest.importorskip("matplotlib")
    result = make_run()
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        names = {path.stem for path in write(result, folder, [kind])}
        assert names == {
            "systems",
            "differences",
            "quality_latency",
            "quality_tokens",
            "quality_size",
            "latency",
            "ingestion",
            "index_size",
        }
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_a_figure_names_every_system(make_run: Make, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = make_run(systems=4)
    write(result, tmp_path, ["svg"])
    texts = "".join(ET.parse(tmp_path / "systems.svg").getroot().itertext())
    assert all(system in texts for system in result.done)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields", [{"systems": 1}, {"systems": 2, "failed": 1}, {"labels": ("a$b · m · dense", "c · n · dense")}]
)
def test_unusual_runs_are_drawn_too(make_run: Make, tmp_path: Path, fields: dict) -> None:
    pytest.importorskip("matplotlib")
    assert write(make_run(**fields), tmp_path, ["latex", "png"])
