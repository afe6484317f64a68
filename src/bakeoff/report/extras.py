"""What was measured of a run besides its queries and belongs in its report: load, resources, growth."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.analysis import Result
from bakeoff.decision_matrix import decision_matrix, is_lineage
from bakeoff.errors import ComparisonError
from bakeoff.report.depths import depths_section
from bakeoff.report.exports.lineage_text import formula
from bakeoff.report.resources import resources_section
from bakeoff.report.scaling import scaling_sections
from bakeoff.report.sections import Grid, Section
from bakeoff.report.underload import load_section


def extras(result: Result, systems: Sequence[str]) -> tuple[Section, ...]:
    """Depths, load, resources and growth: what was measured of a run beyond its own queries, for the systems shown."""
    found = (
        _decision(result),
        depths_section(result, systems),
        load_section(result, systems),
        resources_section(result, systems),
        *scaling_sections(result),
    )
    return tuple(section for section in found if section is not None)


def _decision(result: Result) -> Section | None:
    """The current system against its candidates, where the experiment names it and its preset has such a matrix."""
    try:
        matrix = decision_matrix(result) if is_lineage(result) else None
    except ComparisonError:
        return None  # the preset's line says why
    if matrix is None:
        return None
    return Section(
        "decision", "Decision matrix", matrix.finding, (Grid(matrix.headings, matrix.rows),), (formula(),)
    )
