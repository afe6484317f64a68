"""What the commands that work on vectors share: their options, and how numbers are shown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.types import Metric

Dataset = Annotated[
    str,
    typer.Argument(help="A file or folder of vectors, mnist, or synthetic:20000x64[,clustered|uniform|ood]."),
]
MetricName = Annotated[str | None, typer.Option("--metric", help="cosine, dot or l2. [default: the file's]")]
Queries = Annotated[int | None, typer.Option("--queries", help="Use only the first so many queries.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds one search may take.")]
Json = Annotated[bool, typer.Option("--json", help="For scripts.")]


def metric_of(name: str | None) -> Metric | None:
    """The metric of an option, checked."""
    from bakeoff.errors import SettingError
    from bakeoff.types import Metric

    if name is None:
        return None
    if name not in list(Metric):
        raise SettingError(f"--metric is {name!r}; it must be cosine, dot or l2.")
    return Metric(name)


def command_line(words: list[str], options: Mapping[str, object]) -> str:
    """What to type to do it again; options that are not set are left out, and flags have no value."""
    for name, value in options.items():
        if value is True:
            words = [*words, name]
        elif value is not None and value is not False:
            words = [*words, name, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(["bakeoff", *words])


def slug(name: str) -> str:
    """A name for a folder."""
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-")


def number(value: float | None, digits: int) -> str:
    """A figure, or a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"
