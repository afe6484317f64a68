"""The options for whose judgments count and where a run's review is."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console

if TYPE_CHECKING:
    from bakeoff.review.reviewed_run import ComparableRuns


class TruthChoice(StrEnum):
    """Whose judgments count."""

    REVIEWED = "reviewed"
    RULES = "rules"


Truth = Annotated[
    TruthChoice,
    typer.Option(
        "--truth",
        help="reviewed: human judgments where a review is complete. rules: judgments by rules only.",
    ),
]
Review = Annotated[
    Path | None,
    typer.Option("--review", metavar="FOLDER", help="The run's review. [default: reviews/NAME]"),
]
Reviews = Annotated[
    list[Path] | None,
    typer.Option(
        "--review", metavar="FOLDER", help="A run's review, if it is not in reviews/NAME. Repeatable."
    ),
]
AllowMixed = Annotated[
    bool, typer.Option("--allow-mixed", help="Compare even if the scoring conventions differ.")
]


def comparable_runs(
    folders: list[Path], reviews: list[Path] | None, truth: TruthChoice, *, trust: bool = False
) -> ComparableRuns:
    """Several runs, each question judged the same way in all of them."""
    from bakeoff.review.reviewed_run import open_runs, same_truth

    return same_truth(open_runs(folders, trust=trust, reviews=reviews or (), truth=truth.value))


def print_truth(sentence: str) -> None:
    """Print whose judgments a comparison used."""
    console.print_line(f"{'Truth':<9}{sentence}", style="dim")
