"""bakeoff load: the systems of a run or experiment, or stores over vectors, under clients or at a rate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.vectors import Json, MetricName, Queries, Timeout, metric_of

if TYPE_CHECKING:
    from bakeoff.benchmark.load.load_spec import LoadSpec

What = Annotated[str, typer.Argument(help="A run's folder, an experiment, or a dataset of vectors.")]
Systems = Annotated[str | None, typer.Option(help="Only systems with these words, by comma. [default: all]")]
EndToEnd = Annotated[bool, typer.Option("--end-to-end", help="Embed each query when it is asked.")]
ExperimentFile = Annotated[
    Path | None, typer.Option("--experiment", help="The run's experiment, if not near it.")
]
Stores = Annotated[
    str | None, typer.Option("--stores", "--store", help="Stores over a dataset. [default: faiss]")
]
Setting = Annotated[
    int | None, typer.Option("--setting", help="The store's search knob (ef, probes …) on a dataset.")
]
Concurrency = Annotated[
    str | None,
    typer.Option("--concurrency", "--threads", help="Closed loop, so many clients: 1,2,4. [default: 1]"),
]
ClientKind = Annotated[
    str,
    typer.Option(
        "--clients", help="threads, processes (one a thread), or how many processes share the load."
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
    str | None, typer.Option("--rates", "--rate", help="Open loop, queries a second: 100,200,400.")
]
FindMaxRate = Annotated[bool, typer.Option("--find-max-rate", help="The highest rate that keeps --slo.")]
Promise = Annotated[str, typer.Option("--slo", help="What --find-max-rate keeps.")]
Runs = Annotated[int, typer.Option(help="Times everything is repeated, systems taking turns.")]
Seconds = Annotated[float, typer.Option(help="How long one pass lasts.")]
Workers = Annotated[int, typer.Option(help="Client threads of an open loop, in each process.")]
ArrivalKind = Annotated[str, typer.Option("--arrivals", help="poisson or fixed.")]
Depth = Annotated[
    int | None, typer.Option("--k", help="Rows asked for. [default: the experiment's depth, or 10]")
]
Seed = Annotated[int, typer.Option(help="Of synthetic vectors and arrivals.")]
Keep = Annotated[
    bool,
    typer.Option("--keep-collection", help="Leave the collections filled from a dataset on their servers."),
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder of results. [default: RUN/load/TIME, or in runs/]")
]


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(with_consent(load))


def load(
    what: What,
    systems: Systems = None,
    end_to_end: EndToEnd = False,
    experiment: ExperimentFile = None,
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
    as_json: Json = False,
) -> None:
    """Measure speed under load: so many clients in a closed loop, or arrivals at a rate in an open one."""
    from bakeoff.benchmark.load.load_systems import LoadRequest

    kinds = (concurrency, rates, slo if find_max_rate else None)
    demand = _demand(kinds, clients, runs, seconds, workers, arrivals, timeout, seed)
    asked = LoadRequest(
        what, demand, systems, end_to_end, experiment, stores, setting, k, queries, metric_of(metric), out, executor,
        keep,
    )  # fmt: skip
    raise typer.Exit(_run_and_show(asked, as_json))


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
    from bakeoff.benchmark.load.load_spec import LoadSpec, parse_clients, parse_loads

    kind, processes = parse_clients(clients)
    counts, rates, promise = parse_loads(*kinds, processes)
    return LoadSpec(counts, rates, promise, kind, runs, seconds, workers, arrivals, timeout, seed, processes)  # type: ignore[arg-type] # Demand checks them


def _run_and_show(asked: object, as_json: bool) -> int:
    """Run it, show it, and say by the exit code whether it is whole: 130 after Ctrl-C, 1 where a system failed."""
    from bakeoff.benchmark.load.load_systems import LoadDeps, LoadRequest, run_load
    from bakeoff.benchmark.load.record import to_dict
    from bakeoff.cli import console
    from bakeoff.cli.views.load import say_load
    from bakeoff.pipeline.context import StageContext
    from bakeoff.servers.control import pids_of
    from bakeoff.storage.cache import Cache
    from bakeoff.storage.weights import home_folder

    assert isinstance(asked, LoadRequest)
    listening = console.listener(quiet=True) if as_json else console.listener()
    tell = (lambda _: None) if as_json else (lambda text: console.err.print(text, style="dim", markup=False))
    try:
        done = run_load(
            asked,
            LoadDeps(StageContext(Cache(home_folder() / "cache"), listening), tell, console.warn, pids_of),
        )
    finally:
        console.finish(listening)
    if as_json:
        console.say_json({**to_dict(done.found, done.prices), "folder": str(done.folder)})
    else:
        say_load(done)
    if done.found.stopped:
        return console.STOPPED
    return 1 if done.found.failed else 0
