"""What was measured of a run besides its queries and belongs in its report: load, resources, growth."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.analysis import Result
from bakeoff.report.depths import depths_section
from bakeoff.report.resources import resources_section
from bakeoff.report.scaling import scaling_sections
from bakeoff.report.sections import Section
from bakeoff.report.underload import load_section


def extras(result: Result, systems: Sequence[str]) -> tuple[Section, ...]:
    """Depths, load, resources and growth: what was measured of a run beyond its own queries, for the systems shown."""
    found = (
        depths_section(result, systems),
        load_section(result, systems),
        resources_section(result, systems),
        *scaling_sections(result),
    )
    return tuple(section for section in found if section is not None)
