"""bakeoff scale: how build time, latency, memory and disk grow with the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.cli.options.vectors import (
    MetricName,
    VectorCommand,
    command_line,
    exit_code,
    metric_of,
)
from bakeoff.cli.options.workers import Truth, cache_for, workers_of
from bakeoff.errors import SettingError
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bakeoff.benchmark.results.scale_results import ScaleTable
    from bakeoff.benchmark.scale.document_sizes import DocumentScaleOutcome
    from bakeoff.benchmark.scale.measure_size import ScaleJob
    from bakeoff.benchmark.scale.measure_sizes import ScaleOutcome
    from bakeoff.benchmark.scale.session import ScaleOptions
    from bakeoff.benchmark.stores import StoreSpec
    from bakeoff.benchmark.vectors.datasets import VectorSet


What = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A file or folder of vectors, mnist, synthetic:20000x64[,clustered|uniform|ood], or an experiment "
        "(bakeoff.yaml): its documents are read, embedded, indexed and searched at every size.",
    ),
]
Stores = Annotated[
    str | None,
    typer.Option(
        "--stores",
        help="Comma-separated; faiss:build.index=ivf sets build parameters. [default: exact,faiss]",
    ),
]
Systems = Annotated[
    str | None,
    typer.Option("--systems", help="With an experiment: comma-separated words that occur in system labels."),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes", help="Comma-separated numbers of rows or documents. [default: powers of ten up to all]"
    ),
]
Depth = Annotated[int, typer.Option("--k", help="Neighbours per query.")]
Runs = Annotated[int, typer.Option("--runs", help="Builds and passes per size; stores take turns.")]
Target = Annotated[
    float | None, typer.Option("--target-recall", help="Tune every store at every size to this kNN@k.")
]
Concurrency = Annotated[
    str | None,
    typer.Option("--concurrency", help="Also measure with these numbers of client threads, e.g. 1,2,4."),
]
Filters = Annotated[
    str | None,
    typer.Option(
        "--filters", help="Also measure filters that match these shares of rows, e.g. 0.01,0.1,0.5."
    ),
]
InsertRate = Annotated[
    float | None,
    typer.Option(
        "--insert-while-search", help="Also measure while this number of rows per second is inserted."
    ),
]
SearchRate = Annotated[
    float | None,
    typer.Option("--rate", help="Searches per second during inserts, open loop. [default: closed loop]"),
]
Seconds = Annotated[
    float | None, typer.Option("--seconds", help="Seconds of searching during inserts. [default: 5]")
]
Queries = Annotated[
    int | None, typer.Option("--queries", help="Use only the first N queries of the dataset. [default: 500]")
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", help="Timeout of one search in seconds. [default: 60]")
]
Memory = Annotated[
    float | None,
    typer.Option(
        "--memory", help="Memory budget in GB; larger sizes are refused. [default: 80 % of free memory]"
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of synthetic vectors, row order and filters.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder for the results. [default: runs/scale-NAME-TIME]")
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(with_consent(scale))
    app.command()(page)


@with_json
def scale(
    dataset: What,
    stores: Stores = None,
    systems: Systems = None,
    sizes: Sizes = None,
    k: Depth = 10,
    runs: Runs = 3,
    target: Target = None,
    concurrency: Concurrency = None,
    filters: Filters = None,
    insert_rate: InsertRate = None,
    search_rate: SearchRate = None,
    seconds: Seconds = None,
    memory: Memory = None,
    metric: MetricName = None,
    queries: Queries = None,
    timeout: Timeout = None,
    seed: Seed = 7,
    out: Out = None,
    executor: Truth = None,
) -> None:
    """Measure how time, memory and disk grow with the data."""
    from bakeoff.benchmark.scale.session import ScaleOptions
    from bakeoff.benchmark.stores import parse_store_specs
    from bakeoff.benchmark.vectors.datasets import open_dataset

    counts = _DocumentSizes(_wholes("--sizes", sizes), k, runs, seed)
    command = VectorCommand(out, executor)
    given = {
        "--target-recall": target, "--concurrency": concurrency, "--filters": filters,
        "--insert-while-search": insert_rate, "--rate": search_rate, "--seconds": seconds, "--memory": memory,
        "--metric": metric, "--queries": queries, "--timeout": timeout,
    }  # fmt: skip
    if _is_experiment(dataset):
        _refuse_vector_options({"--stores": stores, **given, "--executor": executor})
        raise typer.Exit(_scale_documents(Path(dataset), systems, counts, command))
    if systems is not None:
        raise SettingError(f"--systems applies only to experiments; {dataset} is a vector dataset.")
    seconds, timeout = (5.0 if seconds is None else seconds), (60.0 if timeout is None else timeout)
    queries, stores = (500 if queries is None else queries), stores or "exact,faiss"
    chosen = parse_store_specs(stores.split(","))
    vectors = open_dataset(dataset, metric=metric_of(metric), queries=queries, seed=seed)
    all_options = {**given, "--seconds": seconds, "--queries": queries, "--timeout": timeout, "--seed": seed}
    options = ScaleOptions(
        sizes=counts.sizes or _default_sizes(vectors), k=k, runs=runs, target=target, seed=seed,
        threads=_wholes("--concurrency", concurrency), filters=_shares(filters),
        insert_rate=insert_rate, search_rate=search_rate, seconds=seconds, timeout=timeout,
        budget=None if memory is None else int(memory * 1e9),
        command=command_line(["scale", dataset, "--stores", stores],
                             {"--sizes": sizes, "--k": k, "--runs": runs, **all_options}),
    )  # fmt: skip
    raise typer.Exit(_measure_and_show(vectors, chosen, options, command))


def _default_sizes(vectors: VectorSet) -> tuple[int, ...]:
    from bakeoff.benchmark.scale.session import default_sizes

    return default_sizes(len(vectors.base))


def _measure_and_show(
    vectors: VectorSet, chosen: Sequence[StoreSpec], options: ScaleOptions, command: VectorCommand
) -> int:
    """Measure, write and print the scaling; return its exit code."""
    from bakeoff.benchmark.run_in_subprocess import run_isolated
    from bakeoff.benchmark.scale.measure_size import run_job
    from bakeoff.benchmark.scale.measure_sizes import measure_scale
    from bakeoff.report.pages.scale import write_scale_page

    with command.folder("scale", vectors) as folder:
        outcome = measure_scale(
            vectors,
            chosen,
            options,
            cache_for(command.executor),
            measure=lambda job: run_isolated(run_job, _with_server(job)),
            folder=folder,
            tell=console.print_progress,
            workers=workers_of(command.executor),
        )
        written = write_scale_page(folder)
    console.print_json(lambda: {**outcome.record(), "folder": folder})
    _show(outcome)
    console.print_line(str(written))
    return exit_code(outcome)


def _with_server(job: ScaleJob) -> ScaleJob:
    """The job with the processes and data folder of its store's server, if that was started here."""
    from bakeoff.benchmark.stores import parse_store_specs
    from bakeoff.runtime.servers.control import data_folder_of, pids_of

    (store,) = parse_store_specs([job.spec])
    pids = tuple(pids_of(store.name, store.params))
    return replace(job, pids=pids, server_data=data_folder_of(store.name, store.params))


