"""Writes a run's report in the requested formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bakeoff.errors import MissingExtraError
from bakeoff.report.build import Report, build_report
from bakeoff.report.sections.parts import ReportSection
from bakeoff.runs.analysis import Result
from bakeoff.storage.cache import write_file

FIGURES = ("svg", "png", "pdf")


def write(
    result: Result, folder: Path, formats: Sequence[str], more: tuple[ReportSection, ...] = ()
) -> list[Path]:
    """Write the files, with `more` sections, and return their paths in the order of the formats."""
    report = build_report(result)
    report = replace(report, extras=(*more, *report.extras))
    paths = [path for kind in formats if kind not in FIGURES for path in _pages(report, folder, kind)]
    drawn = [kind for kind in formats if kind in FIGURES]
    return [*paths, *(_figures(report, folder, drawn) if drawn else [])]


def _pages(report: Report, folder: Path, kind: str) -> list[Path]:
    from bakeoff.report.render import html, latex, markdown

    texts = {
        "html": lambda: {"report.html": html.page(report)},
        "md": lambda: {"report.md": markdown.text(report)},
        "latex": lambda: latex.files(report),
    }[kind]()
    for name, text in texts.items():
        write_file(folder / name, text.encode("utf-8", "replace"))
    return [folder / name for name in texts]


def _figures(report: Report, folder: Path, kinds: list[str]) -> list[Path]:
    try:
        from bakeoff.report.render.mpl_figures import write_figures
    except ModuleNotFoundError as exc:
        raise MissingExtraError("figures need matplotlib: pip install 'bakeoff[figures]'") from exc
    return write_figures(report, folder, kinds)
