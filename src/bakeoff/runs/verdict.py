"""Gathers the evidence from a result, and reaches the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bakeoff.config.modes import RETRIEVER
from bakeoff.errors import ComparisonError
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.runs.analysis import Result
from bakeoff.runs.decisive_systems import decisive_comparison
from bakeoff.runs.empty_searches import empty_search_sentences
from bakeoff.runs.once import once_per_result
from bakeoff.runs.placements import placement_sentences
from bakeoff.runs.system_needs import decision_rule, question_cost, question_tokens, running_parts
from bakeoff.stats.bootstrap import BootstrapSettings
from bakeoff.stats.clusters import Clusters
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import Comparison
from bakeoff.stats.evidence import CostLimits, Costs, Evidence, Thresholds
from bakeoff.stats.factors import FactorAnalysis, factor_shares
from bakeoff.stats.interaction import Interaction, interactions
from bakeoff.stats.loss import BEYOND_DEPTH, CEILING, Stage, Waterfall, waterfall
from bakeoff.stats.quantiles import quantile_between
from bakeoff.stats.recommendation import find_regrets
from bakeoff.stats.selection import Selection, select
from bakeoff.stats.verdict import Verdict, decide
from bakeoff.stats.verdict_input import VerdictInput
from bakeoff.types import TableRow


def decide_run(result: Result) -> Verdict:
    """The verdict on the primary measure, under the experiment's limits.

    Its first reasons: whose judgments it uses (F58), empty searches (F56), and results outside the corpus.
    """
    verdict = decide(gather_evidence(result))
    people = (result.reviewed.sentence,) if result.reviewed else ()
    empty = empty_search_sentences(result.record.empty_searches)
    placed = placement_sentences(result.record.placements, result.record.primary)
    return replace(verdict, reasons=(*people, *empty, *placed, *verdict.reasons))


@once_per_result
def gather_evidence(result: Result) -> Evidence:
    """Collect everything the verdict may use, from stored rows."""
    evidence = _primary_evidence(result)
    matrix = result.matrix(result.record.primary)
    evidence = replace(evidence, regrets=find_regrets(matrix, evidence, result.record.seed))
    if not VerdictInput.of(evidence).saturated:
        return evidence
    return replace(evidence, other_measures=tuple(_other_measures(result, VerdictInput.of(evidence).group)))


def _other_measures(result: Result, systems: tuple[str, ...]) -> Iterator[Comparison]:
    """Comparisons of some systems on the run's other quality measures."""
    for name in result.record.measures:
        definition = parse(name).definition
        quality = definition.higher_is_better and definition.high < float("inf")
        if quality and definition.needs is RequiredInput.JUDGMENTS and name != result.record.primary:
            yield compare(result.matrix(name).only(systems), result.record.seed)


def _primary_evidence(result: Result) -> Evidence:
    limits = result.record.limits
    index_mb, memory_mb = limits.get("index_mb"), limits.get("memory_mb")
    return Evidence(
        comparison=decisive_comparison(result),
        interactions=_interactions(result),
        lift=semantic_lift(result),
        costs={system: system_costs(result, system) for system in result.done},
        thresholds=verdict_thresholds(result),
        limits=CostLimits(
            p95_ms=limits.get("p95_ms"),
            index_bytes=index_mb * 1e6 if index_mb is not None else None,
            # a run does not measure memory: a memory limit excludes every system, and says so
            memory_bytes=memory_mb * 1e6 if memory_mb is not None else None,
        ),
    )


def verdict_thresholds(result: Result) -> Thresholds:
    """The thresholds of the verdict rules, with the margin of the run's experiment."""
    return Thresholds(margin=decision_rule(result).margin)


def semantic_lift(result: Result) -> Comparison | None:
    """All pairs of systems on semantic lift; None if people judged no query for two systems."""
    named = [name for name in result.record.measures if parse(name).name == "SemLift"]
    try:
        comparison = result.compare(named[0]) if named else None
    except ComparisonError:
        return None  # nobody has judged yet
    return comparison if comparison is not None and any(pair.n for pair in comparison.pairs) else None


