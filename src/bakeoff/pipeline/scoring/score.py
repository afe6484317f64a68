"""score: rankings and truth → one value per query and measure; what can't be computed is null, never zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from bakeoff.errors import MeasureError, SystemFailure
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.scoring.inputs import ScoringInputs, UnitJudgments, flatten_rankings, with_spans
from bakeoff.pipeline.scoring.scorable import needs_whole_corpus
from bakeoff.runtime.count_text import count
from bakeoff.storage.schemas import SCORES
from bakeoff.truth.rules import section_titles
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.measures.spans import SpanArrays

INCOMPLETE = " (incomplete)"
"""Appended to the truth source of a score if its query names files that were not read."""


def measure_values(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    """One value per query for each measure; NaN if not computed."""
    columns: dict[Measure, np.ndarray] = {}
    for need in dict.fromkeys(measure.needs for measure in measures):
        columns |= _SCORERS[need](scored, [m for m in measures if m.needs is need])
    return columns


def score_table(
    run: str, system: str, scored: ScoringInputs, columns: dict[Measure, np.ndarray], measures: list[Measure]
) -> pa.Table:
    """The values as rows, in the order of the measures."""
    _refuse_all_zero(measures[0], columns[measures[0]])
    return _table(run, system, scored, {measure: columns[measure] for measure in measures})


def judged_values(scored: ScoringInputs, measure: Measure) -> np.ndarray:
    """One value of a measure per query, against judgments; NaN if not computed."""
    return _by_judgments(scored, [measure])[measure]


def _by_judgments(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    groups: dict[tuple[Unit, int | None, str], list[Measure]] = {}
    for measure in measures:
        key = (measure.unit or Unit.DOCUMENT, measure.budget, measure.source)
        groups.setdefault(key, []).append(measure)
    columns: dict[Measure, np.ndarray] = {}
    for (unit, *_), chosen in groups.items():
        complete = scored.chunking.whole or not needs_whole_corpus(chosen[0])
        columns |= _at_unit(scored, unit, chosen) if complete else _unknown(scored, chosen)
    return columns


def _unknown(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    """NaN values for measures that are not computed for any query."""
    import numpy as np

    return {measure: np.full(len(scored.queries.queries), np.nan) for measure in measures}


def _at_unit(scored: ScoringInputs, unit: Unit, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    """Compute all measures of one unit, budget and truth source in one pass over rankings and judgments."""
    rows, plain = flatten_rankings(scored.ranking), measures
    if measures[0].budget is not None:
        kept = scored.affordable(measures[0])
        rows = rows[0][kept], rows[1][kept], rows[2][kept]
        plain = [measure.at_depth(len(kept)) for measure in measures]
    values = UnitJudgments(scored, unit, measures[0].source).scores(*rows, plain).values
    return {measure: values[:, i] for i, measure in enumerate(measures)}


def _by_spans(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    import numpy as np

    from bakeoff.measures.spans import SpanArrays, span_scores

    query, chunk, _ = flatten_rankings(scored.ranking)
    doc, start, end = (scored.chunking.chunks[n].to_numpy()[chunk] for n in ("doc", "start", "end"))
    retrieved = SpanArrays(query, doc, start, end, _ranks(scored.ranking))
    everyone = np.arange(len(scored.queries.queries))
    names = {"SpanRecall": "recall", "SpanPrecision": "precision", "SpanIoU": "iou"}
    columns = {}
    for measure in measures:
        read = retrieved if measure.budget is None else retrieved.where(scored.affordable(measure))
        scores = span_scores(read, _gold_spans(scored, measure.source), everyone, measure.k or len(query))
        columns[measure] = getattr(scores, names[measure.name])
    return columns


def _gold_spans(scored: ScoringInputs, source: str) -> SpanArrays:
    from bakeoff.measures.spans import SpanArrays
    from bakeoff.truth.units import judgments_from

    table = with_spans(judgments_from(scored.truth.judgments, source))
    return SpanArrays(*(table[name].to_numpy() for name in ("query", "doc", "start", "end")))


def _by_sections(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    import numpy as np

    from bakeoff.measures.sections import section_scores

    names = {"SecAcc": "universal", "SecAcc_primary": "primary", "SecAcc_returned": "returned"}
    # only of the served chunks: there may be millions
    _, chunk, _ = flatten_rankings(scored.ranking)
    sections = iter(scored.chunking.chunks["section"].take(chunk).to_pylist())
    by_query = [list(islice(sections, len(hit.ids))) for hit in scored.ranking.hits]
    columns = {measure: np.full(len(scored.queries.queries), np.nan) for measure in measures}
    for place, rule in enumerate(scored.queries.rules):
        targets, universal = section_titles(rule, scored.conventions.universal_sections)
        if not targets:
            continue
        conventions = replace(scored.conventions, universal_sections=universal)
        served = by_query[place]
        for measure in measures:
            scores = section_scores(served, targets, measure.k or len(served), conventions)
            columns[measure][place] = getattr(scores, names[measure.name])
    return columns


def _by_tokens(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    import numpy as np

    from bakeoff.measures.spans import tokens_at

    query, chunk, _ = flatten_rankings(scored.ranking)
    rank, counts = _ranks(scored.ranking), scored.tokens()
    everyone = np.arange(len(scored.queries.queries))
    columns = {}
    for m in measures:
        k = m.k or len(query)
        rows = rank <= k if m.budget is None else scored.affordable(m)
        columns[m] = tokens_at(query[rows], rank[rows], counts[chunk[rows]], everyone, k)
    return columns


def _by_top_scores(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    """FalseAlarm@t and AUROC, defined on negative queries only.

    A negative query's share of AUROC is the fraction of answerable ones above it, so that the mean is the
    AUROC.
    """
    import numpy as np

    from bakeoff.measures.negatives import auroc

    hits, queries = scored.ranking.hits, scored.queries.queries
    top = np.array([hit.scores[0] if len(hit.scores) else -np.inf for hit in hits])
    negative = np.array([query.negative for query in queries])

    def value(measure: Measure, score: float) -> float:
        if measure.name == "AUROC":
            return auroc(top[~negative], np.array([score]))
        return float(score >= (measure.t or 0.0))

    columns = {m: np.full(len(queries), np.nan) for m in measures}
    for measure, column in columns.items():
        column[negative] = [value(measure, score) for score in top[negative]]
    return columns


def _by_neighbours(scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    """Overlap of the index's results with exact search; null for a system that doesn't search by vector."""
    legs = scored.neighbours()
    if legs is None:
        return _unknown(scored, measures)
    judged = [measure for measure in measures if measure.definition.needs is RequiredInput.JUDGMENTS]
    columns = _neighbours_judged(scored, legs, judged) if judged else {}
    return columns | _recalls(scored, legs, [measure for measure in measures if measure not in judged])


def _recalls(
    scored: ScoringInputs, legs: tuple[StepResult, StepResult], measures: list[Measure]
) -> dict[Measure, np.ndarray]:
    from bakeoff.measures.neighbours import knn_recall, recall_of_100

    deepest = max((measure.k or 0 for measure in measures if measure.name != "R100"), default=0)
    (retrieved, near), (exact, nearest) = (_tables(leg, deepest) for leg in legs)
    tolerance = scored.conventions.knn_tolerance
    columns = {}
    for measure in measures:
        k = measure.k or 0
        if measure.name == "R100":
            columns[measure] = recall_of_100(retrieved, exact, k)
        else:
            columns[measure] = knn_recall(
                retrieved, exact, k, found_distance=-near, exact_distance=-nearest, tolerance=tolerance
            )
    return columns


def _neighbours_judged(
    scored: ScoringInputs, legs: tuple[StepResult, StepResult], measures: list[Measure]
) -> dict[Measure, np.ndarray]:
    """Judgment-based measures with the 100 exact neighbours as the only relevant items (S1-3, S1-5)."""
    import numpy as np

    from bakeoff.measures.arrays import JudgmentArrays, RankingArrays
    from bakeoff.measures.evaluate import evaluate
    from bakeoff.measures.neighbours import TRUE_NEIGHBOURS

    retrieved, exact = (flatten_rankings(leg) for leg in legs)
    near = _ranks(legs[1]) <= TRUE_NEIGHBOURS
    scores = evaluate(
        RankingArrays(*retrieved),
        JudgmentArrays.from_columns(exact[0][near], exact[1][near], np.ones(int(near.sum()), np.int8)),
        measures,
        conventions=replace(scored.conventions, order="served", score_precision="double"),
        queries=np.arange(len(scored.queries.queries)),
    )
    return {measure: scores.values[:, i] for i, measure in enumerate(measures)}


def _tables(leg: StepResult, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and scores, one row per query and at least `least` columns, padded with −1 and −∞."""
    import numpy as np

    width = max(least, *(len(hit.ids) for hit in leg.hits))
    ids = np.full((len(leg.hits), width), -1, np.int64)
    scores = np.full((len(leg.hits), width), -np.inf)
    for row, hit in enumerate(leg.hits):
        ids[row, : len(hit.ids)], scores[row, : len(hit.ids)] = hit.ids, hit.scores
    return ids, scores


