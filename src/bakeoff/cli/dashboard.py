"""bakeoff dashboard: browse runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli import console
from bakeoff.errors import DataError, MissingExtraError


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(dashboard)


def dashboard(
    folder: Annotated[Path, typer.Argument(help="The folder that holds the runs, or one run.")] = Path(
        "runs"
    ),
    port: Annotated[int, typer.Option("--port", min=1024, max=65535, help="Port on this machine.")] = 8501,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Browse runs: comparison, questions, load, review, history."""
    from importlib.util import find_spec

    from bakeoff.runtime.page_access import PARAMETER, new_token

    if find_spec("streamlit") is None or find_spec("streamlit.starlette") is None:
        raise MissingExtraError("dashboard needs a newer streamlit: pip install -U 'bakeoff[dashboard]'")
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Give the folder that holds the runs.")
    script = Path(__file__).parents[1] / "report" / "dashboard" / "served.py"
    command = [sys.executable, "-m", "bakeoff.report.dashboard", "run", str(script), "--server.address", "127.0.0.1",
               "--server.port", str(port), "--server.headless", "true",
               "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none",
               "--client.toolbarMode", "minimal", "--theme.light.primaryColor", "#1f6f8b",
               "--theme.dark.primaryColor", "#5fb3ce",
               "--server.enableXsrfProtection", "true", "--client.showErrorDetails", "none"]  # fmt: skip
    token = new_token()
    address = f"http://127.0.0.1:{port}/?{PARAMETER}={token}"
    console.print_line(f"Dashboard of {folder}, in a few seconds at {address}   Ctrl-C stops it")
    environment = {
        **os.environ,
        "BAKEOFF_DASHBOARD_RUNS": str(folder.resolve()),
        "BAKEOFF_DASHBOARD_TOKEN": token,
        **({"BAKEOFF_DASHBOARD_OPEN": address} if browser else {}),
    }
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.execve(sys.executable, command, environment)  # noqa: S606 - replaces this process, so signals reach it directly