def loss_waterfall(result: Result, system: str) -> Waterfall | None:
    """From the best possible score to the served one, step by step; None if the primary measure has no steps."""
    import numpy as np
    import pyarrow.compute as pc

    rows = result.losses.filter(pc.equal(result.losses["system"], system))
    steps = list(dict.fromkeys(rows["step"].to_pylist()))
    if not steps:
        return None
    values = rows["reachable"].to_numpy(zero_copy_only=False).reshape(len(steps), -1)
    reached = dict(zip(steps, values, strict=True))
    deep = reached.get(BEYOND_DEPTH)
    if deep is not None and np.array_equal(deep, reached[CEILING], equal_nan=True):
        del reached[BEYOND_DEPTH]  # the depth costs nothing on any question
    return waterfall([Stage(step, row) for step, row in reached.items()])


@dataclass(frozen=True, slots=True)
class FalseAlarmStats:
    """How well a system's top score separates unanswerable questions from the others.

    `above` is None for a single such question: none is left to set a threshold on.
    """

    negatives: int
    above: int | None
    auroc: float


def false_alarms(result: Result, system: str) -> FalseAlarmStats | None:
    """Negative questions whose top score exceeds a threshold chosen on all other questions."""
    import numpy as np
    import pyarrow.compute as pc

    from bakeoff.measures.negatives import auroc, choose_threshold

    table = result.queries
    first = result.rankings.filter(
        pc.and_(pc.equal(result.rankings["system"], system), pc.equal(result.rankings["rank"], 1))
    )
    top = dict(zip(first["query_id"].to_pylist(), first["score"].to_pylist(), strict=True))
    ids, negative = table["query_id"].to_pylist(), table["negative"].to_pylist()
    scores = np.array([top.get(name, -np.inf) for name in ids])
    wrong = np.array(negative, dtype=bool)
    if not wrong.any() or wrong.all() or not np.isfinite(scores).any():
        return None
    above = 0
    for place in np.flatnonzero(wrong) if wrong.sum() > 1 else ():
        others = np.arange(len(ids)) != place
        threshold = choose_threshold(scores[~wrong], scores[wrong & others])
        above += int(scores[place] >= threshold)
    return FalseAlarmStats(
        int(wrong.sum()), above if wrong.sum() > 1 else None, auroc(scores[~wrong], scores[wrong])
    )


def tie_notes(result: Result) -> list[str]:
    """Notes on how much primary scores depend on the order of equal scores (F17); empty if they don't."""
    import pyarrow.compute as pc

    rows = result.ties.filter(pc.equal(result.ties["measure"], result.record.primary)).to_pylist()
    if not rows:
        return []
    systems = len({row["system"] for row in rows})
    among = f"{systems} system{'s' if systems != 1 else ''}"
    scores, depend = ("1 score", "depends") if len(rows) == 1 else (f"{len(rows)} scores", "depend")
    widest = max(row["high"] - row["low"] for row in rows)
    return [
        f"{scores} of {result.record.primary} (in {among}) {depend} on the order of equally "
        f"scored results, by up to {widest:.3f}; the served order is scored{_by_chance(result, rows)}."
    ]


def _by_chance(result: Result, rows: list[TableRow]) -> str:
    """Mean of the scores that ties affect, as served and over all orders, from worst to best."""
    scored = [row for row in rows if row["expected"] is not None and row["system"] in result.done]
    if not scored:
        return ""
    matrix = result.matrix(result.record.primary)
    place = {query: number for number, query in enumerate(matrix.queries)}
    served = dict(zip(matrix.systems, matrix.values, strict=True))
    means = [
        sum(note) / len(scored)
        for note in (
            [float(served[row["system"]][place[row["query_id"]]]) for row in scored],
            *([row[name] for row in scored] for name in ("expected", "low", "high")),
        )
    ]
    means_text = "their mean is {:.3f}, over all orders {:.3f} (from {:.3f} to {:.3f})".format(*means)
    return f" ({means_text})"


FACTORS = ("reader", "chunker", "embedder", "store", "mode", "reranker")
FOLDS = 5


def with_reader(row: TableRow) -> TableRow:
    """A system's row with its reader separated from its chunker, if readers are compared."""
    stored = json.loads(row["params"] or "[]")
    chosen = stored[-1] if stored else None
    label = chosen.get("reading", {}).get("label", "") if isinstance(chosen, dict) else ""
    return {**row, "reader": label, "chunker": (row["chunker"] or "").removeprefix(f"{label} · ")}


