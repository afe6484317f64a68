"""bakeoff evaluate, explain: measures alone, as one would use trec_eval."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add these commands."""
