"""bakeoff scale: how build time, latency, memory and disk of stores grow with the corpus."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.vectors import (
    Dataset,
    Json,
    MetricName,
    Queries,
    Timeout,
    command_line,
    metric_of,
    slug,
)

if TYPE_CHECKING:
    from bakeoff.load.scale import Scaled


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(scale)
    app.command()(page)


def scale(
    dataset: Dataset,
    stores: Annotated[
        str, typer.Option(help="Stores, by comma; faiss:build.index=ivf sets build parameters.")
    ] = "exact,faiss",
    sizes: Annotated[
        str | None, typer.Option(help="Rows, by comma. [default: powers of ten up to the dataset's size]")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Neighbours asked for.")] = 10,
    runs: Annotated[
        int, typer.Option(help="Builds and passes of each size, taken in turns by the stores.")
    ] = 3,
    target: Annotated[
        float | None, typer.Option("--target-recall", help="Tune every store at every size to this kNN@k.")
    ] = None,
    concurrency: Annotated[
        str | None, typer.Option(help="Also with so many client threads, by comma: 1,2,4.")
    ] = None,
    filters: Annotated[
        str | None,
        typer.Option(help="Also under filters that let these shares of rows through: 0.01,0.1,0.5."),
    ] = None,
    insert_rate: Annotated[
        float | None,
        typer.Option("--insert-while-search", help="Also while so many rows a second are inserted."),
    ] = None,
    search_rate: Annotated[
        float | None,
        typer.Option(
            "--rate", help="Searches a second beside the inserts, open loop. [default: closed loop]"
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Of searching beside the inserts.")] = 5.0,
    memory: Annotated[
        float | None,
        typer.Option(help="Budget in GB; sizes beyond it are refused. [default: 80 % of what is free]"),
    ] = None,
    metric: MetricName = None,
    queries: Queries = 500,
    timeout: Timeout = 60.0,
    seed: Annotated[int, typer.Option(help="Of synthetic vectors, the order of rows and the filters.")] = 7,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of results. [default: runs/scale-NAME-TIME]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure stores on corpora of growing size: curves with a fitted exponent for time, latency, memory, disk."""
    from bakeoff.cache import Cache
    from bakeoff.cli import console
    from bakeoff.load.apart import apart
    from bakeoff.load.datasets import open_dataset
    from bakeoff.load.scale import ScaleOptions, default_sizes, measure_scale, scale_record
    from bakeoff.load.scale_cell import run_job
    from bakeoff.load.settings import candidates
    from bakeoff.report.scale_page import write_scale_page
    from bakeoff.weights import home

    chosen = candidates(stores.split(","))
    wanted = _wholes("--sizes", sizes)
    vectors = open_dataset(dataset, metric=metric_of(metric), queries=queries, seed=seed)
    repeat = command_line(
        ["scale", dataset, "--stores", stores],
        {"--sizes": sizes, "--k": k, "--runs": runs, "--target-recall": target, "--concurrency": concurrency,
         "--filters": filters, "--insert-while-search": insert_rate, "--rate": search_rate, "--seconds": seconds,
         "--memory": memory, "--metric": metric, "--queries": queries, "--timeout": timeout, "--seed": seed},
    )  # fmt: skip
    options = ScaleOptions(
        wanted or default_sizes(len(vectors.base)), k, runs, _wholes("--concurrency", concurrency),
        _shares(filters), insert_rate, search_rate, seconds, target,
        None if memory is None else int(memory * 1e9), timeout, seed, repeat,
    )  # fmt: skip
    for note in vectors.notes:
        console.warn(note)
    folder = out or Path("runs") / f"scale-{slug(vectors.name)}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    outcome = measure_scale(
        vectors,
        chosen,
        options,
        Cache(home() / "cache"),
        measure=lambda job: apart(run_job, job),
        folder=folder,
        tell=(lambda _: None)
        if as_json
        else (lambda text: console.err.print(text, style="dim", markup=False)),
    )
    written = write_scale_page(folder)
    if as_json:
        console.say_json({**scale_record(outcome), "folder": str(folder)})
    else:
        _show(outcome)
        console.say(str(written))
    if outcome.stopped:
        raise typer.Exit(130)
    if outcome.failed:
        raise typer.Exit(1)


def page(
    folder: Annotated[Path, typer.Argument(help="A folder of `bakeoff ann` or `bakeoff scale`.")],
) -> None:
    """Write the page of a stored `ann` or `scale` measurement again."""
    from bakeoff.cli import console
    from bakeoff.report.ann_data import kind_of
    from bakeoff.report.ann_page import write_ann_page
    from bakeoff.report.scale_page import write_scale_page

    write = write_scale_page if kind_of(folder) == "scale" else write_ann_page
    console.say(str(write(folder)))


def _wholes(name: str, text: str | None) -> tuple[int, ...]:
    from bakeoff.errors import SettingError

    try:
        return tuple(int(part.replace("_", "")) for part in (text or "").split(",") if part.strip())
    except ValueError as exc:
        raise SettingError(f"{name} is {text!r}; write whole numbers, by comma.") from exc


def _shares(text: str | None) -> tuple[float, ...]:
    from bakeoff.errors import SettingError

    try:
        return tuple(float(part) for part in (text or "").split(",") if part.strip())
    except ValueError as exc:
        raise SettingError(f"--filters is {text!r}; write shares of rows, by comma: 0.01,0.1.") from exc


def _show(outcome: Scaled) -> None:
    from bakeoff.cli import console
    from bakeoff.load.scale_tables import concurrency_rows, filter_rows, fit_rows, mixed_rows, size_rows

    data = outcome.dataset
    console.say(
        f"{data.name}: up to {outcome.options.sizes[-1]:,} of {len(data.base):,} vectors of {data.dims} dimensions by "
        f"{data.metric.value}, {len(data.queries):,} queries, {outcome.options.runs} runs, each in its own process"
    )
    for title, found in (
        ("Medians of the runs", size_rows(outcome.rows)),
        ("Growth: figure ~ rows^exponent [95 % interval over sizes × runs]", fit_rows(outcome.fits())),
        ("Client threads", concurrency_rows(outcome.rows)),
        ("Under filters", filter_rows(outcome.rows)),
        ("Insert while search", mixed_rows(outcome.rows)),
    ):
        if found.rows:
            console.say()
            console.say(title, style="bold")
            console.table(list(found.headers), [list(row) for row in found.rows], right=found.right)
            for note in found.notes:
                console.say(f"– {note}", style="dim")
    for label, why in outcome.failed.items():
        console.warn(f"{label}: {why}")
