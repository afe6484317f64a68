"""A run folder with made-up systems: seeded ranks of one relevant document a query, everything else follows from them.

Test data, not a result. Every score is computed from the rank; rankings and passages agree with the scores.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bakeoff.benchmark.load.load_systems import EMBEDDED_BEFORE
from bakeoff.benchmark.load.record import save_load
from bakeoff.benchmark.load.session import LoadOrigin, LoadSession
from bakeoff.benchmark.load_spec import LoadSpec, LoadStep
from bakeoff.benchmark.loop_report import Buckets, LoopReport
from bakeoff.benchmark.passes import Pass
from bakeoff.benchmark.resources.usage import Resources, ResourceUse
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.benchmark.results.load_results import LoadResult, open_load
from bakeoff.benchmark.results.scale_results import SIZE, ScaleRow
from bakeoff.benchmark.scale.measure_sizes import ScaleOutcome
from bakeoff.benchmark.scale.session import ScaleOptions
from bakeoff.benchmark.targets import LoadTarget, OpenStats
from bakeoff.benchmark.vectors.datasets import VectorSet
from bakeoff.config.experiment_file import Prices
from bakeoff.measures.conventions import DEFAULT
from bakeoff.pipeline.system_tables import LATENCIES, LOSSES, PASSAGES, TIES
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.cost import Cost, PricedCost
from bakeoff.runs.folder import QUERIES, RunFolder
from bakeoff.runs.record import ChunkingRecord, CorpusRecord, ExcludedQuery, RuleHit, RunRecord
from bakeoff.storage.schemas import RANKINGS, SCORES, SYSTEMS, TIMINGS, Schema
from bakeoff.types import Metric, Status

MEASURES = ["nDCG@10(document)", "RR@10(document)", "Hit@5(document)", "R@20(document)", "tokens@10(chunk)"]
DEPTH = 20
CATEGORIES = ("howto", "concept", "error")
DIFFICULTIES = ("easy", "medium", "hard")
QUARTERS = {"line": (40, 900, 1800, 2400, 4000), "semantic": (15, 300, 780, 1500, 6200)}
SCRIPT = "<script>document.title='owned'</script>"

GROWN = ("build_s", "build_cpu_s", "p50_ms", "memory_mb", "disk_mb")
"""What `scale` over vectors fits."""


@dataclass(frozen=True)
class Made:
    """What a made-up run is like."""

    systems: int = 8
    queries: int = 50
    negatives: int = 5
    failed: int = 0
    nulls: int = 0
    repeats: int = 3
    labels: tuple[str, ...] = ()
    passage: str = "def answer():\n    return 42\n"
    measures: tuple[str, ...] = tuple(MEASURES)
    primary: str = MEASURES[0]
    seed: int = 11
    ranking_depth: int = DEPTH
    text: str = "where is the answer to question {number}?"
    limits: tuple[tuple[str, float], ...] = ()
    alike: bool = False
    prices: str = ""


LABELS = [
    f"{chunker} · {way}"
    for chunker in ("semantic", "line")
    for way in ("minilm · hybrid", "minilm · dense", "bm25", "wordllama · hybrid", "wordllama · dense")
]


def write_run(path: Path, made: Made) -> Result:
    """Write the folder and open it."""
    path.mkdir(parents=True, exist_ok=True)
    labels = (
        list(made.labels) or [*LABELS, *(f"line(size={n}) · bm25" for n in range(1, 400))][: made.systems]
    )
    random = np.random.default_rng(made.seed)
    queries = _names(made.queries)
    ranks = _ranks(random, labels, made)
    folder = RunFolder(path)
    done = labels[: len(labels) - made.failed]
    latencies = list(_latencies(random, done, queries, made))
    for schema, rows in (
        (SYSTEMS, _systems(labels, made)),
        (QUERIES, _queries(queries, made)),
        (SCORES, _scores(done, queries, ranks, made)),
        (RANKINGS, _rankings(done, queries, ranks, made)),
        (PASSAGES, _passages(queries, made)),
        (LOSSES, _losses(done, queries, ranks, made)),
        (LATENCIES, latencies),
        (TIES, ()),
        (TIMINGS, _timings(latencies, done, made)),
    ):
        folder.table(schema, [_table(schema, list(rows))])
    folder.record(_record(path.name, labels, queries, made))
    return open_run(path)


def _names(count: int) -> list[str]:
    """Query ids in an order that is not theirs, as in a file that people wrote."""
    names = [f"q-{number:02d}" for number in range(1, count + 1)]
    return names if count < 30 else [*names[:10], *reversed(names[10:-10]), *names[-10:]]


def _table(schema: Schema, rows: list[tuple]) -> object:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
    return schema.table({name: list(c) for (name, _), c in zip(schema.columns, columns, strict=True)})


def _ranks(random: np.random.Generator, labels: list[str], made: Made) -> np.ndarray:
    """The rank of the one relevant document, systems × queries; 0 where it is not retrieved."""
    hardness = random.normal(0, 1.2, made.queries)
    rows = []
    for place in range(len(labels)):
        skill = 1.6 - 2.2 * place / max(1, len(labels) - 1)
        pull = np.exp(
            np.clip(hardness - (0 if made.alike else skill) + random.normal(0, 0.7, made.queries), -5, 5)
        )
        rank = np.ceil(pull * 2.0).astype(int)
        rows.append(np.where(rank > DEPTH, 0, np.maximum(rank, 1)))
    return np.array(rows)


def _systems(labels: list[str], made: Made) -> Iterator[tuple]:
    for place, label in enumerate(labels):
        failed = place >= len(labels) - made.failed
        parts = [*label.split(" · "), "", ""][:3]
        size = None if failed else int(14e6 / (1 + place % 4))
        yield (
            "made-up", label, parts[0], parts[1] if parts[2] else None, "exact", parts[2] or parts[1], None, "[]",
            "failed" if failed else "done", "connection refused by 127.0.0.1:6333 after 3 tries" if failed else "",
            None if failed else 2310, None if failed or "bm25" in label else 384, size, False,
            label, *((None, None) if failed or "bm25" in label else (1536, 1536)), 0,
        )  # fmt: skip


def _queries(queries: list[str], made: Made) -> Iterator[tuple]:
    for number, query in enumerate(queries):
        negative = number >= len(queries) - made.negatives
        text = made.text.replace("{number}", str(number + 1))
        category, difficulty = CATEGORIES[number % 3], DIFFICULTIES[number % 7 % 3]
        yield query, text, category, difficulty, "", negative, number % 10 == 0, "{}", None


def _value(measure: str, rank: int, place: int) -> float:
    name, _, k = measure.partition("(")[0].partition("@")
    inside = 0 < rank <= int(k or DEPTH)
    if name == "nDCG":
        return 1 / math.log2(rank + 1) if inside else 0.0
    if name == "RR":
        return 1 / rank if inside else 0.0
    return 1800.0 + 37 * place if name == "tokens" else float(inside)


def _scores(done: list[str], queries: list[str], ranks: np.ndarray, made: Made) -> Iterator[tuple]:
    for place, label in enumerate(done):
        for number, query in enumerate(queries):
            gone = number >= len(queries) - made.negatives or number < made.nulls
            for measure in made.measures:
                unit = measure.partition("(")[2].rstrip(")") or "document"
                value = None if gone else _value(measure, int(ranks[place, number]), place)
                yield "made-up", label, query, measure, unit, "documents", value


def _rankings(done: list[str], queries: list[str], ranks: np.ndarray, made: Made) -> Iterator[tuple]:
    for place, label in enumerate(done):
        for number, query in enumerate(queries):
            rank = int(ranks[place, number])
            others = [(number + 1 + step * (place + 1)) % len(queries) for step in range(made.ranking_depth)]
            order = [o for o in dict.fromkeys(others) if o != number]
            if rank and rank <= made.ranking_depth:
                order.insert(rank - 1, number)
            for position, document in enumerate(order[: made.ranking_depth], start=1):
                chunk = f"chunk-{document:05d}"
                yield (
                    "made-up",
                    label,
                    query,
                    position,
                    chunk,
                    f"doc/{document:05d}.py",
                    0,
                    27,
                    "top",
                    1 / position,
                )


def _passages(queries: list[str], made: Made) -> Iterator[tuple]:
    for number in range(len(queries)):
        text = made.passage
        yield f"chunk-{number:05d}", f"doc/{number:05d}.py", 0, len(text), 1, 2, "top", "answer", text


def _losses(done: list[str], queries: list[str], ranks: np.ndarray, made: Made) -> Iterator[tuple]:
    """What the primary measure could still reach: a chunk always has it, retrieval may miss it, the rank costs."""
    gone = {n for n in range(len(queries)) if n >= len(queries) - made.negatives or n < made.nulls}
    for place, label in enumerate(done):
        for step in ("in no chunk", "model misses", "ranked too low"):
            for number, query in enumerate(queries):
                rank = int(ranks[place, number])
                reach = {"in no chunk": 1.0, "model misses": float(rank > 0)}.get(step)
                value = _value(made.primary, rank, place) if reach is None else reach
                yield "made-up", label, query, step, None if number in gone else value


def _latencies(
    random: np.random.Generator, done: list[str], queries: list[str], made: Made
) -> Iterator[tuple]:
    for place, label in enumerate(done):
        for repeat in range(made.repeats):
            for query in queries:
                search = float(random.gamma(9.0, 0.02 + 0.03 * (place % 3)))
                embed = (
                    None
                    if "bm25" in label
                    else 0.2
                    if "wordllama" in label
                    else float(random.gamma(60.0, 0.1))
                )
                yield "made-up", label, repeat, query, embed, search, None, None, search + (embed or 0.0)


def _timings(latencies: list[tuple], done: list[str], made: Made) -> Iterator[tuple]:
    """Seconds of phases, made up; milliseconds of steps, from the latencies."""
    samples = made.repeats * made.queries
    for place, label in enumerate(done):
        for phase, seconds in (
            ("read", 0.4),
            ("chunk", 1.9),
            ("embed_chunks", 60.0),
            ("insert", 0.2),
            ("index", 0.1),
        ):
            if phase == "embed_chunks" and "bm25" in label:
                continue
            cached = phase == "read"
            note = "made by an earlier run that recorded no time" if cached else ""
            yield (
                "made-up",
                label,
                phase,
                "seconds",
                None if cached else seconds * (1 + place / 10),
                412,
                note,
            )
        mine = [row for row in latencies[place * samples : (place + 1) * samples] if row[1] == label]
        for phase, column in (("embed", 4), ("search", 5), ("total", 8)):
            times = [row[column] for row in mine if row[column] is not None]
            if not times:
                continue
            yield "made-up", label, phase, "mean_ms", float(np.mean(times)), samples, ""
            for percentile, needed in ((50, 10), (90, 50), (95, 100), (99, 500)):
                note = f"{samples} samples; p{percentile} needs {needed}: raise runs or add queries"
                found = (
                    (float(np.percentile(times, percentile)), samples, "")
                    if samples >= needed
                    else (None, samples, note)
                )
                yield "made-up", label, phase, f"p{percentile}_ms", *found


def _record(name: str, labels: list[str], queries: list[str], made: Made) -> RunRecord:
    gone = queries[len(queries) - made.negatives :] if made.negatives else []
    nulls = [(query, "no relevant item at this unit") for query in (*queries[: made.nulls], *gone)]
    return RunRecord(
        run=name,
        name="made-up",
        status="partial" if made.failed else "done",
        plan="0" * 16,
        started="2025-01-02T03:04:05+00:00",
        finished="2025-01-02T03:06:05+00:00",
        bakeoff="0.1.0",
        experiment="# Which made-up system finds the made-up documents?\nname: made-up\nchunkers: [line, semantic]\n"
        + made.prices,
        primary=made.primary,
        measures=list(made.measures),
        depth=made.ranking_depth,
        seed=7,
        runs=made.repeats,
        limits={"p95_ms": None, "memory_mb": None, "index_mb": None, **dict(made.limits)},
        conventions=json.loads(json.dumps(DEFAULT.to_dict())),
        machine={"processor": "made-up processor", "cores": 2, "memory_gib": 8.0, "python": "3.11"},
        versions={"numpy": np.__version__},
        corpus=CorpusRecord(
            fingerprint="c" * 16,
            documents=412,
            characters=3_100_000,
            skipped=[("image.png", "not text: binary")],
        ),
        chunkings=[
            ChunkingRecord(chunker=name, fingerprint="d" * 16, chunks=2310, mean=1700.0, quantiles=quarters)
            for name, quarters in QUARTERS.items()
        ],
        queries_fingerprint="e" * 16,
        truth_fingerprint="f" * 16,
        truth_hits=[
            RuleHit(query_id=q, rule="documents: 1", source="documents", chunking="", hits=1, documents=1)
            for q in queries
        ],
        excluded=[
            ExcludedQuery(query_id=q, measure=m, reason=why) for m in made.measures for q, why in nulls
        ],
        systems=labels,
        notes=[],
    )


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Result]:
    """Writes a made-up run; keyword arguments are the fields of `Made`."""

    def make(name: str = "made-up-run", **fields: object) -> Result:
        return write_run(tmp_path / name, Made(**fields))  # type: ignore[arg-type]

    return make


def write_load(
    result: Result,
    loads: Sequence[LoadStep] = (LoadStep("closed", 1), LoadStep("closed", 4)),
    *,
    systems: Sequence[str] = (),
    queries: int = 600,
    runs: int = 2,
    missing: int = 0,
    server: bool = False,
    probe: bool = False,
    prices: Prices | None = None,
    end_to_end: bool = False,
) -> LoadResult:
    """Write a load of a made-up run: seeded nanoseconds for each pass, everything else follows from them."""
    random = np.random.default_rng(3)
    names = list(systems) or list(result.done)
    found = LoadSession(
        LoadOrigin("run", result.record.run, "0" * 16, queries), LoadSpec(runs=runs), status=Status.DONE
    )
    seen = (
        ResourceUse(40.0, 80.0, 150.0, 200.0, 9) if server else ResourceUse(note="no server process is known")
    )
    used = Resources(ResourceUse(90.0, 120.0, 300.0, 350.0, 9), seen, 1.0)
    for place, name in enumerate(names):
        opening = OpenStats(0.2, None, 1_000_000, used)
        found.targets.append(LoadTarget(name, "exact", lambda *_: None, (), (), 10, opening))
        for load in loads:
            for number in range(runs):
                times = random.gamma(4.0, 5e5 * (place + 1) * load.concurrency, queries - missing).astype(
                    np.int64
                )
                found.passes.append(
                    Pass(
                        system=name,
                        load=load,
                        run=number,
                        loop=LoopReport(
                            began=0,
                            ended=round((1.0 + number / 10) * 1e9),
                            intended=queries - missing,
                            sent=queries,
                            answered=queries - missing,
                            errors=missing,
                            error="",
                            timeouts=0,
                            unsent=0,
                            short=0,
                            total_ns=int(times.sum()),
                            drift=None,
                            latency=Buckets.of(Histogram.of(times, missing)),
                            lag=None,
                            due=1.0,
                            sent_last=1.0,
                            stopped="",
                            use=used.client,
                        ),
                        harness_seconds=None,
                        resources=used,
                        short=0,
                        probe=probe,
                    )
                )
    if prices is not None:
        note = "" if end_to_end else EMBEDDED_BEFORE
        found.costs = {
            name: Cost(PricedCost(0.5 + place, note), PricedCost(None, "not timed"), PricedCost(0.01))
            for place, name in enumerate(names)
        }
    save_load(result.path / "load" / "20250102-030405", found, prices)
    return open_load(result.path)


def write_scale(
    folder: Path, sizes: Sequence[int] = (100, 1000, 10_000), stores: Sequence[str] = ("exact", "faiss")
) -> Path:
    """Write a measurement of `bakeoff scale`: power laws with a little noise, no disk for the first store."""
    random = np.random.default_rng(4)
    options = ScaleOptions(tuple(sizes), runs=2, command="bakeoff scale synthetic:10000x8")
    vectors = VectorSet("made-up", np.zeros((sizes[-1], 8), np.float32), np.zeros((50, 8), np.float32), Metric.L2,
                        None, 0, 0, (), "f" * 16)  # fmt: skip
    outcome = ScaleOutcome(dataset=vectors, options=options, status=Status.DONE)
    for place, store in enumerate(stores, start=1):
        for size in sizes:
            for number in range(2):
                for figure, power in zip(GROWN, (1.2, 1.1, 0.5 * place, 0.3, 1.0), strict=True):
                    value = 1e-3 * size**power * float(random.uniform(0.98, 1.02))
                    bare = figure == "disk_mb" and place == 1
                    note = "it keeps nothing on disk" if bare else ""
                    outcome.rows.append(
                        ScaleRow(
                            SIZE, store, "default", size, number, None, figure, None if bare else value, note
                        )
                    )
    folder.mkdir(parents=True, exist_ok=True)
    outcome.save(folder)
    return folder


@pytest.fixture
def make_load() -> Callable[..., LoadResult]:
    """Writes a made-up load of a made-up run."""
    return write_load


@pytest.fixture
def make_scale() -> Callable[..., Path]:
    """Writes a made-up measurement of growth."""
    return write_scale
