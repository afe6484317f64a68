"""The dashboard in a real browser: every page, nothing asked of the network, corpus text stays text."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import MARKS, OWNED, WAIT, made_up

pytestmark = MARKS
pytest.importorskip("streamlit", reason="streamlit is not installed: pip install 'bakeoff[dashboard]'")
made = made_up()
PIXEL = "![seen](http://127.0.0.1:9/pixel.png) <b>bold</b>"
"""A picture in Markdown: shown as one, it would tell another host who looks. Names of files come into warnings."""
TOKEN = "a-token-of-the-test"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs, one that is going on, and one that can't be read."""
    folder = tmp_path_factory.mktemp("runs")
    made.write_run(folder / "first", made.Made(systems=4, failed=1, passage=f"{OWNED} question answer"))
    made.write_load(made.open_run(folder / "first"))
    made.write_scale(folder / "first" / "scale" / "grown")
    made.write_run(folder / "second", made.Made(systems=4, seed=12))
    shutil.copytree(folder / "second", folder / "going")
    (folder / "going" / "scores.parquet").unlink()
    stage = {"stage": "embed", "label": "minilm", "total": 400, "what": "chunks", "started": time.time() - 10}
    stage |= {"done": 100, "cached": 0, "finished": None, "summary": ""}
    progress = {"pid": os.getpid(), "updated": time.time(), "stages": [stage], "done": 1, "total": 4}
    progress |= {
        "failed": [[f"a · {PIXEL}", "connection refused"]],
        "warnings": [f"1 left out (as {PIXEL}.md)"],
        "ended": False,
    }
    (folder / "going" / "progress.json").write_text(json.dumps(progress))
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    return folder


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    """`bakeoff dashboard` on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "bakeoff", "dashboard", str(runs), "--no-browser", "--port", str(port)]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "BAKEOFF_PAGE_TOKEN": TOKEN},
    ) as server:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/_stcore/health", server)
        yield url
        os.killpg(server.pid, 15)


def _wait_for(url: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail("the dashboard does not answer")


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The overview, opened; an error in the console or a request to another host fails the test."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    trouble: list[str] = []
    opened.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    local = (address, "data:", "blob:", address.replace("http", "ws"))
    opened.on(
        "request", lambda request: None if request.url.startswith(local) else trouble.append(request.url)
    )
    opened.goto(f"{address}/?token={TOKEN}")
    opened.wait_for_selector("h1")
    yield opened
    opened.close()
    assert trouble == []


def choose(page: Any, run: str) -> None:
    """Pick a run at the side."""
    page.get_by_test_id("stSidebar").get_by_role("combobox").click()
    page.get_by_role("option", name=run, exact=True).click()


def visit(page: Any, title: str) -> None:
    """Go to a page by the navigation."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=title).click()
    page.wait_for_url(f"**/{title.lower()}")


def seen(page: Any, part: str, count: int) -> None:
    """Wait until so many parts of a kind are on the page: Streamlit sends them one after the other."""
    from playwright.sync_api import expect

    expect(page.get_by_test_id(part)).to_have_count(count, timeout=WAIT)


def told(page: Any, words: str | re.Pattern[str]) -> None:
    page.get_by_text(words).first.wait_for()


def drawn(page: Any, count: int) -> None:
    """Wait until so many figures are on the page, each an SVG of the report in a frame of its own."""
    from playwright.sync_api import expect

    seen(page, "stIFrame", count)
    for number in range(count):
        frame = page.get_by_test_id("stIFrame").nth(number).content_frame
        expect(frame.locator("svg")).to_have_count(1, timeout=WAIT)


def test_overview_tells_the_recommendation_and_what_failed(page: Any) -> None:
    choose(page, "first")
    told(page, re.compile(r"^Take semantic · minilm · hybrid\. It beats both other systems"))
    told(page, "1 of 4 systems failed and is not compared.")
    told(page, "failed: semantic · wordllama · hybrid: connection refused")
    seen(page, "stDataFrame", 1)
    for title in ("Questions won by the two leaders", "Semantic lift", "By kind of question"):
        page.get_by_role("heading", name=title).wait_for(timeout=WAIT)
    told(page, "Human review not yet completed")
    drawn(page, 4)
    assert page.get_by_test_id("stException").count() == 0