def page(
    folder: Annotated[Path, typer.Argument(help="A result folder of `bakeoff ann` or `bakeoff scale`.")],
) -> None:
    """Rewrite the page of an `ann` or `scale` result."""
    from bakeoff.benchmark.results.records import kind_of
    from bakeoff.report.pages.ann import write_ann_page
    from bakeoff.report.pages.scale import write_scale_page

    write = write_scale_page if kind_of(folder) == "scale" else write_ann_page
    console.print_line(str(write(folder)))


def _wholes(name: str, text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part.replace("_", "")) for part in (text or "").split(",") if part.strip())
    except ValueError as exc:
        raise SettingError(f"{name} is {text!r}; write whole numbers, separated by commas.") from exc


def _shares(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in (text or "").split(",") if part.strip())
    except ValueError as exc:
        raise SettingError(
            f"--filters is {text!r}; write shares of rows, separated by commas: 0.01,0.1."
        ) from exc


def _show(outcome: ScaleOutcome) -> None:
    from bakeoff.benchmark.results.scale_results import (
        concurrency_rows,
        filter_rows,
        fit_rows,
        mixed_rows,
        size_rows,
    )

    data = outcome.dataset
    console.print_line(
        f"{data.name}: up to {outcome.options.sizes[-1]:,} of {len(data.base):,} vectors of {data.dims} dimensions by "
        f"{data.metric.value}, {count(len(data.queries), 'query', 'queries')}, {count(outcome.options.runs, 'run')}, "
        "each in a separate process"
    )
    _print_tables(
        {
            "Medians of the runs": size_rows(outcome.rows),
            "Growth: figure ~ rows^exponent [95 % interval over sizes × runs]": fit_rows(outcome.fits()),
            "Client threads": concurrency_rows(outcome.rows),
            "Under filters": filter_rows(outcome.rows),
            "Insert while search": mixed_rows(outcome.rows),
        },
        outcome.failed,
    )


