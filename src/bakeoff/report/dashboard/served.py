"""What `streamlit run` serves: the dashboard's script, behind the guard."""

from __future__ import annotations

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from bakeoff.report.dashboard.guard import Guard

app = App(Path(__file__).with_name("app.py"), middleware=[Middleware(Guard)])
