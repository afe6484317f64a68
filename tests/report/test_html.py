"""The HTML file: whole, self-contained, the same every time, and safe whatever the corpus says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bakeoff.errors import DataError
from bakeoff.report.render.html import write_html
from bakeoff.runs.analysis import Result, open_run

Make = Callable[..., Result]
HOSTILE = "</pre><img src=x onerror=alert(1)><script>alert('owned')</script> & \"quoted\" 'single' {{ 7*7 }} {% raw %}"
VOID = {"meta", "link", "br", "wbr", "img", "hr", "input"}


class Reader(HTMLParser):
    """Tags in order, text by tag, and whether every tag that opens also closes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    return reader


def test_it_is_written_into_the_runs_folder_by_default(make_run: Make, tmp_path: Path) -> None:
    result = make_run(systems=3)
    assert write_html(result) == result.path / "report.html"
    assert (
        write_html(result, tmp_path / "other.html").read_bytes() == (result.path / "report.html").read_bytes()
    )


def test_it_needs_nothing_from_outside(make_run: Make) -> None:
    page = read(write_html(make_run(systems=3)))
    for tag, attributes in page.tags:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        for name in ("src", "href", "action", "data", "srcset"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)


def test_all_sections_and_figures_are_there_and_every_figure_has_its_numbers(make_run: Make) -> None:
    path = write_html(make_run(systems=8))
    page = read(path)
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert {
        "systems",
        "pairs",
        "cost",
        "groups",
        "ranks",
        "loss",
        "queries",
        "times",
        "truth",
        "how",
        "excluded",
    } <= ids
    figures = re.findall(r"<figure>.*?</figure>", path.read_text(encoding="utf-8"), re.S)
    assert len(figures) >= 8
    for figure in figures:
        assert "<h3>" in figure
        assert "<table" in figure


def test_links_inside_the_page_lead_somewhere(make_run: Make) -> None:
    page = read(write_html(make_run(systems=4)))
    ids = {attributes["id"] for _, attributes in page.tags if attributes.get("id")}
    assert {a["href"] for tag, a in page.tags if tag == "a"} <= {f"#{name}" for name in ids}


def test_eight_systems_and_fifty_queries_are_quick_and_small(make_run: Make) -> None:
    result = make_run(systems=8)
    write_html(result)  # pays the imports
    begun = time.process_time()
    path = write_html(open_run(result.path))
    assert time.process_time() - begun < 60  # a guard against quadratic work; about 1 s alone
    assert path.stat().st_size < 1_000_000


def test_text_from_outside_is_never_markup(make_run: Make) -> None:
    labels = (f"{HOSTILE} · a", "emoji 🦆 · \u202e b", "<b>c</b> & d")
    result = make_run(labels=labels, passage=HOSTILE * 3, text=HOSTILE + " {number}")
    path = write_html(result)
    page = read(path)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert HOSTILE in page.text
    assert "🦆" in page.text
    assert "{{ 7*7 }}" in page.text


def test_only_its_own_script_may_run(make_run: Make) -> None:
    text = write_html(make_run(systems=2)).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1] or "default-src 'none'" in policy[1]
    assert "unsafe-eval" not in policy[1]
    assert "sha256-" in policy[1]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"systems": 1}, "semantic · minilm · hybrid has the highest mean"),
        ({"systems": 2, "failed": 2}, "No system finished: 2 of 2 systems failed."),
        ({"systems": 4, "failed": 1}, "connection refused by 127.0.0.1:6333"),
        ({"systems": 3, "nulls": 45}, "No system has a score of nDCG@10(document)"),
        ({"systems": 3, "nulls": 44}, "n 1, 49 excluded"),
        ({"systems": 2, "queries": 3, "negatives": 0, "repeats": 1}, "n 3, 0 excluded"),
        ({"systems": 3, "negatives": 0}, "No question is excluded from any mean"),
        ({"systems": 3, "limits": (("p95_ms", 0.0001),)}, "limit p95_ms"),
        ({"systems": 3, "alike": True}, "Pairs of systems"),
    ],
)
def test_unusual_runs_are_reported_too(make_run: Make, fields: dict[str, object], said: str) -> None:
    result = make_run(**fields)
    page = read(write_html(result))
    assert said in page.text
    assert not result.done or result.verdict.sentence in page.text
    assert "nan" not in page.text.lower().replace("nano", "")
    assert "None" not in page.text


def test_a_failed_system_is_in_no_other_table(make_run: Make) -> None:
    result = make_run(systems=3, failed=1)
    failed = next(iter(result.failed))
    text = write_html(result).read_text(encoding="utf-8")
    systems = text[text.index('id="systems-table"') : text.index('id="failed"')]
    assert failed not in systems


@pytest.mark.parametrize(
    "name", ["scores", "systems", "queries", "timings", "rankings", "passages", "latencies", "losses"]
)
def test_a_truncated_table_is_an_error_that_names_the_file(make_run: Make, name: str) -> None:
    result = make_run(systems=3)
    path = result.path / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=rf"{name}\.parquet"):
        write_html(open_run(result.path))


@pytest.mark.parametrize("name", ["scores", "rankings"])
def test_a_missing_table_is_an_error_that_names_the_file(make_run: Make, name: str) -> None:
    result = make_run(systems=2)
    (result.path / f"{name}.parquet").unlink()
    with pytest.raises(DataError, match=rf"{name}\.parquet is missing"):
        write_html(open_run(result.path))


def test_lone_surrogates_do_not_stop_it(make_run: Make) -> None:
    result = make_run(systems=2)
    broken = result.record.model_copy(update={"notes": ["a note with \udcff inside"]})
    object.__setattr__(result, "record", broken)
    assert "a note with ? inside" in write_html(result).read_text(encoding="utf-8")