@dataclass(frozen=True, slots=True)
class _DocumentSizes:
    """Numbers of documents, results per query, repeats and the seed of the document order."""

    sizes: tuple[int, ...]
    k: int
    runs: int
    seed: int


def _is_experiment(text: str) -> bool:
    """Whether an argument names an experiment file or the folder that holds one."""
    path = Path(text)
    return path.suffix in (".yaml", ".yml") or (path / "bakeoff.yaml").is_file()


def _refuse_vector_options(options: Mapping[str, object]) -> None:
    """Raise SettingError if an experiment got an option of vector datasets."""
    for name, value in options.items():
        if value is not None:
            raise SettingError(f"{name} applies only to vector datasets; leave it out for an experiment.")


def _scale_documents(path: Path, systems: str | None, counts: _DocumentSizes, command: VectorCommand) -> int:
    """Measure, write and print the scaling; the exit code is 0 if everything was measured."""
    from bakeoff.benchmark.configurations.trial import Servers
    from bakeoff.benchmark.scale.document_sizes import DocumentScaleOptions, measure_document_scale
    from bakeoff.config import experiment
    from bakeoff.report.pages.scale import write_scale_page
    from bakeoff.runs.live.plan_of_run import choose_systems
    from bakeoff.runtime.servers.control import data_folder_of, pids_of

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
    _print_documents(outcome)
    console.print_line(str(written))
    return exit_code(outcome)


def _print_documents(outcome: DocumentScaleOutcome) -> None:
    from bakeoff.benchmark.results.scale_results import document_rows, fit_rows

    options = outcome.options
    console.print_line(
        f"{outcome.plan.name}: up to {options.sizes[-1]:,} of {count(outcome.documents, 'document')}, "
        f"{count(outcome.queries, 'query', 'queries')}, {count(options.runs, 'run')}, "
        "each from an empty cache in separate processes"
    )
    _print_tables(
        {
            "Medians of the runs": document_rows(outcome.rows),
            "Growth: figure ~ documents^exponent [95 % interval over sizes × runs]": fit_rows(outcome.fits()),
        },
        outcome.failed,
    )


def _print_tables(tables: Mapping[str, ScaleTable], failed: Mapping[str, str]) -> None:
    """Print the tables that have rows, with their notes, and what failed."""
    for title, table in tables.items():
        if table.rows:
            console.print_line()
            console.print_line(title, style="bold")
            console.table(list(table.headers), [list(row) for row in table.rows], right=table.right)
            for note in table.notes:
                console.print_line(f"– {note}", style="dim")
    for label, why in failed.items():
        console.warn(f"{label}: {why}")
