"""S3's files: one JSON per database with ingestion phases and a record per top_k (S3-7, S3-10, S3-12, S3-14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bakeoff.benchmark.results.configurations import Configurations, read_configurations
from bakeoff.benchmark.results.load_results import all_loads, load_weight, open_load
from bakeoff.benchmark.results.speeds import SpeedComparison
from bakeoff.errors import BakeoffError
from bakeoff.measures.preset_settings import read_preset_file
from bakeoff.presets.export_context import TOP, ExportContext, across_repeats
from bakeoff.presets.export_files import Files, Shape, file_name, json_bytes
from bakeoff.runs.analysis import Result
from bakeoff.stats.repeat_summary import RunSummary
from bakeoff.types import Json, TableRow

CUTS = read_preset_file("vectordb").top_k
COMPARISONS = "speed_comparisons.json"


class RunSpread(Shape, title="Spread"):
    """A figure over runs; `std` is the sample's (ddof = 1), null with one run; `iqr` is [q1, q3]."""

    median: float | None
    std: float | None
    iqr: tuple[float, float] | None = None


class VectordbResources(Shape, title="Resources"):
    """CPU and memory of the engine's process in a phase, medians over runs; null only with the reason in `note`."""

    avg_cpu_percent: float | None
    peak_cpu_percent: float | None
    avg_memory_mb: float | None
    peak_memory_mb: float | None
    note: str = ""


class IngestionRecord(Shape, title="Ingestion"):
    """Seconds of each phase, medians over runs that started from an empty cache; `across_runs` has their spread.

    Without such runs a phase whose output was in the cache has the time of the run that made it, dated in `notes`.
    """

    parsing_time_sec: float | None
    chunking_time_sec: float | None
    embedding_time_sec: float | None
    insertion_time_sec: float | None
    indexing_time_sec: float | None
    total_time_sec: float | None
    resources: VectordbResources | None
    documents_resources: VectordbResources | None = None
    """Resources of the process that read, chunked and embedded the documents."""
    memory_growth_mb: float | None = None
    """Growth of the engine's process while the index was built; null with the reason in the note."""
    memory_growth_note: str = ""
    across_runs: dict[str, RunSpread] | None = None
    notes: dict[str, str] | None = None
    """When earlier runs measured a phase, or why its time is null."""


class VectordbQueryResult(Shape, title="QueryResult"):
    """Figures of searches for `top_k` chunks, over independent runs.

    `avg_latency_ms` is the mean of the search in each run, without embedding the query; `queries_per_second` the median
    rate of one client. `precision_at_k` is divided by the distinct documents among these chunks, and `mrr` looks no
    further than they do. `knn_recall` is the share of the true nearest chunks that the index found.
    Where `measured_alone` is false, one search of the run's depth was cut to `top_k`, and latency is that of all.
    """

    top_k: int
    measured_alone: bool
    avg_latency_ms: RunSpread
    queries_per_second: float | None
    queries_per_second_across_runs: RunSpread | None = None
    avg_similarity: float | None
    recall_at_k: RunSpread
    precision_at_k: RunSpread
    mrr: float | None
    mrr_across_runs: RunSpread | None = None
    ndcg_at_k: RunSpread | None = None
    knn_recall: RunSpread | None = None
    resources: VectordbResources | None


class DatabaseResults(Shape):
    """One database; `measured` is when its first and last run were."""

    database: str | None
    system: str
    timestamp: str
    measured: tuple[str, str] | None = None
    runs: int
    measures: dict[str, str | None]
    ingestion: IngestionRecord
    query_results: list[VectordbQueryResult]


class PairOfSpeeds(Shape):
    """Two systems by queries per second over independent runs: Welch's test on logarithms, Holm-corrected per depth."""

    top_k: int
    a: str
    b: str
    ratio: float | None
    ratio_95: tuple[float, float] | None
    t: float | None
    df: float | None
    p: float | None
    p_holm: float | None
    note: str


class SpeedComparisons(Shape):
    """All pairs at every depth."""

    measure: str = "queries_per_second"
    test: str = "Welch's t-test on logarithms, Holm over all pairs of a depth"
    pairs: list[PairOfSpeeds]


