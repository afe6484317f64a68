"""The stored results of `bakeoff ann`, as its page shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.benchmark.results.records import environment_of, read_record, reading
from bakeoff.protocols import Guarantee
from bakeoff.types import Json


@dataclass(frozen=True, slots=True)
class StoredFigure:
    """A stored figure with its spread across runs, or null with the reason."""

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRow:
    """One store: its place in the table, its build costs, and whether it reaches the target."""

    place: int
    system: str
    build_s: float
    index_mb: float | None
    index_is: str
    memory: StoredFigure
    setting: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """One store at one setting; `chosen` is the setting that was tuned to the target recall."""

    store: StoreRow
    setting: str
    runs: int
    queries: int
    recall: StoredFigure
    r100: float | None
    precision: float | None
    mrr: float | None
    short: int
    qps: StoredFigure
    qps_derived: float | None
    latencies: tuple[StoredFigure, ...]
    harness_over_limit: bool
    errors: int
    timeouts: int
    chosen: bool

    @property
    def label(self) -> str:
        """Store and setting."""
        return f"{self.store.system} {self.setting}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnData:
    """A stored comparison of stores on vectors."""

    name: str
    verdict: str
    status: str
    stopped: str
    facts: tuple[tuple[str, str], ...]
    summary: str
    k: int
    threads: int
    target: float | None
    command: str
    harness_us: float | None
    notes: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    unreached: tuple[tuple[str, str], ...]
    points: tuple[PointRow, ...]
    environment: tuple[tuple[str, str], ...]
    comparisons: tuple[Mapping[str, Json], ...]


def read_ann(folder: Path) -> AnnData:
    """The comparison of a folder."""
    record = read_record(folder, "ann")
    with reading(folder):
        return _data(record)


def _data(record: Mapping[str, Json]) -> AnnData:
    data, options = record["dataset"], record["options"]
    k, threads = options["k"], options["threads"]
    stores = _stores(record, threads)
    return AnnData(
        name=data["name"],
        verdict=record["verdict"],
        status=record["status"],
        stopped=record["stopped"],
        facts=tuple((name, str(value)) for name, value in data.items() if name != "notes"),
        summary=f"{data['vectors']:,} vectors of {data['dims']} dimensions by {data['metric']}, "
        f"{data['queries']:,} queries, {options['runs']} runs, stores taking turns",
        k=k,
        threads=threads,
        target=options["target"],
        command=options.get("command", ""),
        harness_us=record["harness_us"].get("1"),
        notes=(*data["notes"], *_guarantees(record)),
        failed=tuple(record["failed"].items()),
        unreached=tuple(record["unreached"].items()),
        points=tuple(_point(point, stores[point["system"]], k, threads) for point in record["points"]),
        environment=environment_of(record),
        comparisons=tuple(pair for pair in record["comparisons"] if "ratio" in pair),  # earlier: differences
    )


def _guarantees(record: Mapping[str, Json]) -> Iterator[str]:
    """Each store's consistency settings; missing in records of version 0.1."""
    for store in record["stores"]:
        guarantees = [Guarantee(**one).text for one in store.get("guarantees", [])]
        if guarantees:
            yield f"{store['system']}: {'; '.join(guarantees)}"


def spread(stored: Mapping[str, Json] | None) -> StoredFigure:
    """A figure across runs: median and quartiles."""
    if stored is None:
        return StoredFigure(None, note="not measured")
    across = stored["across_runs"]
    low, high = across["iqr"] or (None, None)
    return StoredFigure(across["median"], low, high, across["note"])


def _stores(record: Mapping[str, Json], threads: int) -> dict[str, StoreRow]:
    """The stores by name, ranked by speed: at the target if there is one, else by the fastest setting."""
    fastest: dict[str, float] = {}
    for point in record["points"]:
        system, qps = point["system"], spread(point["qps_measured"].get(str(threads))).value or 0.0
        if _is_chosen(record, system, point["setting"]):
            fastest[system] = max(fastest.get(system, 0.0), qps)
    reasons = {**record["unreached"], **record["failed"]}
    names = sorted(
        record["stores"], key=lambda one: (one["system"] in reasons, -fastest.get(one["system"], 0))
    )
    return {
        one["system"]: StoreRow(
            place=place,
            system=one["system"],
            build_s=one["build_time_s"],
            index_mb=one["index_mb"],
            index_is=one["index_is"],
            memory=StoredFigure(one["memory"]["mb"], note=one["memory"]["note"]),
            setting=_tuned_setting(one, record["points"]),
            reason=reasons.get(one["system"], ""),
        )
        for place, one in enumerate(names, start=1)
    }


def _is_chosen(record: Mapping[str, Json], system: str, setting: str) -> bool:
    if record["options"]["target"] is None:
        return True
    store = {one["system"]: one for one in record["stores"]}[system]
    return setting == _tuned_setting(store, record["points"])


def _tuned_setting(store: Mapping[str, Json], points: Sequence[Mapping[str, Json]]) -> str:
    """The setting that tuning chose, or '' without tuning."""
    if not store["tuned"]:
        return ""
    value = store["tuned"]["value"]
    ending = "default" if value is None else f"={value}"
    settings = [point["setting"] for point in points if point["system"] == store["system"]]
    return next(
        (one for one in settings if one == ending or (value is not None and one.endswith(ending))), ""
    )


def _point(stored: Mapping[str, Json], store: StoreRow, k: int, threads: int) -> PointRow:
    latency = stored["latency_across_queries"]
    return PointRow(
        store=store,
        setting=stored["setting"],
        runs=stored["runs"],
        queries=stored["queries"],
        recall=spread(stored[f"kNN@{k}"]),
        r100=stored[f"R100@{k}"],
        precision=stored[f"P@{k}"],
        mrr=stored[f"MRR@{k}"],
        short=stored["short_answers"],
        qps=spread(stored["qps_measured"].get(str(threads))),
        qps_derived=spread(stored["qps_serial_derived"]).value,
        latencies=tuple(
            StoredFigure(latency[name]["value"], note=latency[name]["note"])
            for name in ("p50_ms", "p90_ms", "p95_ms", "p99_ms")
        ),
        harness_over_limit=stored["harness_over_limit"],
        errors=stored["errors"],
        timeouts=stored["timeouts"],
        chosen=bool(store.setting) and stored["setting"] == store.setting,
    )
