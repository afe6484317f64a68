"""bakeoff ann: stores on vectors, by recall and speed. bakeoff load: one store under threads or at a rate."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bakeoff.load.ann import Outcome
    from bakeoff.load.sweep import Point
    from bakeoff.types import Metric

Dataset = Annotated[
    str, typer.Argument(help="A file or folder of vectors, or synthetic:20000x64[,clustered|uniform|ood].")
]
MetricName = Annotated[str | None, typer.Option("--metric", help="cosine, dot or l2. [default: the file's]")]
Queries = Annotated[int | None, typer.Option("--queries", help="Use only the first so many queries.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds one search may take.")]
Json = Annotated[bool, typer.Option("--json", help="For scripts.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(ann)
    app.command()(load)


def ann(
    dataset: Dataset,
    stores: Annotated[
        str,
        typer.Option(help="Stores, by comma; faiss:build.index=ivf;build.lists=64 sets build parameters."),
    ] = "exact,faiss",
    k: Annotated[int, typer.Option("--k", help="Neighbours asked for.")] = 10,
    runs: Annotated[int, typer.Option(help="Passes over the queries, taken in turns by the stores.")] = 3,
    target: Annotated[
        float | None,
        typer.Option("--target-recall", help="Tune every store to this kNN@k, compare speeds there."),
    ] = None,
    threads: Annotated[int, typer.Option(help="Also measure with so many client threads.")] = 1,
    metric: MetricName = None,
    queries: Queries = None,
    timeout: Timeout = 60.0,
    seed: Annotated[int, typer.Option(help="Of synthetic vectors and of the split for tuning.")] = 7,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of results. [default: runs/ann-NAME-TIME]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare stores on vectors: recall against exact neighbours, latency, queries a second, build time."""
    from bakeoff.cache import Cache
    from bakeoff.cli import console
    from bakeoff.load.ann import Options, compare_stores
    from bakeoff.load.datasets import open_dataset
    from bakeoff.load.record import save, to_dict
    from bakeoff.load.settings import candidates
    from bakeoff.weights import home

    options = Options(k=k, runs=runs, threads=threads, target=target, timeout=timeout, seed=seed)
    chosen = candidates(stores.split(","))
    vectors = open_dataset(dataset, metric=_metric(metric), queries=queries, seed=seed)
    for note in vectors.notes:
        console.warn(note)
    folder = out or Path("runs") / f"ann-{_slug(vectors.name)}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    tell = (lambda _: None) if as_json else (lambda text: console.err.print(text, style="dim", markup=False))
    outcome = compare_stores(
        vectors,
        chosen,
        options,
        Cache(home() / "cache"),
        save=lambda known, one: save(folder, known, one),
        tell=tell,
    )
    if as_json:
        console.say_json({**to_dict(outcome), "folder": str(folder)})
    else:
        _show(outcome, folder)
    if outcome.stopped:
        raise typer.Exit(130)
    if outcome.failed:
        raise typer.Exit(1)


