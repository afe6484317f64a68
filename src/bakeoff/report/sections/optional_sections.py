"""Optional sections of a run's report: load, resources, growth."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.errors import ComparisonError
from bakeoff.pipeline.placement import RUN, THRESHOLD
from bakeoff.presets.lineage.decision_matrix import decision_matrix, is_lineage
from bakeoff.presets.lineage.export_text import formula
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.depths import depths_section
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.report.sections.resources import resources_section
from bakeoff.report.sections.scaling import scaling_sections
from bakeoff.report.sections.under_load import load_section
from bakeoff.report.sections.vector_forms import vector_forms_section
from bakeoff.runs.analysis import Result
from bakeoff.runs.placements import placement_row, placement_sentences


def collect_optional_sections(result: Result, systems: Sequence[str]) -> tuple[ReportSection, ...]:
    """Depths, load, resources and growth, for the systems shown."""
    sections = (
        _decision(result),
        _placements(result, systems),
        vector_forms_section(result),
        depths_section(result, systems),
        load_section(result, systems),
        resources_section(result, systems),
        *scaling_sections(result),
    )
    return tuple(section for section in sections if section is not None)


def _placements(result: Result, systems: Sequence[str]) -> ReportSection | None:
    """How the results of retrievers were placed in the corpus."""
    placements = [placement for placement in result.record.placements if placement.system in systems]
    if not placements:
        return None
    headings = ("retriever", *placement_row(placements[0]), "score", "at most")
    rows = [
        (one.system, *map(say.whole, placement_row(one).values()), say.score(one.mean), say.score(one.high))
        for one in placements
    ]
    lost = sum(one.outside for one in placements)
    return ReportSection(
        "placements",
        "Where the retrievers' results are in the corpus",
        " ".join(placement_sentences(placements, result.record.primary)) or "Every result was placed.",
        (TextTable(headings, tuple(rows)),),
        (PLACED, *([BOUND] if lost else [])),
    )


PLACED = (
    "A result with an id and characters is used as given. Text is searched for verbatim, then ignoring blanks, "
    f"case and HTML markup, then by overlap: a document must contain {THRESHOLD:.0%} of its runs of {RUN} words."
)
BOUND = "The score counts unplaced results as wrong; “at most” is the score if all of them were right."


def _decision(result: Result) -> ReportSection | None:
    """The current system against its candidates, if the experiment names it and its preset has such a matrix."""
    try:
        matrix = decision_matrix(result) if is_lineage(result) else None
    except ComparisonError:
        return None  # the preset's line explains it
    if matrix is None:
        return None
    return ReportSection(
        "decision",
        "Decision matrix",
        matrix.finding,
        (TextTable(matrix.headings, matrix.rows),),
        (formula(),),
    )
