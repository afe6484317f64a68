"""Measures and statistics once more, query by query, from their published definitions; nothing of the package is used."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations, product

import numpy as np
from scipy import stats

Grades = Mapping[str, float]
Span = tuple[str, int, int]
Ends = tuple[float, float] | None


# --- measures of one query -----------------------------------------------------------------------


def units(rows: Sequence[Mapping], key: str) -> list[str]:
    """The units of a ranking in the order in which their first chunk was served."""
    return list(dict.fromkeys(row[key] for row in rows))


def dcg(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def ndcg(ranked: Sequence[str], judged: Grades, k: int) -> float:
    ideal = sorted((grade for grade in judged.values() if grade > 0), reverse=True)
    return dcg([judged.get(unit, 0) for unit in ranked[:k]]) / dcg(ideal[:k])


def relevant(ranked: Sequence[str], judged: Grades) -> list[bool]:
    return [judged.get(unit, 0) >= 1 for unit in ranked]


def wanted(judged: Grades) -> int:
    return sum(grade >= 1 for grade in judged.values())


def precision(ranked: Sequence[str], judged: Grades, k: int) -> float:
    return sum(relevant(ranked[:k], judged)) / k


def recall(ranked: Sequence[str], judged: Grades, k: int) -> float:
    return sum(relevant(ranked[:k], judged)) / wanted(judged)


def hit(ranked: Sequence[str], judged: Grades, k: int) -> float:
    return float(any(relevant(ranked[:k], judged)))


def reciprocal_rank(ranked: Sequence[str], judged: Grades, k: int) -> float:
    rank = first_rank(ranked[:k], judged)
    return 1 / rank if rank else 0.0


def first_rank(ranked: Sequence[str], judged: Grades) -> int:
    """The rank of the first relevant unit, 0 where there is none."""
    return next((rank for rank, good in enumerate(relevant(ranked, judged), start=1) if good), 0)


def average_precision(ranked: Sequence[str], judged: Grades, k: int) -> float:
    good = relevant(ranked[:k], judged)
    return sum(sum(good[:rank]) / rank for rank, here in enumerate(good, start=1) if here) / wanted(judged)


def characters(spans: Sequence[Span]) -> set[tuple[str, int]]:
    """Every character of some spans, each once."""
    return {(document, at) for document, start, end in spans for at in range(start, end)}


def span_measures(rows: Sequence[Mapping], gold: Sequence[Span], k: int) -> tuple[float, float, float]:
    """Recall, precision and intersection over union of characters."""
    read = characters([(row["document_id"], row["start"], row["end"]) for row in rows[:k]])
    good = characters(gold)
    both = len(read & good)
    return both / len(good), both / max(len(read), 1), both / max(len(read | good), 1)


def answers(rows: Sequence[Mapping], gold: Sequence[Span]) -> list[str]:
    """The served answers: a chunk that shares half of the shorter of the two holds a gold span, each span once."""
    found: list[str] = []
    for row in rows:
        held = [str(number) for number, span in enumerate(gold) if shares_half(row, span)]
        found += held or [f"chunk {row['chunk_id']}"]
    return list(dict.fromkeys(found))


def shares_half(row: Mapping, span: Span) -> bool:
    document, start, end = span
    if row["document_id"] != document:
        return False
    shared = min(row["end"], end) - max(row["start"], start)
    return shared > 0 and 2 * shared >= min(row["end"] - row["start"], end - start)


# --- statistics ----------------------------------------------------------------------------------


def interval(values: np.ndarray, seed: int, bounds: Ends = None, level: float = 0.95) -> Ends:
    """The outer one of two bootstrap intervals of a mean at each end (docs/statistics.md), None where none is defined."""
    n = len(values)
    if n < 2 or np.ptp(values) < 1e-12:
        return None
    means = values[draws(seed, n)].mean(axis=1)
    reach = stats.t.ppf(0.5 + level / 2, n - 1) * math.sqrt(n / (n - 1))
    tail = stats.norm.cdf(-reach)
    half = np.quantile(np.abs(means - values.mean()), level) * reach / stats.norm.ppf(0.5 + level / 2)
    low = min(np.quantile(means, tail), values.mean() - half)
    high = max(np.quantile(means, 1 - tail), values.mean() + half)
    low, high = (0.0 if abs(end) < 1e-12 else float(end) for end in (low, high))
    return (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))


def draws(seed: int, n: int, resamples: int = 10_000) -> np.ndarray:
    """Which queries each resample holds; the package draws them in blocks of 4,000,000."""
    generator = np.random.default_rng([seed, n])
    rows = max(1, min(resamples, 4_000_000 // n))
    return np.concatenate(
        [generator.integers(0, n, (min(rows, resamples - at), n)) for at in range(0, resamples, rows)]
    )


def flip_p(differences: np.ndarray, seed: int, pairs: int) -> float:
    """The sign-flip test of a column of all queries (0 where not compared), ties counted half."""
    d = np.where(np.abs(differences) > 1e-12, differences, 0.0)
    if not d.any():
        return 1.0
    unit = d / np.linalg.norm(d)
    if (d != 0).sum() <= 13:
        few = unit[d != 0]
        sums = np.array([np.dot(signs, few) for signs in product((1, -1), repeat=len(few))])
        return reached(sums, unit.sum(), len(few)) / len(sums)
    count, flips = 0.0, max(10_000, int(5 * pairs / 0.05))
    generator = np.random.default_rng([seed, len(d), 1])
    rows = max(1, min(flips, 2_000_000 // len(d)))
    for at in range(0, flips, rows):
        bits = generator.integers(0, 2, (min(rows, flips - at), len(d)), dtype=np.int8)
        count += reached((2.0 * bits - 1) @ unit, unit.sum(), len(d))
    return (count + 1) / (flips + 1)


def reached(sums: np.ndarray, observed: float, n: int) -> float:
    size, slack = abs(observed), 1e-12 * n
    return float((np.abs(sums) > size + slack).sum() + (np.abs(sums) >= size - slack).sum()) / 2


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value times the number of those not smaller, never below one that is smaller."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found, worst = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        worst = max(worst, min(1.0, p_values[i] * (len(p_values) - place)))
        found[i] = worst
    return found


def detectable(differences: np.ndarray, pairs: int, power: float = 0.8) -> float | None:
    n, sd = len(differences), float(differences.std(ddof=1))
    if sd == 0:
        return None
    return (stats.t.ppf(1 - 0.05 / pairs / 2, n - 1) + stats.t.ppf(power, n - 1)) * sd / math.sqrt(n)


def outcomes(differences: np.ndarray) -> tuple[int, int, int]:
    """Wins, losses and ties within .01, the end included."""
    wins, losses = int((differences > 0.01 + 1e-12).sum()), int((differences < -0.01 - 1e-12).sum())
    return wins, losses, len(differences) - wins - losses


def cliffs_delta(a: np.ndarray, b: np.ndarray) -> float:
    signs = [np.sign(x - y) if abs(x - y) > 1e-12 else 0.0 for x in a for y in b]
    return float(np.mean(signs))


def factor_shares(
    values: np.ndarray, factors: Mapping[str, Sequence[str | None]], seed: int
) -> dict[str, tuple[float, float, float]]:
    """Shares of the spread of system means (systems × queries) by factor and of the rest, each with its interval."""
    n = values.shape[1]
    noise = np.cov(values) / n
    drawn = values[:, draws(seed, n, 2_000)].mean(axis=2)
    forms = _shapley(
        {name: levels for name, levels in factors.items() if len(set(levels) - {None}) > 1}, len(values)
    )
    mean = values.mean(axis=1)
    seen = np.array([mean @ form @ mean - np.trace(form @ noise) for form in forms.values()])
    again = np.array(
        [np.einsum("ir,ij,jr->r", drawn, form, drawn) - 2 * np.trace(form @ noise) for form in forms.values()]
    )
    share, shares = (np.maximum(one, 0) for one in (seen, again))
    share, shares = share / share.sum(), shares / np.maximum(shares.sum(axis=0), 1e-12)
    low, high = np.quantile(shares, (0.025, 0.975), axis=1)
    return {
        name: (float(a), float(b), float(c)) for name, a, b, c in zip(forms, share, low, high, strict=True)
    }


def _shapley(factors: Mapping[str, Sequence[str | None]], systems: int) -> dict[str, np.ndarray]:
    """What each factor adds to the fit, averaged over every order of adding them; the rest is what none explains."""
    names, forms = list(factors), {name: np.zeros((systems, systems)) for name in factors}
    orders = list(permutations(names))
    for order in orders:
        for place, name in enumerate(order):
            before, after = (
                _fit(systems, [factors[one] for one in order[:end]]) for end in (place, place + 1)
            )
            forms[name] += (after - before) / len(orders)
    forms["interaction of factors"] = np.eye(systems) - _fit(systems, [factors[name] for name in names])
    return forms


def _fit(systems: int, factors: Sequence[Sequence[str | None]]) -> np.ndarray:
    """The projection on the differences between levels, among the systems that have each factor (None has it not)."""
    columns = [np.ones(systems)]
    for levels in factors:
        known = [place for place, level in enumerate(levels) if level is not None]
        for level in {levels[place] for place in known}:
            column = np.zeros(systems)
            column[known] = [float(levels[place] == level) for place in known]
            column[known] -= column[known].mean()
            columns.append(column)
    design = np.column_stack(columns)
    return design @ np.linalg.pinv(design)


def held_out(
    values: np.ndarray, labels: Sequence[str], seed: int, folds: int = 5, splits: int = 20
) -> tuple[np.ndarray, list[list[int]]]:
    """Each query's mean score of the systems that are best on the other folds, and every such winner or tied winners."""
    n = values.shape[1]
    winners, scores = [], np.zeros((splits, n))
    for split in range(splits):
        dealt = np.random.default_rng([seed, n, 3, split]).permutation(n)
        order = sorted(dealt, key=lambda query: labels[query])
        fold = np.empty(n, int)
        fold[order] = np.arange(n) % folds
        means = [np.round(values[:, fold != one].mean(axis=1), 12) for one in range(folds)]
        best = [[row for row, mean in enumerate(found) if mean == found.max()] for found in means]
        scores[split] = [values[best[fold[query]], query].mean() for query in range(n)]
        winners += best
    return scores.mean(axis=0), winners


def false_alarms(top: Sequence[float], negative: Sequence[bool]) -> tuple[int, float]:
    """Negatives over a threshold set on all other queries, and the AUROC of the top score."""
    above = 0
    for place in (i for i, kind in enumerate(negative) if kind):
        good = [score for i, score in enumerate(top) if not negative[i]]
        bad = [score for i, score in enumerate(top) if negative[i] and i != place]
        candidates = sorted(score for score in {*good, *bad} if math.isfinite(score))
        rate = [
            sum(s >= c for s in good) / len(good) + sum(s < c for s in bad) / len(bad) for c in candidates
        ]
        above += top[place] >= candidates[int(np.argmax(rate))]
    pairs = [(a, b) for i, a in enumerate(top) for j, b in enumerate(top) if not negative[i] and negative[j]]
    return above, sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether no other (cost, quality) is as good in both and better in one."""
    return [
        not any(c <= cost and q >= quality and (c < cost or q > quality) for c, q in points)
        for cost, quality in points
    ]


def all_pairs(systems: Sequence[str]) -> list[tuple[str, str]]:
    return list(combinations(systems, 2))
