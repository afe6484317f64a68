"""A preset's export files, with the run's report if the source system writes one."""

from __future__ import annotations

from functools import partial

from bakeoff.presets import export
from bakeoff.report.build import build_report
from bakeoff.report.render.markdown import text
from bakeoff.runs.analysis import Result


def _report_text(result: Result) -> str:
    return text(build_report(result))


export_run = partial(export.export_run, report_text=_report_text)
