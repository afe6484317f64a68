"""A result → one self-contained HTML file."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from bakeoff.pipeline.timing import UNKNOWN
from bakeoff.report.build import Report, build_report
from bakeoff.report.render import charts_svg, figures, number_text
from bakeoff.report.sections import findings
from bakeoff.report.sections.cost_quality import trade_chart
from bakeoff.report.sections.costs import PROMISES, STATISTICS, STEPS
from bakeoff.report.sections.pairs import lead, lead_chart
from bakeoff.report.sections.percentiles import HOW
from bakeoff.runs.analysis import Result
from bakeoff.runs.stored_times import SPEED, START, StoredTime, earlier_phases
from bakeoff.runtime.count_text import keep_together
from bakeoff.storage.cache import write_file

if TYPE_CHECKING:
    import jinja2


def write_html(result: Result, path: Path | None = None) -> Path:
    """Write the report, by default as report.html in the run's folder, and return its path."""
    target = path or result.path / "report.html"
    write_file(target, page(build_report(result)).encode("utf-8", "replace"))
    return target


def page(report: Report) -> str:
    """The report's page."""
    return render_page(
        "report.html.j2",
        report=report,
        scale=figures.strip_scale(report.systems.rows),
        statistics=[name.removesuffix("_ms") for name in STATISTICS],
        steps=_present_steps(report),
        spread=any(row.across_runs for row in report.latencies),
        promises=PROMISES if any(row.guarantees for row in report.latencies) else "",
        how_timed=HOW,
        latency_notes=_notes(time for row in report.latencies for time in row.statistics),
        earlier_phases=earlier_phases(report.phases, report.phase_rows),
        phase_notes=_notes(time for row in report.phase_rows for time in row.phases),
        start=START,
        speed=SPEED if any(row.speed.value is not None for row in report.phase_rows) else "",
        speed_notes=list(dict.fromkeys(row.speed.note for row in report.phase_rows if row.speed.value)),
        silent=sum(hit.hits == 0 for hit in report.background.rules),
    )


def render_page(template: str, styles: Sequence[str] = ("style.css", "planes.css"), **values: object) -> str:
    """A whole page from its template, with its style and script inside; every text from outside is escaped."""
    environment = templates()
    assert environment.loader is not None
    script = environment.loader.get_source(environment, "script.js")[0]
    style = "".join(environment.get_template(name).render() for name in styles)
    return environment.get_template(template).render(
        style=Markup(style),  # noqa: S704 - our own files, without values
        script=Markup(script),  # noqa: S704 - our own file, without values
        script_hash=source_hash(script),
        **values,
    )


@functools.cache
def templates() -> jinja2.Environment:
    """The page templates; all values are escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bakeoff.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["keep_together"] = keep_together
    environment.globals.update(say=number_text, find=findings, draw=figures, chart=charts_svg, shade=_shade)
    environment.globals.update(lead=lead, lead_chart=lead_chart, trade_chart=trade_chart)
    return environment


def _present_steps(report: Report) -> list[tuple[int, str]]:
    """The steps that occur in any system, each with its position."""
    return [
        (i, step) for i, step in enumerate(STEPS) if any(row.steps[i] is not None for row in report.latencies)
    ]


def _shade(value: float) -> str:
    """How dark a cell is: 0 to 1, in coarse steps."""
    return f"{min(1.0, max(0.0, value)):.2f}"


def source_hash(script: str) -> str:
    """The hash by which the page's content policy allows only its own script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _notes(times: Iterable[StoredTime]) -> list[str]:
    """The distinct reasons for missing times; the table itself shows which phases are unknown."""
    notes = [time.note for time in times if time.value is None and time.note]
    return list(dict.fromkeys(UNKNOWN if note.endswith(UNKNOWN) else note for note in notes))