def export_vectordb(material: ExportContext) -> Files:
    """One JSON file per system, and a comparison of speeds if configurations were repeated."""
    found = read_configurations(material.result)
    contents: dict[str, bytes] = {}
    shapes: dict[str, type[Shape]] = {}
    for row in material.systems:
        name = f"{_slug(material, row)}_results.json"
        contents[name], shapes[name] = json_bytes(_database(material, row, found)), DatabaseResults
    if found is not None:
        contents[COMPARISONS] = json_bytes(_comparisons(found, material.result.record.seed))
        shapes[COMPARISONS] = SpeedComparisons
    return Files(contents, shapes)


def _comparisons(found: Configurations, seed: int) -> SpeedComparisons:
    depths = sorted({k for system in found.systems for k in found.depths(system)})
    return SpeedComparisons(pairs=[_pair(k, pair) for k in depths for pair in found.compare("qps", k, seed)])


def _pair(k: int, pair: SpeedComparison) -> PairOfSpeeds:
    ends = None if pair.low is None or pair.high is None else (pair.low, pair.high)
    return PairOfSpeeds(
        top_k=k, a=pair.a, b=pair.b, ratio=pair.ratio, ratio_95=ends, t=pair.t, df=pair.df, p=pair.p,
        p_holm=pair.p_holm, note=pair.note,
    )  # fmt: skip


def _slug(material: ExportContext, row: TableRow) -> str:
    stores = [file_name(str(other["store"])) for other in material.systems]
    return file_name(str(row["store"])) if len(set(stores)) == len(stores) else material.slugs[row["system"]]


def _database(material: ExportContext, row: TableRow, found: Configurations | None) -> DatabaseResults:
    system = row["system"]
    seen = seen_under_load(material.result, system)
    depths = found.depths(system) if found is not None else ()
    names = {"recall": "R", "precision": "P_unique", "mrr": "RR"}
    pick = material.named_alike if depths else material.pick
    named = {f"{key}_at_{k}": pick(name, k) for key, name in names.items() for k in depths or CUTS}
    if found is not None and depths:
        ingestion = _repeated_ingestion(found, system)
        results = [_at_depth(found, system, k, named) for k in depths]
    else:
        ingestion = _ingestion(material, system, seen)
        results = [_at(material, system, k, named, seen) for k in CUTS]
    return DatabaseResults(
        database=row["store"],
        system=system,
        timestamp=material.result.record.started,
        measured=found.measured_between(system) if found is not None and depths else None,
        runs=material.result.record.runs,
        measures=named,
        ingestion=ingestion,
        query_results=results,
    )


_PHASES = {
    "parsing_time_sec": "read_s",
    "chunking_time_sec": "chunk_s",
    "embedding_time_sec": "embed_s",
    "insertion_time_sec": "insert_s",
    "indexing_time_sec": "index_s",
    "total_time_sec": "total_s",
}


def _repeated_ingestion(found: Configurations, system: str) -> IngestionRecord:
    across = {name: found.across_runs(system, figure) for name, figure in _PHASES.items()}
    return IngestionRecord(
        **{name: one.median for name, one in across.items()},
        resources=_resources(found, system, "ingestion"),
        documents_resources=_resources(found, system, "documents"),
        memory_growth_mb=found.across_runs(system, "memory_growth_mb").median,
        memory_growth_note=found.note(system, "memory_growth_mb"),
        across_runs={name: _spread(one) for name, one in across.items()},
    )


def _resources(found: Configurations, system: str, phase: str, k: int | None = None) -> VectordbResources:
    names = [name for name in VectordbResources.model_fields if name != "note"]
    medians = {name: found.across_runs(system, f"{phase}_{name}", k).median for name in names}
    notes = (found.note(system, f"{phase}_{name}", k) for name in names)
    return VectordbResources(**medians, note="; ".join(dict.fromkeys(filter(None, notes))))


def _spread(across: RunSummary) -> RunSpread:
    iqr = None if across.sd is None or across.q1 is None or across.q3 is None else (across.q1, across.q3)
    return RunSpread(median=across.median, std=across.sd, iqr=iqr)