def test_two_systems_are_compared(page: Any) -> None:
    choose(page, "second")
    visit(page, "Compare")
    told(page, "Questions that differ most")
    drawn(page, 1)
    assert page.get_by_test_id("stException").count() == 0


def test_questions_are_searched_and_texts_stay_text(page: Any) -> None:
    choose(page, "first")
    visit(page, "Questions")
    told(page, "50 of 50 questions")
    page.get_by_placeholder("words of a question").fill("question 12?")
    page.keyboard.press("Enter")
    told(page, "1 of 50 questions")
    page.locator("mark").first.wait_for()
    assert page.title() == "Questions" or "owned" not in page.title()
    assert page.locator("pre script").count() == 0 and page.locator("pre img").count() == 0
    assert "<script>" in page.locator("pre").first.inner_text()


def test_what_is_going_on_is_shown(page: Any) -> None:
    visit(page, "Monitor")
    told(page, "1 of 4 systems")
    told(page, "embed minilm: 100 of 400")
    told(page, "connection refused")
    told(page, f"1 left out (as {PIXEL}.md)")
    assert page.locator("img[src*=pixel]").count() == 0


def test_runs_over_time(page: Any) -> None:
    visit(page, "History")
    told(page, "Runs over time")
    page.get_by_test_id("stDataFrame").wait_for()
    assert page.get_by_test_id("stException").count() == 0


def test_an_unfinished_and_an_unreadable_run_are_said(page: Any) -> None:
    choose(page, "going")
    told(page, "is not finished")
    choose(page, "broken")
    told(page, "run.json")


@pytest.mark.parametrize(("title", "words"), [("Load", "bakeoff load"), ("Review", "bakeoff review export")])
def test_what_is_not_there_yet_says_how_to_get_it(page: Any, title: str, words: str) -> None:
    choose(page, "second")
    visit(page, title)
    told(page, words)


def test_load_resources_and_growth_are_the_reports_figures(page: Any) -> None:
    visit(page, "Load")
    choose(page, "first")
    for words in ("Under load", "Resources", "Growth with size"):
        page.get_by_role("heading", name=words).wait_for(timeout=WAIT)
    told(page, "of questions within")
    told(page, "uses the most memory")
    told(page, "grows as rows^")
    drawn(page, 11)  # three under load, three of resources, five of growth
    page.get_by_text("Numbers").first.click()
    page.get_by_test_id("stExpander").first.get_by_test_id("stDataFrame").wait_for(timeout=WAIT)
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.slow
def test_a_run_in_another_process_is_followed_to_its_end(page: Any, runs: Path, tmp_path: Path) -> None:
    """A real experiment: the page names it while it goes on, shows its stages, and knows when it is over."""
    documents = tmp_path / "docs"
    documents.mkdir()
    for number in range(1500):
        body = (
            f"# Topic {number}\n\nThe answer about topic {number} is {number * 7}, as page {number} says.\n"
            * 8
        )
        (documents / f"page-{number:04d}.md").write_text(body)
    (tmp_path / "queries.yaml").write_text(
        "queries:\n"
        + "".join(
            f"  - {{id: q{n}, text: what is the answer about topic {n}?, truth: {{documents: [page-{n:04d}.md]}}}}\n"
            for n in range(0, 1500, 5)
        )
    )
    (tmp_path / "bakeoff.yaml").write_text(
        "corpus: {folder: docs, include: ['*.md']}\nqueries: queries.yaml\nchunkers: [line, semantic]\n"
        "embedders: [wordllama]\nstores: [exact]\nmodes: [dense, bm25, hybrid]\nruns: 3\n"
    )
    out = runs / "live"
    environment = {**os.environ, "BAKEOFF_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "bakeoff", "run", str(tmp_path), "--out", str(out), "--quiet"]
    visit(page, "Monitor")
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as going:
        page.get_by_role("heading", name="live").wait_for(timeout=WAIT)
        stage = page.get_by_text(re.compile(r"^(read|chunk|embed|index|measure)\b")).first
        stage.wait_for(timeout=WAIT)
        assert going.wait(timeout=300) == 0, going.stderr and going.stderr.read()
    page.get_by_role("heading", name="live").wait_for(state="detached", timeout=WAIT)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Overview").click()
    choose(page, "live")
    told(page, "Hit" if "Hit" in (out / "run.json").read_text() else "nDCG")
    assert page.get_by_test_id("stException").count() == 0
