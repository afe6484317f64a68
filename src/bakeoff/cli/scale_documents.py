"""bakeoff scale on the documents of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.cli import console
from bakeoff.cli.options.vectors import VectorCommand, command_line, exit_code
from bakeoff.errors import SettingError
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    from bakeoff.benchmark.results.scale_results import ScaleTable
    from bakeoff.benchmark.scale.document_sizes import DocumentScaleOutcome


@dataclass(frozen=True, slots=True)
class DocumentSizes:
    """Numbers of documents, results per query, repeats and the seed of the document order."""

    sizes: tuple[int, ...]
    k: int
    runs: int
    seed: int


def is_experiment(text: str) -> bool:
    """Whether an argument names an experiment file or the folder that holds one."""
    path = Path(text)
    return path.suffix in (".yaml", ".yml") or (path / "bakeoff.yaml").is_file()


def refuse_vector_options(given: Mapping[str, object]) -> None:
    """Raise SettingError if an experiment got an option of vector datasets."""
    for name, value in given.items():
        if value is not None:
            raise SettingError(f"{name} applies only to vector datasets; leave it out for an experiment.")


def scale_documents(path: Path, systems: str | None, counts: DocumentSizes, command: VectorCommand) -> int:
    """Measure, write and print the scaling; the exit code is 0 if everything was measured."""
    from bakeoff.benchmark.scale.document_sizes import DocumentScaleOptions, Servers, measure_document_scale
    from bakeoff.config import experiment
    from bakeoff.report.pages.scale import write_scale_page
    from bakeoff.runs.live.plan_of_run import choose_systems
    from bakeoff.servers.control import data_folder_of, pids_of

    plan = experiment.load(path)
    repeat = command_line(
        ["scale", str(path)],
        {"--sizes": ",".join(map(str, counts.sizes)) or None, "--systems": systems, "--k": counts.k,
         "--runs": counts.runs, "--seed": counts.seed},
    )  # fmt: skip
    with command.named_folder("scale", plan.name) as folder:
        outcome = measure_document_scale(
            plan, choose_systems(plan, systems),
            DocumentScaleOptions(counts.sizes, counts.k, counts.runs, counts.seed, repeat),
            Servers(pids_of, data_folder_of), folder=folder, tell=console.print_progress,
        )  # fmt: skip
        written = write_scale_page(folder)
    console.print_json(lambda: {**outcome.record(), "folder": folder})
    _show(outcome)
    console.print_line(str(written))
    return exit_code(outcome)


def _show(outcome: DocumentScaleOutcome) -> None:
    from bakeoff.benchmark.results.scale_results import document_rows, fit_rows

    options = outcome.options
    console.print_line(
        f"{outcome.plan.name}: up to {options.sizes[-1]:,} of {count(outcome.documents, 'document')}, "
        f"{count(outcome.queries, 'query', 'queries')}, {count(options.runs, 'run')}, "
        "each from an empty cache in separate processes"
    )
    print_tables(
        {
            "Medians of the runs": document_rows(outcome.rows),
            "Growth: figure ~ documents^exponent [95 % interval over sizes × runs]": fit_rows(outcome.fits()),
        },
        outcome.failed,
    )


def print_tables(tables: Mapping[str, ScaleTable], failed: Mapping[str, str]) -> None:
    """Print the tables that have rows, with their notes, and what failed."""
    for title, found in tables.items():
        if found.rows:
            console.print_line()
            console.print_line(title, style="bold")
            console.table(list(found.headers), [list(row) for row in found.rows], right=found.right)
            for note in found.notes:
                console.print_line(f"– {note}", style="dim")
    for label, why in failed.items():
        console.warn(f"{label}: {why}")
