"""What was measured of a run besides its queries and belongs in its report: load, resources, growth."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.errors import ComparisonError
from bakeoff.presets.lineage.decision_matrix import decision_matrix, is_lineage
from bakeoff.presets.lineage.export_text import formula
from bakeoff.report.sections.depths import depths_section
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.report.sections.resources import resources_section
from bakeoff.report.sections.scaling import scaling_sections
from bakeoff.report.sections.under_load import load_section
from bakeoff.runs.analysis import Result


def collect_optional_sections(result: Result, systems: Sequence[str]) -> tuple[ReportSection, ...]:
    """Depths, load, resources and growth: what was measured of a run beyond its own queries, for the systems shown."""
    found = (
        _decision(result),
        depths_section(result, systems),
        load_section(result, systems),
        resources_section(result, systems),
        *scaling_sections(result),
    )
    return tuple(section for section in found if section is not None)


def _decision(result: Result) -> ReportSection | None:
    """The current system against its candidates, where the experiment names it and its preset has such a matrix."""
    try:
        matrix = decision_matrix(result) if is_lineage(result) else None
    except ComparisonError:
        return None  # the preset's line says why
    if matrix is None:
        return None
    return ReportSection(
        "decision",
        "Decision matrix",
        matrix.finding,
        (TextTable(matrix.headings, matrix.rows),),
        (formula(),),
    )
