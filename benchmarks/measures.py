"""Measures against pytrec_eval and ranx, by CPU time, and one million queries in bounded memory.

Figures are thousand queries scored in a second of CPU, so a ratio above 1 means faster than the peer.
Run with: python benchmarks/measures.py
"""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytrec_eval

import bakeoff
from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
from bakeoff.measures.evaluate import evaluate_blocks
from bakeoff.measures.names import parse
from common import Row, show

QUERIES, DEPTH, ITEMS, JUDGED = 10_000, 100, 100_003, 20
MILLION, BLOCK = 1_000_000, 10_000
NAMES = ["nDCG@10", "AP", "RR", "P@10", "R@100", "Hit@5"]
PYTREC = {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100", "success.5"}
RANX = ["ndcg@10", "map", "mrr", "precision@10", "recall@100", "hit_rate@5"]

Strings = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Rankings and judgments as matrices, one row a query; the first 8 judged items of a row are retrieved."""

    items: np.ndarray
    scores: np.ndarray
    judged: np.ndarray
    grades: np.ndarray


def sample(queries: int, seed: int) -> Sample:
    """Distinct items in each row, scores falling along it."""
    rng = np.random.default_rng(seed)
    start, step = rng.integers(ITEMS, size=(queries, 1)), rng.integers(1, ITEMS, size=(queries, 1))
    # ITEMS is prime, so an arithmetic sequence of any step visits different items.
    line = (start + step * np.arange(DEPTH + JUDGED)) % ITEMS
    found = rng.permuted(np.tile(np.arange(DEPTH), (queries, 1)), axis=1)[:, :8]
    judged = np.hstack((np.take_along_axis(line, found, axis=1), line[:, DEPTH : DEPTH + JUDGED - 8]))
    scores = np.sort(rng.random((queries, DEPTH)), axis=1)[:, ::-1]
    return Sample(line[:, :DEPTH], scores, judged, rng.integers(0, 3, judged.shape))


def tables(data: Sample) -> tuple[pa.Table, pa.Table]:
    """Judgments and rankings as Arrow tables with integer ids and stored ranks."""
    query = np.arange(len(data.items), dtype=np.int32)
    order = np.argsort(data.judged, axis=1)
    judged, grades = np.take_along_axis(data.judged, order, 1), np.take_along_axis(data.grades, order, 1)
    qrels = {
        "query": np.repeat(query, JUDGED),
        "item": judged.ravel(),
        "grade": grades.ravel().astype(np.int8),
    }
    rank = np.tile(np.arange(1, DEPTH + 1, dtype=np.int32), len(query))
    run = {
        "query": np.repeat(query, DEPTH),
        "rank": rank,
        "item": data.items.ravel(),
        "score": data.scores.ravel(),
    }
    return pa.table(qrels), pa.table(run)


def strings(data: Sample) -> Strings:
    """The same as mappings of strings."""
    qrels, run = {}, {}
    for at in range(len(data.items)):
        grades, scores = data.grades[at].tolist(), data.scores[at].tolist()
        qrels[f"q{at}"] = {f"d{i}": g for i, g in zip(data.judged[at].tolist(), grades, strict=True)}
        run[f"q{at}"] = {f"d{i}": s for i, s in zip(data.items[at].tolist(), scores, strict=True)}
    return qrels, run


def rates(queries: int, *works: Callable[[], object], rounds: int = 5) -> list[float]:
    """Thousand queries a second of CPU for each work: medians of rounds in which they take turns."""
    spent: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for times, work in zip(spent, works, strict=True):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [queries / sorted(times)[rounds // 2] / 1000 for times in spent]


def ranx_work(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> Callable[[], object]:
    """ranx with the construction of its objects; compiled on a small input first."""
    import ranx

    def work(q: dict[str, dict[str, int]], r: dict[str, dict[str, float]]) -> object:
        return ranx.evaluate(ranx.Qrels(q), ranx.Run(r), RANX, threads=1)

    # The last queries have the longest ids: ranx compiles again for longer strings.
    work(dict(list(qrels.items())[-50:]), dict(list(run.items())[-50:]))
    return lambda: work(qrels, run)


def check_agreement(qrels: pa.Table, run: pa.Table, texts: Strings) -> None:
    """Both of our ways and the peer give the same means, or the timings mean nothing."""
    ours = bakeoff.evaluate(qrels, run, NAMES).mean
    from_dicts = bakeoff.evaluate(*texts, NAMES).mean
    peer = pytrec_eval.RelevanceEvaluator(texts[0], PYTREC).evaluate(texts[1]).values()
    relevant = [
        row for (row, judged) in zip(peer, texts[0].values(), strict=True) if max(judged.values()) > 0
    ]
    mean_ap = float(np.mean([row["map"] for row in relevant]))
    assert abs(mean_ap - (ours["AP"] or 0)) < 1e-12, (mean_ap, ours["AP"])
    assert all(abs((ours[name] or 0) - (from_dicts[name] or 0)) < 1e-12 for name in NAMES)


def speed() -> Iterator[Row]:
    """Ten thousand queries by a hundred results, six measures; and fifty by ten."""
    data = sample(QUERIES, seed=0)
    qrels, run = tables(data)
    texts = strings(data)
    check_agreement(qrels, run, texts)
    arrow, mappings, peer = rates(
        QUERIES,
        lambda: bakeoff.evaluate(qrels, run, NAMES),
        lambda: bakeoff.evaluate(*texts, NAMES),
        lambda: pytrec_eval.RelevanceEvaluator(texts[0], PYTREC).evaluate(texts[1]),
    )
    yield Row("measures: Arrow / pytrec_eval, 10,000 × 100, kq/s", arrow, peer, ">= 3")
    yield Row("measures: dicts / pytrec_eval, 10,000 × 100, kq/s", mappings, peer, ">= 1")
    if importlib.util.find_spec("ranx"):
        (warm,) = rates(QUERIES, ranx_work(*texts), rounds=1)
        yield Row("measures: Arrow / ranx with its objects, 10,000 × 100, kq/s", arrow, warm, ">= 10")
    few = tuple(
        {query: dict(list(rows.items())[:10]) for query, rows in list(part.items())[:50]} for part in texts
    )
    ours, theirs = rates(
        50,
        lambda: bakeoff.evaluate(*few, NAMES),
        lambda: pytrec_eval.RelevanceEvaluator(few[0], PYTREC).evaluate(few[1]),
        rounds=25,
    )
    yield Row("measures: dicts / pytrec_eval, 50 × 10, kq/s", ours, theirs)


def stream(queries: int) -> tuple[float, float]:
    """Score many queries block by block: thousand queries a second of CPU, and the highest memory in MB."""
    spent = 0.0
    judgments = JudgmentArrays(*(np.concatenate(column) for column in zip(*_judgments(queries), strict=True)))
    measures = [parse(name) for name in NAMES]

    def blocks() -> Iterator[RankingArrays]:
        nonlocal spent
        for first in range(0, queries, BLOCK):
            start = time.process_time()
            _, run = tables(sample(BLOCK, seed=first))
            made = time.process_time()
            spent -= made - start
            query = run.column("query").to_numpy() + np.int32(first)
            yield RankingArrays(query, run.column("item").to_numpy(), run.column("score").to_numpy())

    start = time.process_time()
    scores = evaluate_blocks(blocks(), judgments, measures)
    spent += time.process_time() - start
    assert len(scores.queries) == queries
    return queries / spent / 1000, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _judgments(queries: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    for first in range(0, queries, BLOCK):
        qrels, _ = tables(sample(BLOCK, seed=first))
        query, item, grade = (qrels.column(name).to_numpy() for name in ("query", "item", "grade"))
        yield query + np.int32(first), item, grade


def memory() -> Iterator[Row]:
    """One million queries by a hundred results in a process of its own, and whether the time grows in step."""
    found = {}
    for queries in (MILLION // 10, MILLION):
        command = [sys.executable, __file__, "--stream", str(queries)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found[queries] = tuple(map(float, done.stdout.split()))
    small, large = found[MILLION // 10], found[MILLION]
    yield Row("measures: peak memory / 2 GB, 1,000,000 × 100, MB", large[1], 2048, "<= 1")
    yield Row("measures: 1,000,000 / 100,000 queries, kq/s", large[0], small[0], ">= 0.8")


def main() -> list[Row]:
    """All rows."""
    return [*speed(), *memory()]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stream"]:
        print(*stream(int(sys.argv[2])))
    else:
        raise SystemExit(show(main()))
