"""bakeoff load: systems of a run or experiment, or stores on vectors, under load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.cli.options.vectors import MetricName, Queries, Timeout, metric_of

if TYPE_CHECKING:
    from bakeoff.benchmark.load.load_systems import LoadRequest
    from bakeoff.benchmark.load_spec import LoadSpec

What = Annotated[str, typer.Argument(help="A run's folder, an experiment, or a dataset of vectors.")]
Systems = Annotated[
    str | None, typer.Option(help="Comma-separated words that occur in system labels. [default: all]")
]
EndToEnd = Annotated[bool, typer.Option("--end-to-end", help="Include the embedding of each query.")]
ExperimentFile = Annotated[
    Path | None,
    typer.Option("--experiment", help="The run's experiment, if it is not found next to the run."),
]
ModelsFile = Annotated[
    Path | None,
    typer.Option(
        "--models",
        help="The models.toml of the run or experiment, if it is not found near it.",
    ),
]
Stores = Annotated[
    str | None,
    typer.Option("--stores", "--store", help="With a dataset: comma-separated stores. [default: faiss]"),
]
Setting = Annotated[
    int | None, typer.Option("--setting", help="With a dataset: the store's search parameter (ef, probes …).")
]
Concurrency = Annotated[
    str | None,
    typer.Option(
        "--concurrency",
        "--threads",
        help="Closed loop: numbers of concurrent clients, e.g. 1,2,4. [default: 1]",
    ),
]
ClientKind = Annotated[
    str,
    typer.Option(
        "--clients",
        help="threads, processes (one per thread), or the number of processes that share the load.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Where client processes run: ray, or '{ray: {address: HOST:6379}}'. [default: this machine]",
    ),
]
Rates = Annotated[
    str | None, typer.Option("--rates", "--rate", help="Open loop: queries per second, e.g. 100,200,400.")
]
FindMaxRate = Annotated[bool, typer.Option("--find-max-rate", help="Find the highest rate that meets --slo.")]
Promise = Annotated[str, typer.Option("--slo", help="The latency limit of --find-max-rate.")]
Runs = Annotated[int, typer.Option(help="Repeats of each load; systems take turns.")]
Seconds = Annotated[float, typer.Option(help="Seconds of one pass.")]
Workers = Annotated[int, typer.Option(help="Client threads of an open loop, in each process.")]
ArrivalKind = Annotated[str, typer.Option("--arrivals", help="poisson or fixed.")]
Depth = Annotated[
    int | None, typer.Option("--k", help="Results per query. [default: the experiment's depth, or 10]")
]
Seed = Annotated[int, typer.Option(help="Seed of synthetic vectors and arrivals.")]
Keep = Annotated[
    bool,
    typer.Option("--keep-collection", help="Do not remove the collections of a dataset from their servers."),
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder for the results. [default: RUN/load/TIME, or in runs/]")
]


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(with_consent(load))


@with_json
def load(
    what: What,
    systems: Systems = None,
    end_to_end: EndToEnd = False,
    experiment: ExperimentFile = None,
    models: ModelsFile = None,
    stores: Stores = None,
    setting: Setting = None,
    concurrency: Concurrency = None,
    clients: ClientKind = "threads",
    executor: Where = None,
    rates: Rates = None,
    find_max_rate: FindMaxRate = False,
    slo: Promise = "p99<50ms",
    runs: Runs = 3,
    seconds: Seconds = 5.0,
    workers: Workers = 16,
    arrivals: ArrivalKind = "poisson",
    k: Depth = None,
    metric: MetricName = None,
    queries: Queries = None,
    timeout: Timeout = 10.0,
    seed: Seed = 7,
    keep: Keep = False,
    out: Out = None,
) -> None:
    """Measure throughput and latency under load.

    N concurrent clients (closed loop) or a fixed arrival rate (open loop).
    """
    from bakeoff.benchmark.load.load_systems import LoadRequest

    demand = _demand(
        kinds=(concurrency, rates, slo if find_max_rate else None),
        clients=clients,
        runs=runs,
        seconds=seconds,
        workers=workers,
        arrivals=arrivals,
        timeout=timeout,
        seed=seed,
    )
    request = LoadRequest(
        what,
        demand,
        systems=systems,
        end_to_end=end_to_end,
        experiment=experiment,
        models=models,
        stores=stores,
        setting=setting,
        k=k,
        queries=queries,
        metric=metric_of(metric),
        out=out,
        executor=executor,
        keep=keep,
    )
    raise typer.Exit(_run_and_show(request))


def _demand(
    kinds: tuple[str | None, str | None, str | None],
    clients: str,
    runs: int,
    seconds: float,
    workers: int,
    arrivals: str,
    timeout: float,
    seed: int,
) -> LoadSpec:
    from bakeoff.benchmark.load_spec import LoadSpec, parse_clients, parse_loads

    kind, processes = parse_clients(clients)
    counts, rates, promise = parse_loads(*kinds, processes)
    return LoadSpec(
        concurrency=counts,
        rates=rates,
        slo=promise,
        clients=kind,
        runs=runs,
        seconds=seconds,
        workers=workers,
        arrivals=arrivals,  # type: ignore[arg-type] # LoadSpec checks it
        timeout=timeout,
        seed=seed,
        processes=processes,
    )


def _run_and_show(request: LoadRequest) -> int:
    """Run the load and print it. Exit code: 130 after Ctrl-C, 1 if a system failed."""
    from bakeoff.benchmark.load.load_systems import LoadDeps, run_load
    from bakeoff.benchmark.load.record import to_dict
    from bakeoff.cli.views.load import print_load
    from bakeoff.pipeline.context import StageContext
    from bakeoff.runtime.servers.control import pids_of
    from bakeoff.storage.cache import Cache
    from bakeoff.storage.weights import home_folder

    listening = console.listener()
    try:
        done = run_load(
            request,
            LoadDeps(
                StageContext(Cache(home_folder() / "cache"), listening),
                console.print_progress,
                console.warn,
                pids_of,
            ),
        )
    finally:
        console.finish(listening)
    console.print_json(lambda: {**to_dict(done.found, done.prices), "folder": done.folder})
    print_load(done)
    if done.found.stopped:
        return console.STOPPED
    return 1 if done.found.failed else 0
