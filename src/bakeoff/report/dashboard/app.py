"""The script that Streamlit runs: one navigation entry per page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bakeoff.errors import BakeoffError
from bakeoff.report.dashboard import folder, pages
from bakeoff.report.dashboard.frames import literal
from bakeoff.runs.analysis import Result


def of_run(show: Callable[[Result], None]) -> Callable[[], None]:
    """A page of the run chosen in the sidebar."""

    def page() -> None:
        result = folder.chosen()
        if result is not None:
            show(result)

    return page


PAGES = (
    ("Overview", of_run(pages.overview)),
    ("Compare", of_run(pages.compare)),
    ("Questions", of_run(pages.queries)),
    ("Load", of_run(pages.load)),
    ("Review", of_run(pages.review)),
    ("Monitor", pages.monitor),
    ("History", pages.history),
)

st.set_page_config(page_title="bakeoff", page_icon="⚖️", layout="wide")
page = st.navigation(
    [st.Page(show, title=title, url_path=title.lower(), default=title == "Overview") for title, show in PAGES]
)
try:
    page.run()
except BakeoffError as exc:
    st.error(literal(str(exc)))
