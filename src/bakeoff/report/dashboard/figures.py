"""The report's figures on a Streamlit page, in the colours of its theme."""

from __future__ import annotations

import re

import streamlit as st
from markupsafe import Markup

from bakeoff.report.render.charts_svg import draw_plot
from bakeoff.report.render.html import templates
from bakeoff.report.sections.parts import Plot

SIZE = re.compile(r'viewBox="0 0 \d+ (\d+)"')
POLICY = (
    """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
)
"""No script runs in a figure, whatever the texts in it hold."""
LARGEST = 1.1
"""How far a figure grows beyond its own size, as its style allows."""


def show_plot(plot: Plot, label: str) -> None:
    """A chart, drawn as in the report."""
    show_drawing(draw_plot(plot, label))


def show_drawing(drawing: Markup) -> None:
    """An SVG of the report in a frame of its own, because Streamlit removes SVG from its pages."""
    style = templates().get_template("dashboard.css").render(theme=st.context.theme.type or "light")
    found = SIZE.search(drawing)
    height = int(found[1]) if found else 300
    st.iframe(f"{POLICY}<style>{style}</style>{drawing}", height=round(height * LARGEST) + 8)