def _from_labels(_scored: ScoringInputs, measures: list[Measure]) -> dict[Measure, np.ndarray]:
    raise MeasureError(f"{measures[0]} needs {measures[0].needs}, which a run does not have. Remove it.")


_SCORERS: dict[RequiredInput, Callable[[ScoringInputs, list[Measure]], dict[Measure, np.ndarray]]] = {
    RequiredInput.JUDGMENTS: _by_judgments,
    RequiredInput.SPANS: _by_spans,
    RequiredInput.SECTIONS: _by_sections,
    RequiredInput.TOKENS: _by_tokens,
    RequiredInput.TOP_SCORES: _by_top_scores,
    RequiredInput.NEIGHBOURS: _by_neighbours,
    RequiredInput.LABELS: _from_labels,
}


def _ranks(ranking: StepResult) -> np.ndarray:
    import numpy as np

    return np.concatenate([np.arange(1, len(hit.ids) + 1) for hit in ranking.hits])


def _refuse_all_zero(measure: Measure, values: np.ndarray) -> None:
    import numpy as np

    there = values[~np.isnan(values)]
    if measure.definition.higher_is_better and len(there) and not there.any():
        raise SystemFailure(
            f"{measure} is 0 for every query ({count(len(there), 'query', 'queries')}). The truth does not fit the "
            "corpus, or the system is broken: look at rankings and truth."
        )


