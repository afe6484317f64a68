"""Scores {query: {item: …}} mappings of any size: only judged results become numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import numpy as np

from bakeoff.measures.arrays import Floats, Ints, JudgmentArrays, RankingArrays
from bakeoff.measures.evaluate import ScoreArrays, evaluate, from_scores, score_hits
from bakeoff.measures.hits import JudgedHits, JudgedItems, truth_from
from bakeoff.measures.kernels import HitBlock
from bakeoff.measures.result import Evaluation
from bakeoff.measures.task import Task, check_grades, scored_order


def evaluate_mappings(task: Task) -> Evaluation:
    """Score mappings of any size, ties included."""
    try:
        hits, tied = _hits(task)
        truth = _truth(task)
    except (TypeError, ValueError):
        _find_wrong_number(task)
        raise
    scores = score_hits(HitBlock(truth, hits, task.conventions.rel), task.measures, task.conventions)
    if len(tied):
        scores = _rescore(task, scores, tied)
    return from_scores(scores, task.queries, task.conventions)


def _truth(task: Task) -> JudgedItems:
    lengths = np.fromiter(
        (len(task.judged_grades(query)) for query in task.queries), np.int64, len(task.queries)
    )
    grades = _numbers((task.judged_grades(query).values() for query in task.queries), int(lengths.sum()))
    integers = grades.astype(np.int64)
    row = np.repeat(np.arange(len(task.queries)), lengths)
    if (integers != grades).any():
        _find_wrong_number(task)
    return truth_from(row, integers, np.arange(len(task.queries)))


def _hits(task: Task) -> tuple[JudgedHits, Ints]:
    """Judged results with their ranks, and the rows with tied scores."""
    depth = np.fromiter((len(task.results(query)) for query in task.queries), np.int64, len(task.queries))
    row, grade, found, place = _judged_results(task)
    scores = _numbers((task.results(query).values() for query in task.queries), int(depth.sum()))
    if np.isnan(scores).any():
        _find_wrong_number(task)
    if task.conventions.score_precision == "single":
        scores, found = (
            scores.astype(np.float32).astype(np.float64),
            found.astype(np.float32).astype(np.float64),
        )
    by_score = not task.run.ordered or task.conventions.order == "score_id"
    board = _board(scores, depth, descending=by_score)
    rank = _ranks_by_score(board, row, found) if by_score else place + 1
    tied = _tied_rows(board, depth)
    # Tied rows are scored again through arrays; here their ranks would repeat.
    usable = ~np.isin(row, tied)
    row, rank, grade = row[usable], rank[usable], grade[usable]
    order = np.argsort(row * (int(depth.max(initial=0)) + 2) + rank)
    return JudgedHits(row[order], rank[order], grade[order], depth), tied


def _judged_results(task: Task) -> tuple[Ints, Ints, Floats, Ints]:
    """Row, grade, score and position of every item that is both retrieved and judged."""
    counts: list[int] = []
    grades: list[int] = []
    scores: list[float] = []
    places: list[int] = []
    need_place = task.run.ordered and task.conventions.order != "score_id"
    for query in task.queries:
        judged, results = task.judged_grades(query), task.results(query)
        shared = judged.keys() & results.keys()
        counts.append(len(shared))
        grades.extend(map(judged.__getitem__, shared))
        scores.extend(map(results.__getitem__, shared))
        if need_place and shared:
            position = dict(zip(results, range(len(results)), strict=True))
            places.extend(map(position.__getitem__, shared))
    row = np.repeat(np.arange(len(counts)), counts)
    place = np.array(places, dtype=np.int64) if need_place else np.zeros(len(row), dtype=np.int64)
    return row, np.array(grades, dtype=np.int64), np.array(scores, dtype=np.float64), place


def _numbers(columns: Iterable[Iterable[float]], size: int) -> Floats:
    return np.fromiter(chain.from_iterable(columns), np.float64, size)


def _find_wrong_number(task: Task) -> None:
    """Raise for the first score or grade that is not a number."""
    for query in task.queries:
        scored_order(task, query)
        check_grades(query, task.judged_grades(query))


def _board(scores: Floats, depth: Ints, *, descending: bool) -> Floats:
    """Negated scores, one row per query, padded with +inf; sorted if the order is by score."""
    width = max(1, int(depth.max(initial=0)))
    board = np.full((len(depth), width), np.inf)
    board[np.arange(width) < depth[:, None]] = -scores
    if descending and (board[:, 1:] < board[:, :-1]).any():
        board.sort(axis=1)
    return board


def _ranks_by_score(board: Floats, row: Ints, score: Floats) -> Ints:
    """1 + the number of results in the row with a higher score, by binary search in all rows at once."""
    low, high = np.zeros(len(row), dtype=np.int64), np.full(len(row), board.shape[1])
    while (low < high).any():
        middle = (low + high) // 2
        higher = board[row, np.minimum(middle, board.shape[1] - 1)] < -score
        low, high = np.where(higher & (low < high), middle + 1, low), np.where(higher, high, middle)
    return low + 1


def _tied_rows(board: Floats, depth: Ints) -> Ints:
    inside = np.arange(1, board.shape[1]) < depth[:, None]
    return np.flatnonzero(((board[:, 1:] == board[:, :-1]) & inside).any(axis=1))


def _rescore(task: Task, scores: ScoreArrays, tied: Ints) -> ScoreArrays:
    """Rescore rows with ties through arrays, which hold every result."""
    names = [task.queries[at] for at in tied]
    part = evaluate(*_arrays(task, names), task.measures, conventions=task.conventions)
    values, lower, upper = scores.values.copy(), scores.lower.copy(), scores.upper.copy()
    rows = tied[part.queries]
    values[rows], lower[rows], upper[rows] = part.values, part.lower, part.upper
    ties = (
        _spread(layer, rows, values.shape) for layer in (part.tied_low, part.tied_high, part.tied_expected)
    )
    low, high, mean = ties
    return replace(
        scores, values=values, lower=lower, upper=upper, tied_low=low, tied_high=high, tied_expected=mean
    )


def _spread(layer: Floats | None, rows: Ints, shape: tuple[int, ...]) -> Floats | None:
    if layer is None:
        return None
    column = np.full(shape, np.nan)
    column[rows] = layer
    return column


def _arrays(task: Task, names: list[str]) -> tuple[RankingArrays, JudgmentArrays]:
    """Rankings and judgments of some queries as arrays; item ids are local to a query."""
    served = replace(task, conventions=replace(task.conventions, order="served"))
    results: list[tuple[int, int, float, int]] = []
    judged: list[tuple[int, int, int]] = []
    for at, name in enumerate(names):
        order, scores = scored_order(served, name), task.results(name)
        ids = {item: number for number, item in enumerate(order)}
        alphabet = {item: number for number, item in enumerate(sorted(order))}
        results += [(at, ids[item], scores[item], alphabet[item]) for item in order]
        judged += [
            (at, ids.setdefault(item, len(ids)), grade) for item, grade in task.judged_grades(name).items()
        ]
    query, item, score, id_order = (np.array(column) for column in zip(*results, strict=True))
    rankings = RankingArrays(query, item, score.astype(np.float64), id_order=id_order)
    columns = np.array(judged, dtype=np.int64).reshape(-1, 3).T
    return rankings, JudgmentArrays.from_columns(columns[0], columns[1], columns[2])
