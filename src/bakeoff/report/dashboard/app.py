"""The script that Streamlit runs: one navigation entry per page."""

from __future__ import annotations

import streamlit as st

from bakeoff.errors import BakeoffError
from bakeoff.report.dashboard import pages
from bakeoff.report.dashboard.frames import literal

PAGES = (
    ("Overview", pages.overview),
    ("Compare", pages.compare),
    ("Questions", pages.queries),
    ("Load", pages.load),
    ("Review", pages.review),
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