@once_per_result
def explain_variation(result: Result) -> FactorAnalysis | None:
    """Share of the variation between systems explained by chunker, model, store and mode; None if nothing varies."""
    matrix = result.matrix(result.record.primary)
    rows = [with_reader(row) for row in result.systems.to_pylist() if row["system"] in matrix.systems]
    rows = [row for row in rows if row["mode"] != RETRIEVER.name]  # it is not a combination of parts
    if len(rows) < 2:
        return None
    matrix = matrix.only(tuple(row["system"] for row in rows)).sort_queries()
    factors: dict[str, list[str | None]] = {name: [row[name] or "none" for row in rows] for name in FACTORS}
    # keyword search has neither model nor vector store: its distance to the others belongs to its mode
    for name in ("embedder", "store"):
        factors[name] = [row[name] if row["embedder"] else None for row in rows]
    try:
        clusters = Clusters.of(matrix.clusters, len(matrix.queries))
        return factor_shares(matrix.without_structural(), factors, result.record.seed, clusters=clusters)
    except ComparisonError:
        return None  # one system, one query or no spread: nothing to explain


@once_per_result
def held_out_score(result: Result) -> Selection | None:
    """Score of the best system on questions it was not chosen on (F30); None with too few questions."""
    try:
        return select(result.matrix(result.record.primary), FOLDS, result.record.seed)
    except ComparisonError:
        return None


def system_costs(result: Result, system: str) -> Costs:
    """A system's cost per query and on disk, as far as the run measured it."""
    sizes = dict(
        zip(result.systems["system"].to_pylist(), result.systems["index_bytes"].to_pylist(), strict=True)
    )
    tokens = question_tokens(result).get(system)
    return Costs(
        p95_ms=result.timing(system, "total", "p95_ms"),
        index_bytes=sizes[system],
        p95_between=_latency_between(result).get((system, 0.95)),
        p50_ms=result.timing(system, "total", "p50_ms"),
        p50_between=_latency_between(result).get((system, 0.5)),
        cost=question_cost(result, system),
        tokens=tokens.mean if tokens else None,
        tokens_between=tokens.between if tokens else None,
        parts=running_parts(result)[system],
    )


@once_per_result
def _latency_between(result: Result) -> dict[tuple[str, float], tuple[float, float]]:
    """95 % intervals of each system's p50 and p95 in milliseconds; empty if samples are not stored."""
    import numpy as np

    from bakeoff.pipeline.system_tables import LATENCIES
    from bakeoff.runs.folder import translate_table_errors
    from bakeoff.storage.parquet_io import read_parquet

    path = result.table_file(LATENCIES)
    if not path.is_file():
        return {}
    with translate_table_errors(path):
        rows = read_parquet(path, columns=["system", "total_ms"]).drop_null()
    names = rows["system"].combine_chunks().dictionary_encode()
    codes, times = names.indices.to_numpy(), rows["total_ms"].to_numpy()
    return {
        (name, share): quantile_between(np.sort(times[codes == code]), share, 0.95)
        for code, name in enumerate(names.dictionary.to_pylist())
        for share in (0.5, 0.95)
    }


def _interactions(result: Result) -> tuple[Interaction, ...]:
    """The best system against each one it is not shown to beat, by category."""
    comparison, matrix = decisive_comparison(result), result.matrix(result.record.primary)
    rivals = [system for system in comparison.indistinguishable_from_best if system != comparison.best]
    if comparison.best is None or not rivals or len({c for c in matrix.categories if c}) < 2:
        return ()
    return interactions(matrix, comparison.best, rivals, BootstrapSettings(result.record.seed))


@once_per_result
def verdict_without_leaks(result: Result) -> Verdict | None:
    """The verdict on the queries that don't occur in a document; None if none does, or all do (F10)."""
    leaked = result.record.leaked
    if not leaked or set(leaked) >= set(result.queries["query_id"].to_pylist()):
        return None
    return decide_run(result.without(leaked))


def leak_sentence(result: Result) -> str:
    """Sentence with the verdict without leaked queries; '' if there is none."""
    verdict = verdict_without_leaks(result)
    if verdict is None:
        return ""
    leaked, every = len(result.record.leaked), result.queries.num_rows
    questions = f"{leaked:,} of {every:,} questions ({leaked / every:.0%})"
    return f"Without the {questions} that occur word for word in a document: {verdict.sentence}"
