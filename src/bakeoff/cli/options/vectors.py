"""Options, result folders and number formats that the vector commands share."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.errors import SettingError

if TYPE_CHECKING:
    from bakeoff.benchmark.session import Session
    from bakeoff.benchmark.vectors.datasets import VectorSet
    from bakeoff.types import Metric

Dataset = Annotated[
    str,
    typer.Argument(help="A file or folder of vectors, mnist, or synthetic:20000x64[,clustered|uniform|ood]."),
]
MetricName = Annotated[str | None, typer.Option("--metric", help="cosine, dot or l2. [default: the file's]")]
Queries = Annotated[int | None, typer.Option("--queries", help="Use only the first N queries.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Timeout of one search in seconds.")]


def metric_of(name: str | None) -> Metric | None:
    """The metric of an option, checked."""
    from bakeoff.types import Metric

    if name is None:
        return None
    if name not in list(Metric):
        raise SettingError(f"--metric is {name!r}; it must be cosine, dot or l2.")
    return Metric(name)


def command_line(words: list[str], options: Mapping[str, object]) -> str:
    """The command line that repeats a measurement, without options that are not set."""
    for name, value in options.items():
        if value is True:
            words = [*words, name]
        elif value is not None and value is not False:
            words = [*words, name, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(["bakeoff", *words])


@dataclass(frozen=True, slots=True)
class VectorCommand:
    """The result folder, and the executor of the exact neighbours."""

    out: Path | None
    executor: str | None

    def folder(self, command: str, vectors: VectorSet) -> AbstractContextManager[Path]:
        """The result folder for a dataset; prints the dataset's notes first."""
        for note in vectors.notes:
            console.warn(note)
        return self.named_folder(command, vectors.name)

    def named_folder(self, command: str, what: str) -> AbstractContextManager[Path]:
        """The result folder: --out, or a new one named after what is measured."""
        from bakeoff.storage.dated_folder import result_folder

        name = "".join(letter if letter.isalnum() else "-" for letter in what.lower()).strip("-")
        return result_folder(self.out, Path("runs"), f"{command}-{name}")


def exit_code(outcome: Session) -> int:
    """130 after Ctrl-C, 1 if a store failed, else 0."""
    return console.STOPPED if outcome.stopped else 1 if outcome.failed else 0
