"""A one-page brief for decision makers: the recommendation, the systems, one figure; HTML, Markdown and PDF."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bakeoff.errors import MissingExtraError
from bakeoff.report.build import Report, build_report
from bakeoff.report.render import number_text as say
from bakeoff.report.render.html import render_page
from bakeoff.report.sections.systems import SystemRow, SystemsTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.markdown_tables import bullets, escape_markdown, table
from bakeoff.storage.cache import write_file

FORMATS = ("html", "md", "pdf")
SHOWN = 8
"""The number of systems that fit on the page."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 60


def write_brief(result: Result, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write the page in the requested formats and return the paths."""
    report = build_report(result)
    page = brief_page(report)
    texts = {"html": page, "md": brief_text(report)}
    paths = []
    for kind in formats:
        target = folder / f"brief.{kind}"
        content = _pdf(page) if kind == "pdf" else texts[kind].encode("utf-8", "replace")
        write_file(target, content)
        paths.append(target)
    return paths


def usual_formats() -> list[str]:
    """All formats, except PDF if no browser can print it."""
    return list(FORMATS if _browser() else FORMATS[:2])


def brief_page(report: Report) -> str:
    """The page; every text from outside is escaped."""
    return render_page(
        "brief.html.j2",
        ("style.css", "brief.css"),
        report=report,
        headings=headings(report.systems),
        rows=[(row, cells(report.systems, row)) for row in _rows_shown(report.systems)],
        hidden=_hidden(report.systems),
    )


def brief_text(report: Report) -> str:
    """The page in Markdown."""
    head, systems = report.headline, report.systems
    lines = [f"# {escape_markdown(head.question)}", "", escape_markdown(head.summary), ""]
    lines += [f"> **{escape_markdown(head.banner)}**", ""] if head.banner else []
    lines += [f"**{escape_markdown(head.sentence)}**", ""]
    lines += bullets([f"{label}: {text}" for label, text in head.lines])
    rows = [[row.letter, row.system, *cells(systems, row)] for row in _rows_shown(systems)]
    lines += table(["", "system", *headings(systems)], rows, left=2) if rows else []
    hidden = _hidden(systems)
    lines += [f"{say.count(hidden, 'more system')} in the report.", ""] if hidden else []
    return "\n".join(lines).rstrip("\n") + "\n"


def headings(systems: SystemsTable) -> list[str]:
    """The columns: quality, tokens if they were counted, latency, size."""
    tokens = ["tokens per question"] if _tokens(systems) is not None else []
    return [systems.measures[0].label, *tokens, "p50", "index"]


def cells(systems: SystemsTable, row: SystemRow) -> list[str]:
    """A system's values under the headings."""
    place, mean = _tokens(systems), row.primary
    quality = f"{say.score(mean.value)} {say.interval(mean.interval.low, mean.interval.high)}".strip()
    tokens = [say.whole(row.means[place].value)] if place is not None else []
    return [quality, *tokens, say.milliseconds(row.p50_ms), say.size(row.index_bytes)]


def _tokens(systems: SystemsTable) -> int | None:
    return next((place for place, note in enumerate(systems.measures) if not note.quality), None)


def _rows_shown(systems: SystemsTable) -> list[SystemRow]:
    """The best systems, and always the recommended one."""
    return [row for row in systems.rows if row.place <= SHOWN or row.chosen]


def _hidden(systems: SystemsTable) -> int:
    return systems.hidden + len(systems.rows) - len(_rows_shown(systems))


def _browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def _pdf(page: str) -> bytes:
    """The page as a browser prints it."""
    browser = _browser()
    if browser is None:
        raise MissingExtraError(
            f"a PDF needs a browser: install chromium, or leave pdf out (looked for {', '.join(BROWSERS)})."
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "brief.html"), Path(folder, "brief.pdf")
        source.write_text(page, encoding="utf-8", errors="replace")
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)  # noqa: S603 - our own arguments
            return target.read_bytes()
        except (subprocess.SubprocessError, OSError) as exc:
            raise MissingExtraError(
                f"{browser} did not print the PDF ({exc}). Print brief.html from a browser, or leave pdf out."
            ) from exc