def _at_depth(
    found: Configurations, system: str, k: int, named: Mapping[str, str | None]
) -> VectordbQueryResult:
    def across(figure: str) -> RunSummary:
        return found.across_runs(system, figure, k)

    def quality(key: str, figure: str) -> RunSpread:
        known = named[f"{key}_at_{k}"] is not None
        return _spread(across(figure)) if known else RunSpread(median=None, std=None)

    rate = across("qps")
    return VectordbQueryResult(
        top_k=k,
        measured_alone=True,
        avg_latency_ms=_spread(across("latency_ms")),
        queries_per_second=rate.median,
        queries_per_second_across_runs=_spread(rate),
        avg_similarity=across("similarity").median,
        recall_at_k=quality("recall", "R"),
        precision_at_k=quality("precision", "P_unique"),
        mrr=quality("mrr", "RR").median,
        mrr_across_runs=quality("mrr", "RR"),
        ndcg_at_k=_spread(across("nDCG")),
        knn_recall=_spread(across("kNN")) if across("kNN").n else None,
        resources=_resources(found, system, "search", k),
    )


def _ingestion(material: ExportContext, system: str, seen: LoadSummary) -> IngestionRecord:
    def seconds(phase: str) -> float | None:
        return material.result.timing(system, phase, "seconds")

    rows = [row for row in material.result.timings.to_pylist() if row["system"] == system]
    return IngestionRecord(
        parsing_time_sec=seconds("read"),
        chunking_time_sec=seconds("chunk"),
        embedding_time_sec=seconds("embed_chunks"),
        insertion_time_sec=seconds("insert"),
        indexing_time_sec=seconds("index"),
        total_time_sec=seconds("ingest"),
        resources=_use(seen.building),
        notes={row["phase"]: row["note"] for row in rows if row["statistic"] == "seconds" and row["note"]},
    )


def _use(seen: Mapping[str, Json] | None) -> VectordbResources | None:
    names = [name for name in VectordbResources.model_fields if name != "note"]
    return None if seen is None else VectordbResources(**{name: seen.get(name) for name in names})


def _at(
    material: ExportContext, system: str, k: int, named: Mapping[str, str | None], seen: LoadSummary
) -> VectordbQueryResult:
    repeats = material.repeats(system)
    latency = across_repeats(repeats)
    return VectordbQueryResult(
        top_k=k,
        measured_alone=False,
        avg_latency_ms=RunSpread(**latency) if latency else RunSpread(median=None, std=None),
        queries_per_second=1000 / latency["median"] if latency and latency["median"] else None,
        avg_similarity=_similarity(material, system, k),
        recall_at_k=RunSpread(median=material.mean(system, named[f"recall_at_{k}"]), std=None),
        precision_at_k=RunSpread(median=material.mean(system, named[f"precision_at_{k}"]), std=None),
        mrr=material.mean(system, named[f"mrr_at_{k}"]),
        resources=_use(seen.asking),
    )


def _similarity(material: ExportContext, system: str, k: int) -> float | None:
    """The mean score of the top k results; null beyond ten."""
    if k > TOP:
        return None
    scores = [row["score"] for rows in material.first(system).values() for row in rows if row["rank"] <= k]
    return sum(scores) / len(scores) if scores else None


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """The stored resources of a system's engine process: while its index was built and during searches."""

    building: Mapping[str, object] | None = None
    asking: Mapping[str, object] | None = None


def seen_under_load(result: Result, system: str) -> LoadSummary:
    """Resources from the newest load at its lightest; empty without a load, no build figures if it opened the index."""
    if not all_loads(result.path):
        return LoadSummary()
    try:
        record = open_load(result.path).record
    except BakeoffError:
        return LoadSummary()  # the report's section on load explains it
    built = [row for row in record["systems"] if row["system"] == system and row["build_time_s"] is not None]
    points = [point for point in record["points"] if not point["probe"]] or record["points"]
    mine = sorted((point for point in points if point["system"] == system), key=load_weight)
    return LoadSummary(
        _engine(built[0]["ingestion"]["resources"]) if built else None,
        _engine(mine[0]["resources"]) if mine else None,
    )


def _engine(stored: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The server's figures if there is one, else the client's, which holds embedded engines."""
    sides = [stored.get(side) or {} for side in ("server", "client")]
    return next((side for side in sides if side.get("avg_memory_mb") is not None), None)