def load(
    dataset: Dataset,
    store: Annotated[
        str, typer.Option(help="The store; faiss:build.index=ivf sets build parameters.")
    ] = "faiss",
    value: Annotated[int | None, typer.Option("--setting", help="ef or probes of the search.")] = None,
    threads: Annotated[
        str | None, typer.Option(help="Closed loop with so many threads, by comma: 1,2,4.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Open loop at so many queries a second.")] = None,
    find_max_rate: Annotated[
        bool, typer.Option("--find-max-rate", help="The highest rate that keeps --slo.")
    ] = False,
    slo: Annotated[str, typer.Option(help="What --find-max-rate keeps.")] = "p99<50ms",
    seconds: Annotated[float, typer.Option(help="Of each open loop.")] = 5.0,
    workers: Annotated[int, typer.Option(help="Client threads of an open loop.")] = 16,
    arrivals: Annotated[str, typer.Option(help="poisson or fixed.")] = "poisson",
    k: Annotated[int, typer.Option("--k", help="Neighbours asked for.")] = 10,
    metric: MetricName = None,
    queries: Queries = None,
    timeout: Timeout = 10.0,
    seed: Annotated[int, typer.Option(help="Of synthetic vectors and arrivals.")] = 7,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of results. [default: runs/load-NAME-TIME]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put one store under load: client threads in a closed loop, or arrivals at a rate in an open one."""
    from bakeoff.cli import console
    from bakeoff.load.datasets import open_dataset
    from bakeoff.load.pressure import Demand, press, write
    from bakeoff.load.settings import candidates

    demand = Demand.checked(
        threads, rate, slo if find_max_rate else None, seconds, workers, arrivals, k, timeout, seed
    )
    (chosen,) = candidates([store])
    vectors = open_dataset(dataset, metric=_metric(metric), queries=queries, seed=seed)
    for note in vectors.notes:
        console.warn(note)
    found = press(chosen, value, vectors, demand)
    folder = out or Path("runs") / f"load-{_slug(vectors.name)}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    record = write(folder, found, vectors, demand)
    if as_json:
        console.say_json({**record, "folder": str(folder)})
    else:
        headers = [
            "load",
            "sent",
            "answered",
            "QPS",
            "p50 ms",
            "p90",
            "p95",
            "p99",
            "sent late p99",
            "errors",
            "time-outs",
        ]
        console.table(headers, [row.cells() for row in found.rows], right=tuple(range(1, len(headers))))
        for note in dict.fromkeys(note for row in found.rows for note in row.notes):
            console.say(f"– {note}", style="dim")
        console.say(found.sentence(), style="bold")
        console.say(f"{folder}/record.json")
    if found.stopped:
        raise typer.Exit(130 if found.stopped.startswith("stopped by") else 1)


def _metric(name: str | None) -> Metric | None:
    from bakeoff.errors import SettingError
    from bakeoff.types import Metric

    if name is None:
        return None
    if name not in list(Metric):
        raise SettingError(f"--metric is {name!r}; it must be cosine, dot or l2.")
    return Metric(name)


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-")


def _show(outcome: Outcome, folder: Path) -> None:
    from bakeoff.cli import console
    from bakeoff.load.verdict import verdict

    data, harness = outcome.dataset, outcome.harness.get(1)
    console.say(
        f"{data.name}: {len(data.base):,} vectors of {data.dims} dimensions by {data.metric.value}, "
        f"{len(data.queries):,} queries, {outcome.options.runs} runs, stores taking turns"
    )
    if harness is not None:
        console.say(f"The loop itself costs {harness * 1e6:.2f} µs a query (null store).")
    _points_table(outcome)
    _builds_table(outcome)
    for label, why in {**outcome.unreached, **outcome.failed}.items():
        console.warn(f"{label}: {why}")
    console.say(verdict(outcome), style="bold")
    console.say(f"{folder}/record.json")


def _points_table(outcome: Outcome) -> None:
    """Recall and speed of each point, as two tables that fit a terminal."""
    from bakeoff.cli import console

    k, threads, found = outcome.options.k, outcome.options.threads, outcome.points()
    if not found:
        return
    recall = ["", "store", "setting", f"kNN@{k}", f"R100@{k} (of {min(1.0, k / 100):g})", f"P@{k}", "MRR"]
    flags = outcome.on_front()
    rows = [_recall_row(point, flag) for point, flag in zip(found, flags, strict=True)]
    console.table(recall, rows, right=(3, 4, 5, 6))
    console.say("● on the front of recall and speed", style="dim")
    console.say()
    speed = ["store", "setting", "p50 ms", "p90", "p95", "p99", "QPS 1/mean", "QPS ×1", "IQR"]
    speed += [f"QPS ×{threads}"] if threads > 1 else []
    console.table(speed, [_speed_row(point, threads) for point in found], right=tuple(range(2, len(speed))))
    if any(point.marked for point in found):
        console.warn("! the harness is more than 5 % of that figure: the store is faster than it looks")
    for note in dict.fromkeys(row.note for point in found for row in point.latencies if row.note):
        console.say(f"– {note}", style="dim")


def _recall_row(point: Point, on_front: bool) -> list[str]:
    found = point.quality
    values = (point.knn.median, found.r100, found.precision, found.mrr)
    return ["●" if on_front else "", point.system, point.setting, *(_number(value, 4) for value in values)]


def _speed_row(point: Point, threads: int) -> list[str]:
    spread = dict(point.qps_measured)
    one = spread[1]
    cells = [
        point.system,
        point.setting,
        *(_number(row.milliseconds, 3) for row in point.latencies if row.name != "mean_ms"),
        _number(point.qps_serial_derived.median, 0),
        _number(one.median, 0) + ("!" if point.marked else ""),
        "–" if one.q1 is None else f"{one.q1:,.0f}–{one.q3:,.0f}",
    ]
    return (
        cells if threads == 1 else [*cells, _number(spread[threads].median if threads in spread else None, 0)]
    )


def _builds_table(outcome: Outcome) -> None:
    from bakeoff.cli import console

    rows = [
        [
            built.candidate.label,
            f"{built.build_seconds:,.2f}",
            f"{built.insert_seconds:,.2f}",
            f"{built.index_seconds:,.2f}",
            f"{built.index_bytes / 1e6:,.1f}" + (" (in memory)" if built.in_memory else ""),
        ]
        for built in outcome.built
    ]
    if rows:
        console.say()
        console.table(["store", "build s", "insert s", "index s", "index MB"], rows, right=(1, 2, 3, 4))


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
