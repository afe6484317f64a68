"""Figures are well-formed, show what the rows say, and treat names as text."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from bakeoff.report.build import build_report
from bakeoff.report.render import charts_svg, figures
from bakeoff.report.render.svg import Scale, padded_range, shorten
from bakeoff.report.sections.cost_quality import trade_chart
from bakeoff.report.sections.pairs import lead_chart
from bakeoff.runs.analysis import Result

Make = Callable[..., Result]


def parsed(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawing))


def of_class(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if kind in (element.get("class") or "").split()]


def test_every_figure_is_well_formed_whatever_names_hold(make_run: Make) -> None:
    report = build_report(make_run(labels=("<a> & 'b' \"c\"", "🦆 · ]]> <script>", "plain", "plain 2")))
    assert report.pairs is not None
    assert report.ranks is not None
    drawings = [
        charts_svg.draw_plot(lead_chart(report.pairs, "RR"), "<finding>"),
        figures.wins(report.pairs, "&"),
        figures.query_by_query(report.pairs, ""),
        *(charts_svg.draw_plot(trade_chart(trade, report.systems), "") for trade in report.trades),
        figures.rank_bars(report.ranks, ""),
        figures.chunk_sizes(report.background.chunkings, ""),
        *(figures.strip(row, figures.strip_scale(report.systems.rows)) for row in report.systems.rows),
    ]
    for drawing in drawings:
        root = parsed(drawing)
        assert not list(root.iter("script"))
        assert root.find("title") is not None


def test_dots_stand_inside_their_intervals_and_in_the_order_of_the_means(make_run: Make) -> None:
    rows = build_report(make_run(systems=6)).systems.rows
    scale = figures.strip_scale(rows)
    places = []
    for row in rows:
        root = parsed(figures.strip(row, scale))
        (dot,), (whisker,) = of_class(root, "dot"), of_class(root, "whisker")
        assert float(whisker.get("x1", "")) <= float(dot.get("cx", "")) <= float(whisker.get("x2", ""))
        places.append(float(dot.get("cx", "")))
    assert places == sorted(places, reverse=True)


def test_bars_of_wins_add_up_to_the_whole_width(make_run: Make) -> None:
    pairs = build_report(make_run(systems=4)).pairs
    assert pairs is not None
    root = parsed(figures.wins(pairs, ""))
    shown = [r for r in root.iter("rect") if r.get("height") == "14"]
    total = sum(float(r.get("width", "")) for r in shown) + len(shown)
    assert total == pytest.approx(len(pairs.against) * (figures.WIDTH - 16), abs=2)


def test_grey_means_not_separated(make_run: Make) -> None:
    pairs = build_report(make_run(systems=8)).pairs
    assert pairs is not None
    root = parsed(charts_svg.draw_plot(lead_chart(pairs, "RR"), ""))
    quiet = ["quiet" in (dot.get("class") or "") for dot in of_class(root, "dot")]
    assert quiet == [not pair.separated for pair in pairs.against]
    assert True in quiet
    assert False in quiet


@pytest.mark.parametrize(
    "scale", [Scale(0, 1, 0, 100), Scale(0.2, 0.93, 10, 400), Scale(0.3, 900, 0, 10, log=True)]
)
def test_ticks_lie_on_the_scale(scale: Scale) -> None:
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 8
    assert all(scale.low - 1e-9 <= tick <= scale.high + 1e-9 for tick in ticks)
    assert ticks == sorted(ticks)


def test_a_scale_of_one_value_is_a_scale() -> None:
    assert padded_range([0.5], 0, 100).at(0.5) == pytest.approx(50)
    assert padded_range([3.0], 0, 100, log=True).at(3.0) == pytest.approx(50, abs=1)
    assert padded_range([], 0, 100).ticks()


def test_long_names_keep_their_end() -> None:
    assert shorten("semantic · minilm · hybrid", 40) == "semantic · minilm · hybrid"
    short = shorten("a" * 50 + " · dense", 30)
    assert len(short) == 30
    assert short.endswith("· dense")
