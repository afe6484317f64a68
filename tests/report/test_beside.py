"""Load, resources and growth in the report: every number from stored rows, in every format, whatever was measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from bakeoff.benchmark.load_spec import LoadStep
from bakeoff.benchmark.results.load_results import LoadResult
from bakeoff.benchmark.results.scale_results import SIZE, fit_power_law, read_rows, values
from bakeoff.cli.app import app
from bakeoff.errors import DataError
from bakeoff.report.build import build_report, charts
from bakeoff.report.render import latex
from bakeoff.report.render import number_text as say
from bakeoff.report.render.charts_svg import draw, keys
from bakeoff.report.render.html import page
from bakeoff.report.render.markdown import text
from bakeoff.report.render.number_text import megabytes, percent
from bakeoff.report.render.write import write
from bakeoff.report.sections import scaling
from bakeoff.report.sections.optional_sections import collect_optional_sections
from bakeoff.report.sections.parts import BarChart, LineChart, ReportSection
from bakeoff.report.sections.percentiles import PERCENTS
from bakeoff.report.sections.under_load import load_section
from bakeoff.runs.analysis import Result
from bakeoff.runs.markdown_tables import escape_markdown

Make = Callable[..., Result]
MakeLoad = Callable[..., LoadResult]
MakeScale = Callable[..., Path]
HOSTILE = "<img src=x onerror=alert(1)> & \"q\" 'a' $x$ | _b_ · dense"


def sections(result: Result) -> dict[str, ReportSection]:
    return {section.id: section for section in collect_optional_sections(result, result.done)}


def test_every_latency_under_load_is_of_the_stored_histograms(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=3)
    found = make_load(result)
    curve = next(chart for chart in sections(result)["load"].charts if chart.name == "load_latency")
    for system, *cells, samples in curve.grid.rows:
        histogram = found.histogram(system, "4 threads")
        known = [
            histogram.percentile(one) if histogram.count >= 500 or one < 99 else None for one in PERCENTS
        ]
        known[-1] = None  # p99.9 needs 5,000 samples
        assert cells == [say.milliseconds(None if value is None else value / 1e6) for value in known]
        assert samples == f"{histogram.count:,}" == "1,200"
    assert curve.finding.startswith("With 4 threads, ") and "99" in curve.finding


def test_latency_and_speed_against_clients_are_the_stored_points(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=3)
    record = make_load(result).record
    points = {(point["system"], point["load"]): point for point in record["points"]}
    found = {chart.name: chart for chart in sections(result)["load"].charts}
    for system, *cells in found["latency_by_load"].grid.rows:
        stored = [
            points[system, load]["latency_ms"]["p99"]["across_queries"]["value"]
            for load in ("1 thread", "4 threads")
        ]
        assert cells == [say.milliseconds(value) for value in stored]
    for system, *cells in found["speed_by_load"].grid.rows:
        stored = [
            np.median(points[system, load]["qps_measured"]["across_runs"]["values"])
            for load in ("1 thread", "4 threads")
        ]
        assert cells == [say.whole(value) for value in stored]
    plot = found["latency_by_load"].plot
    assert isinstance(plot, LineChart) and [x for x, _ in plot.curves[0].points] == [1.0, 4.0]


def test_the_same_system_has_the_same_number_in_every_figure(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=4)
    make_load(result, systems=tuple(reversed(result.done)))
    report = build_report(result)
    places = {row.system: row.place for row in report.systems.rows}
    for chart in charts(report):
        assert all(places[name] == place for place, name in keys(chart))


def test_rates_of_an_open_loop(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=2)
    make_load(result, [LoadStep("open", 16, 400.0), LoadStep("open", 16, 100.0)])
    found = {chart.name: chart for chart in sections(result)["load"].charts}
    assert set(found) == {"load_latency", "latency_by_load"}
    assert found["latency_by_load"].finding.startswith("At 400/s, p99 of ")
    plot = found["latency_by_load"].plot
    assert isinstance(plot, LineChart) and plot.x.ticks == (100.0, 400.0)


def test_probes_are_shown_where_there_is_nothing_else(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=1)
    make_load(result, [LoadStep("open", 16, 100.0)], probe=True)
    section = sections(result)["load"]
    assert len(section.grids[0].rows) == 1 and [chart.name for chart in section.charts] == ["load_latency"]


def test_resources_are_the_stored_ones_and_unmeasured_ones_are_noted(
    make_run: Make, make_load: MakeLoad
) -> None:
    result = make_run(systems=2)
    record = make_load(result).record
    section = sections(result)["resources"]
    memory, processor, size = section.charts
    assert [chart.name for chart in section.charts] == ["memory", "processor", "index_size"]
    system, phase, *cells = memory.grid.rows[0]
    stored = record["systems"][0]["ingestion"]["resources"]
    assert (system, phase) == (record["systems"][0]["system"], "opening")
    assert cells == [megabytes(stored["client"]["peak_memory_mb"]), say.ABSENT]
    used = [percent(stored["client"][name]) for name in ("avg_cpu_percent", "peak_cpu_percent")]
    assert processor.grid.rows[0] == (system, phase, used[0], say.ABSENT, used[1], say.ABSENT)
    assert len(memory.grid.rows) == 2 * 3 and any("no server process" in note for note in memory.notes)
    assert isinstance(memory.plot, BarChart) and memory.plot.groups[0].bars[0].parts == (350.0, None)
    assert "No server process" in memory.caption
    sizes = dict(zip(*(result.systems[name].to_pylist() for name in ("system", "index_bytes")), strict=True))
    assert dict(size.grid.rows) == {name: say.size(value) for name, value in sizes.items()}
    assert processor.finding.endswith(": 90\u00a0% (opening)")


def test_a_measured_server_is_shown_with_the_client(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=1)
    make_load(result, server=True)
    memory = sections(result)["resources"].charts[0]
    assert "550\u00a0MB" in memory.finding and "No server" not in memory.caption
    assert "350\u00a0MB + 200\u00a0MB" in str(draw(memory))


def test_without_a_load_the_report_names_the_command_for_memory(make_run: Make) -> None:
    section = sections(make_run(systems=2))["resources"]
    assert [chart.name for chart in section.charts] == ["index_size"]
    (note,) = section.notes
    assert note.endswith(": bakeoff load made-up-run")


def test_sizes_that_no_store_tells(make_run: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    result = make_run(systems=2)
    table = result.systems
    for kept, shown in (([None, 9], ["–", "9\u00a0bytes"]), ([None, None], [])):
        changed = table.set_column(table.schema.get_field_index("index_bytes"), "index_bytes", [kept])
        monkeypatch.setitem(result.__dict__, "systems", changed)
        found = sections(result).get("resources")
        assert [row[1] for row in (found.charts[0].grid.rows if found else ())] == shown
        assert not found or "report none" in found.charts[0].notes[0]


def test_growth_is_attached_fitted_and_reported(
    make_run: Make, make_scale: MakeScale, tmp_path: Path
) -> None:
    result, folder = make_run(systems=2), make_scale(tmp_path / "scale-a")
    done = CliRunner().invoke(app, ["report", str(result.path), "--with", str(folder)], standalone_mode=False)
    assert done.exception is None, done.output
    assert scaling.attached_measurements(result.path) == (result.path / "scale" / "scale-a",)
    section = sections(result)["scaling"]
    rows = read_rows(folder / "rows.parquet")
    latency = next(chart for chart in section.charts if chart.name == "growth_p50_ms")
    for store, *cells in latency.grid.rows:
        known = [(size, value) for size, _, value in values(rows, SIZE, store, "p50_ms")]
        shown = fit_power_law(known)
        assert shown.exponent is not None and shown.low is not None and shown.high is not None
        expected = f"{shown.exponent:.2f} [{shown.low:.2f} {shown.high:.2f}]".replace(" ", "\u00a0")
        assert cells[-2] == expected and expected in latency.finding
        for cell, size in zip(cells, (100, 1000, 10_000), strict=False):
            assert cell == say.milliseconds(float(np.median([value for at, value in known if at == size])))
    disk = next(chart for chart in section.charts if chart.name == "growth_disk_mb")
    assert isinstance(disk.plot, LineChart) and [one.name for one in disk.plot.curves] == ["faiss"]
    assert any("this run's chunks" in note for note in section.notes)
    assert any("stores: faiss" in note for note in section.notes)
    assert "Growth with size" in (result.path / "report.html").read_text()


def test_two_measurements_are_two_sections_with_files_of_their_own(
    make_run: Make, make_scale: MakeScale, tmp_path: Path
) -> None:
    result = make_run(systems=2)
    for name in ("a", "b"):
        scaling.attach(result.path, make_scale(tmp_path / name, sizes=(100, 200), stores=("exact",)))
    report = build_report(result)
    assert [one.id for one in report.extras] == ["resources", "scaling", "scaling-2"]
    names = [chart.name for chart in charts(report)]
    assert len(set(names)) == len(names)
    assert "too few sizes" in report.extras[1].charts[0].finding


def test_a_folder_without_growth_is_refused(
    make_run: Make, make_load: MakeLoad, make_scale: MakeScale, tmp_path: Path
) -> None:
    result = make_run(systems=1)
    loaded = make_load(result)
    for wrong, message in (
        (tmp_path / "nothing", "cannot be read"),
        (loaded.path, "record of `bakeoff scale` in format 1"),
    ):
        with pytest.raises(DataError, match=message):
            scaling.attach(result.path, wrong)
    folder = make_scale(tmp_path / "one")
    kept = scaling.attach(result.path, folder)
    assert scaling.attach(result.path, kept) == kept == scaling.attach(result.path, folder)
    (folder / "record.json").write_text(
        json.dumps({**json.loads((folder / "record.json").read_text()), "stopped": "x"})
    )
    with pytest.raises(DataError):
        scaling.attach(result.path, folder)
    (kept / "rows.parquet").write_bytes(b"PAR1")
    assert "cannot be read" in sections(result)["scaling"].finding


def test_a_damaged_load_is_reported_in_its_section(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=1)
    found = make_load(result)
    path = found.path / "load_histograms.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    assert "cannot be read" in sections(result)["load"].finding
    (found.path / "record.json").write_text("{")
    assert "record.json" in sections(result)["load"].finding
    assert "Under load" in page(build_report(result))


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({"systems": 1}, {}),
        ({"systems": 3, "failed": 1}, {"missing": 300}),
        ({"systems": 2, "nulls": 45}, {"queries": 5, "runs": 1}),
        ({"labels": (HOSTILE, f"2 {HOSTILE}")}, {"server": True}),
        ({"systems": 30, "queries": 12, "negatives": 0}, {"queries": 120, "runs": 1}),
    ],
)  # fmt: skip
def test_whatever_was_measured_is_written_in_every_format(
    make_run: Make, make_load: MakeLoad, make_scale: MakeScale, tmp_path: Path, fields: Any, more: Any
) -> None:
    result = make_run(**fields)
    make_load(result, **more)
    scaling.attach(result.path, make_scale(tmp_path / "grown", stores=("exact", HOSTILE)))
    report = build_report(result)
    written = page(report)
    assert "<img" not in written and "nan" not in written.replace("nano", "") and "None" not in written
    markdown = text(report)
    assert all(escape_markdown(chart.finding) in markdown for chart in charts(report))
    for chart in charts(report):
        root = ElementTree.fromstring(str(draw(chart)))
        assert root.find("title") is not None and not list(root.iter("img"))
        assert chart.grid.rows and all(len(row) == len(chart.grid.headings) for row in chart.grid.rows)
        assert len(chart.grid.rows) <= 25 * 3
    assert {f"{chart.name}.tex" for chart in charts(report)} <= set(latex.files(report))


@pytest.mark.slow
def test_figures_of_load_and_growth_are_drawn_for_a_paper(
    make_run: Make, make_load: MakeLoad, make_scale: MakeScale, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    result = make_run(labels=("a$b · m · dense", "c · n · dense"))
    make_load(result)
    scaling.attach(result.path, make_scale(tmp_path / "grown"))
    (tmp_path / "out").mkdir()
    names = {path.name for path in write(result, tmp_path / "out", ["svg"])}
    assert {
        "load_latency.svg",
        "latency_by_load.svg",
        "memory.svg",
        "growth_p50_ms.svg",
        "ingestion.svg",
    } <= names
    drawn = "".join(ElementTree.parse(tmp_path / "out" / "load_latency.svg").getroot().itertext())
    assert "p99" in drawn and "a$b" in drawn.replace("\\", "")


def test_too_few_runs_leave_a_dash_and_a_note(make_run: Make, make_load: MakeLoad) -> None:
    result = make_run(systems=2)
    make_load(result, runs=2)
    section = load_section(result, result.done)
    assert section is not None
    (tests,) = [grid for grid in section.grids if "p (Welch, Holm)" in grid.headings]
    assert {row[-1] for row in tests.rows} == {say.ABSENT}
    assert [note for note in section.notes if "p-value" in note] == [
        "No p-value: 2 and 2 runs; at least 3 each are needed."
    ]