def _table(run: str, system: str, scored: ScoringInputs, columns: dict[Measure, np.ndarray]) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    ids = [query.id for query in scored.queries.queries]
    values = np.concatenate(list(columns.values()))
    total = len(values)
    names = [str(measure) for measure in columns for _ in ids]
    units = [str(measure.unit or "") for measure in columns for _ in ids]
    sources = {name: _sources(scored, name) for name in {measure.source for measure in columns}}
    return SCORES.table(
        {
            "run": pa.repeat(run, total),
            "system": pa.repeat(system, total),
            "query_id": ids * len(columns),
            "measure": names,
            "unit": units,
            "source": [one for measure in columns for one in sources[measure.source]],
            "value": pa.array(values, mask=np.isnan(values)),
        }
    )


def _sources(scored: ScoringInputs, source: str) -> list[str]:
    """Truth sources of each query, joined, with a mark if files of its truth were not read; just `source` for
    a measure by one source."""
    from bakeoff.truth.units import judgments_from

    table = judgments_from(scored.truth.judgments, source)
    sources: dict[int, dict[str, None]] = {}
    for query, name in zip(table["query"].to_pylist(), table["source"].to_pylist(), strict=True):
        sources.setdefault(query, {})[name] = None
    missing = {one.query_id for one in scored.truth.unread}
    return [
        "+".join(sources.get(place, {})) + (INCOMPLETE if query.id in missing else "")
        for place, query in enumerate(scored.queries.queries)
    ]
