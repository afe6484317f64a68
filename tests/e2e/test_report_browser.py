"""The report in a real browser: no errors, the theme switches, tables sort, corpus text stays text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import MARKS, OWNED, made_up

from bakeoff.report.render.html import write_html

pytestmark = MARKS
runs = made_up()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = runs.Made(systems=6, passage=OWNED + "\ndef answer(): ...", text=f"{OWNED} {{number}}?")
    return write_html(runs.write_run(tmp_path_factory.mktemp("browser") / "run", made))


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report, opened; anything the browser complains about, or asks the network for, fails the test."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    trouble: list[str] = []
    opened.on("console", lambda message: trouble.append(message.text))
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on(
        "request", lambda request: trouble.append(request.url) if request.url != report.as_uri() else None
    )
    opened.goto(report.as_uri())
    yield opened
    opened.close()
    assert trouble == []


def background(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_it_opens_without_errors_and_shows_the_recommendation_then_the_verdict(page: Any) -> None:
    assert page.locator("#recommendation").inner_text().startswith(("Take ", "Start with "))
    assert page.locator("#recommendation").is_visible()
    assert page.locator("#verdict").is_hidden()
    page.get_by_text("The evidence", exact=True).click()
    assert page.locator("#verdict").is_visible()
    assert page.locator("#systems-table tbody tr").count() == 6


def test_the_button_switches_the_theme_and_back(page: Any) -> None:
    light = background(page)
    page.click("#theme")
    dark = background(page)
    assert dark != light
    assert page.locator("#theme").inner_text() == "Light"
    page.click("#theme")
    assert background(page) == light


def test_it_follows_the_systems_theme(page: Any) -> None:
    light = background(page)
    page.emulate_media(color_scheme="dark")
    assert background(page) != light
    assert page.locator("#theme").inner_text() == "Light"


def test_markup_in_corpus_and_queries_is_shown_as_text(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.title() == "made-up · bakeoff"
    assert page.locator("pre", has_text="<script>document.title='owned'</script>").count() > 0
    assert page.locator("summary", has_text="<script>").count() > 0
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1


def test_tables_sort_by_number_both_ways(page: Any) -> None:
    places = (
        "[...document.querySelectorAll('#systems-table tbody tr')].map(row => Number(row.cells[4].dataset.v))"
    )
    for reverse in (True, False):
        page.click("#systems-table th:nth-child(5) button")
        values = page.evaluate(places)
        assert values == sorted(values, reverse=reverse)


@pytest.mark.parametrize("width", [400, 768, 1280])
def test_nothing_sticks_out_of_the_page(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints_with_every_part_open(page: Any) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert len(page.pdf(format="A4")) > 20_000
