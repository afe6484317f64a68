"""What was measured beside a run and belongs into its report: load, resources, growth, and people's review."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.analysis import Result
from bakeoff.report.resources import resources_section
from bakeoff.report.reviewed import review_section
from bakeoff.report.scaling import scaling_sections
from bakeoff.report.sections import Section
from bakeoff.report.underload import load_section


def extras(result: Result, systems: Sequence[str]) -> tuple[Section, ...]:
    """The sections there is data for; `systems` are those the report shows."""
    review = review_section(result)
    return (*beside(result, systems), *([review] if review is not None else []))


def beside(result: Result, systems: Sequence[str]) -> tuple[Section, ...]:
    """Speed, resources and growth: what was measured of a run beyond its own queries."""
    found = (load_section(result, systems), resources_section(result, systems), *scaling_sections(result))
    return tuple(section for section in found if section is not None)
