"""F55: a file that was not read took its judgments with it, and every mean rose."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bakeoff.report.build import build_report
from bakeoff.report.render.html import write_html
from bakeoff.report.render.latex import files as latex_files
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import open_run

BROKEN = "guide/report-b.pdf"
GLOB = "  - {id: all, text: what do the reports of the guide say, truth: {documents: ['guide/*-*']}}\n"
NAMED = "  - {id: one, text: what is in the second report, truth: {documents: [report-b.pdf, billing.md]}}\n"
SPAN = "  - {id: part, text: how does the report begin, truth: {lines: [{document: report-b.pdf, from: 1, to: 1}]}}\n"
EMPTY = "  - {id: blank, text: what does the blank note hold, truth: {documents: [blank.md, billing.md]}}\n"


@pytest.fixture
def left_out(small: Path) -> Path:
    """An experiment whose folder holds a readable report, a broken one, an image and an empty note."""
    folder = Path("corpus/guide")
    (folder / "report-a.md").write_text("# Report\n\nSales of bicycles grew in spring.\n")
    (folder / "report-b.pdf").write_bytes(b"%PDF-1.4 cut off")
    (folder / "report-c.png").write_bytes(b"\x89PNG")
    (folder / "blank.md").write_bytes(b" \n")
    return small


def add(*lines: str) -> None:
    path = Path("queries.yaml")
    path.write_text(path.read_text(encoding="utf-8") + "".join(lines), encoding="utf-8")


def unread(cli: Any) -> list[tuple[str, str]]:
    """Level and query of the findings about unread files."""
    done = cli("validate", "--quiet", "--json")
    found = json.loads(done.out)["findings"]
    rows = [one for one in found if one["code"] == "unread"]
    return [(one["level"], one["where"].rpartition("query ")[2]) for one in rows]


@pytest.mark.parametrize(
    ("line", "query", "file", "reason"),
    [
        (GLOB, "all", BROKEN, "damaged PDF"),
        pytest.param(NAMED, "one", BROKEN, "damaged PDF", marks=pytest.mark.slow),
        pytest.param(SPAN, "part", BROKEN, "damaged PDF", marks=pytest.mark.slow),
        (EMPTY, "blank", "guide/blank.md", "empty"),
    ],
)
def test_f55_truth_that_names_an_unread_file_stops_validate_and_run(
    left_out: Path, cli: Any, line: str, query: str, file: str, reason: str
) -> None:
    add(line)
    assert unread(cli) == [("error", query)]
    for command in (("validate", "--quiet"), ("run", "--quiet", "--out", "run")):
        done = cli(*command)
        text = " ".join((done.out + done.err).split())
        assert done.code == 2
        assert f"query {query}" in text and f"{file} ({reason}" in text and "allow: [unread]" in text
    assert not Path("run/scores.parquet").exists()


def test_f55_a_pattern_does_not_mean_images_or_empty_files(left_out: Path, cli: Any) -> None:
    Path(f"corpus/{BROKEN}").unlink()
    add(GLOB, GLOB.replace("*-*", "b*").replace("id: all", "id: b").replace("reports", "other notes"))
    assert unread(cli) == []


def test_f55_an_exact_name_means_no_other_file(left_out: Path, cli: Any) -> None:
    """A document that was read under this very name is what the truth means."""
    Path("corpus/report-b.pdf.md").write_text("# Another\n\nNo report at all.\n")
    add("  - {id: x, text: which other note is there, truth: {documents: [report-b.pdf.md]}}\n")
    assert unread(cli) == []


def test_f55_means_without_the_file_are_marked_everywhere(left_out: Path, cli: Any) -> None:
    add(GLOB, SPAN)
    left_out.write_text(left_out.read_text() + "allow: [unread]\n")
    assert unread(cli) == [("warning", "all"), ("warning", "part"), ("warning", "part")]
    done = cli("run", "--quiet", "--out", "run")
    assert done.code == 0 and re.search(r"\.\d{3}\*", done.out)
    result = open_run(Path("run"))
    assert [(one.query_id, one.file) for one in result.record.unread_truth] == [
        ("all", BROKEN),
        ("part", BROKEN),
    ]
    assert result.incomplete(result.record.primary) == ("all", "part")
    sources = {row["query_id"]: row["source"] for row in result.scores.to_pylist()}
    assert sources["all"] == "documents (incomplete)" and sources["refund"] == "documents"
    reasons = {one.query_id: one.reason for one in result.record.excluded}
    assert "its truth" in reasons["part"] and "all" not in reasons
    page = write_markdown(result).read_text(encoding="utf-8")
    html = write_html(result).read_text(encoding="utf-8")
    for text in (page, html):
        assert re.search(r"\d{3}\\?\* ", text) and "2 with unread truth" in text
    assert "*" in latex_files(build_report(result))["systems.tex"]
    done = cli("run", "--quiet", "--json", "--out", "run")
    measures = json.loads(done.out)["systems"][0]["measures"]
    assert {one["incomplete_truth"] for one in measures.values()} == {2}


def test_f55_comparisons_and_exports_say_it_too(left_out: Path, cli: Any) -> None:
    add(GLOB)
    text = left_out.read_text().replace("modes: [dense]", "modes: [dense, bm25]")
    left_out.write_text(text + "allow: [unread]\n")
    assert cli("run", "--quiet", "--out", "run").code == 0
    done = cli("compare", "run", "dense", "bm25", "--json")
    assert json.loads(done.out)["incomplete_truth"] == 1
    assert re.search(r"\.\d{4}\*", cli("compare", "run", "dense", "bm25").out)
    done = cli("export", "run", "--preset", "lineage", "--out", "files", "--json")
    assert any("unread_truth" in note for note in json.loads(done.out)["notes"])


def test_f55_whole_truth_is_not_marked(left_out: Path, cli: Any) -> None:
    done = cli("run", "--quiet", "--out", "run")
    assert done.code == 0 and not re.search(r"\.\d{3}\*", done.out)
    result = open_run(Path("run"))
    assert result.record.unread_truth == [] and result.incomplete(result.record.primary) == ()
    assert "unread truth" not in write_markdown(result).read_text(encoding="utf-8")


def test_f55_a_resumed_run_knows_that_the_file_is_there_again(left_out: Path, cli: Any) -> None:
    add(GLOB)
    left_out.write_text(left_out.read_text() + "allow: [unread]\n")
    assert cli("run", "--quiet", "--out", "run").code == 0
    Path(f"corpus/{BROKEN}").unlink()
    assert cli("run", "--quiet", "--out", "run").code == 0
    sources = set(open_run(Path("run")).scores["source"].to_pylist())
    assert not any("incomplete" in source for source in sources)
