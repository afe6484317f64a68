"""What the commands that work on vectors share: their options, where results go, and how numbers are shown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.benchmark.ann.compare_stores import AnnOutcome
    from bakeoff.benchmark.scale.document_sizes import DocumentScaled
    from bakeoff.benchmark.scale.measure_sizes import ScaleOutcome
    from bakeoff.benchmark.vectors.datasets import VectorSet
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


@dataclass(frozen=True, slots=True)
class VectorCommand:
    """Where a measurement's results go, who computes its exact truth, and whether a script reads what is said."""

    out: Path | None
    executor: str | None
    as_json: bool

    def folder(self, command: str, vectors: VectorSet) -> Path:
        """The folder of a command's results on a dataset, after what is to be known of that was said."""
        from bakeoff.cli import console

        for note in vectors.notes:
            console.warn(note)
        return self.named_folder(command, vectors.name)

    def named_folder(self, command: str, what: str) -> Path:
        """The folder of a command's results: the one asked for, or a new one with the name of what is measured."""
        name = "".join(letter if letter.isalnum() else "-" for letter in what.lower()).strip("-")
        return self.out or Path("runs") / f"{command}-{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"

    def tell(self, text: str) -> None:
        """Say what goes on, on standard error."""
        from bakeoff.cli import console

        if not self.as_json:
            console.err.print(text, style="dim", markup=False)


def exit_code(outcome: AnnOutcome | ScaleOutcome | DocumentScaled) -> int:
    """Whether a measurement is whole: 130 after Ctrl-C, 1 where a store failed."""
    from bakeoff.cli import console

    return console.STOPPED if outcome.stopped else 1 if outcome.failed else 0


def number(value: float | None, digits: int) -> str:
    """A figure, or a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"
