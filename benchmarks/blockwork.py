"""Units of work that `scale_out.py` times: exact neighbours, scoring and bootstrap with workers.

Each is done here, then by workers, and the answers are compared: they must be the same bits.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bakeoff.benchmark.vectors.datasets import VectorSet, open_dataset
from bakeoff.benchmark.vectors.neighbours import candidates_by, exact_neighbours, settle_candidates
from bakeoff.measures.conventions import DEFAULT
from bakeoff.measures.names import parse
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.scoring.inputs import ScoringInputs
from bakeoff.pipeline.scoring.losses import StageCandidates
from bakeoff.pipeline.scoring.score_queries import score_queries
from bakeoff.runtime.scheduler import WorkerPool
from bakeoff.stats import arrays
from bakeoff.stats.bootstrap import BootstrapSettings, intervals_at
from bakeoff.storage.cache import Cache
from bakeoff.storage.schemas import CHUNKS, JUDGMENTS
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth
from bakeoff.types import Hits, Query

DEPTH = 100
MEASURES = ("nDCG@10(document)", "RR@10(document)", "R@10(document)", "R@20(answer)", "SpanRecall@10")
Work = Callable[[WorkerPool | None], object]


@dataclass(frozen=True)
class Piece:
    """Something to do, here or by workers; `answer` is the bytes of what came of it."""

    name: str
    do: Work
    answer: Callable[[object], bytes]


def pieces(share: float = 1.0) -> Iterator[Piece]:
    """The three kinds of work, of about ten seconds of one core each; `share` makes them smaller."""
    dataset = open_dataset(f"synthetic:{int(500_000 * share)}x128", queries=1000)
    yield Piece("exact truth", lambda workers: _truth(dataset, workers), lambda found: found.ids.tobytes())  # type: ignore[attr-defined]
    scored = _scored(int(20_000 * share))
    steps = (
        StageCandidates("search misses", (scored.ranking,)),
        StageCandidates("index misses", (scored.ranking,)),
    )
    names = [parse(name) for name in MEASURES]
    yield Piece(
        "scores",
        lambda workers: score_queries(scored, names, steps, workers),
        lambda found: b"".join(column.tobytes() for column in found.columns.values()),  # type: ignore[attr-defined]
    )
    columns = np.random.default_rng(3).normal(size=(2000, int(4096 * max(share, 0.25))))
    arrays.PARALLEL_FROM = 0
    yield Piece(
        "bootstrap",
        lambda workers: intervals_at(columns, BootstrapSettings(1), (0.95,), mapper=workers)[0],
        lambda found: np.array([(one.low, one.high) for one in found]).tobytes(),  # type: ignore[attr-defined]
    )


def seconds(piece: Piece, workers: WorkerPool | None) -> tuple[float, bytes]:
    """Wall seconds of a piece, whose workers are there, and its answer."""
    begin = time.perf_counter()
    found = piece.do(workers)
    return time.perf_counter() - begin, piece.answer(found)


def _truth(dataset: VectorSet, workers: WorkerPool | None) -> object:
    base, queries, metric = dataset.base, dataset.queries, dataset.metric
    if workers is None:
        return exact_neighbours(base, queries, metric, DEPTH)
    with tempfile.TemporaryDirectory() as folder:
        found = candidates_by(workers, base, queries, metric, DEPTH + 16, Cache(Path(folder)))
    return settle_candidates(base, queries, metric, DEPTH, found)


def _scored(queries: int, documents: int = 20_000, each_has: int = 10) -> ScoringInputs:
    """A system's answers to many queries, a hundred chunks each, and five judged spans a query."""
    random, chunks = np.random.default_rng(5), documents * each_has
    start = np.tile(np.arange(each_has) * 300, documents).astype(np.int32)
    columns = {
        "doc": np.repeat(np.arange(documents), each_has).astype(np.int32),
        **dict.fromkeys(("start", "line_start", "line_end"), start),
        "end": start + 320,
    }
    blank = {name: [""] * chunks for name in ("section", "symbol", "context", "text")}
    table = CHUNKS.table({"id": [f"{i:08d}" for i in range(chunks)], **columns, **blank})
    hits = [
        Hits(random.permutation(np.unique(random.integers(0, chunks, DEPTH))), np.empty(0))
        for _ in range(queries)
    ]
    ranking = StepResult(
        tuple(Hits(hit.ids, -np.arange(len(hit.ids), dtype=np.float64)) for hit in hits),
        np.ones((1, queries)),
    )
    judged = np.concatenate([np.append(hit.ids[:20:10], random.integers(0, chunks, 3)) for hit in hits])
    spans = {
        "query": np.repeat(np.arange(queries), 5),
        "doc": judged // each_has,
        "start": start[judged] + 10,
    }
    rest = {"end": start[judged] + 200, "grade": np.ones(len(judged)), "source": ["rule"] * len(judged)}
    judgments = JUDGMENTS.table({**spans, **rest, "chunking": [""] * len(judged)})
    asked = QuerySet(tuple(Query(f"q{i}", "") for i in range(queries)), (None,) * queries)
    chunking = ChunkedCorpus("made up", table, "made up", 0.0, 0, 0)
    return ScoringInputs(
        ranking, chunking, asked, Truth(judgments, (), ()), DEFAULT, lambda: np.ones(chunks), lambda: None
    )
