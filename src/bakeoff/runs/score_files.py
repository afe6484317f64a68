"""Compares scores and rankings of other tools with the same statistics and verdict as a run's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from bakeoff.errors import ComparisonError, DataError, MeasureError, SettingError
from bakeoff.measures.api import evaluate
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset as find_preset
from bakeoff.measures.result import name_queries, rank_conflict_note
from bakeoff.measures.score_tables import SUFFIXES, ScoreTable, parse_known, read_score_table
from bakeoff.runs.analysis import open_run
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import Comparison, ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import Verdict, decide
from bakeoff.storage.ranking_files import (
    JSON_LINES,
    Rankings,
    read_qrels,
    read_rankings,
    read_run,
    read_table_rankings,
)
from bakeoff.storage.schemas import JUDGMENTS
from bakeoff.truth.clusters import query_clusters
from bakeoff.types import Json, Query

Missing = Literal["refuse", "zero", "leave-out"]
SEED = 7
MEASURE = "nDCG@10"


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """Systems compared on one measure from external scores; `conventions` is None if scores came precomputed."""

    comparison: Comparison
    verdict: Verdict
    conventions: Conventions | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemScores:
    """One system's scores by query; None means not computed, for the reason in `reasons`."""

    scores: Mapping[str, float | None]
    reasons: Mapping[str, str]


def compare_scores(
    systems: Sequence[str | Path] | Mapping[str, Json],
    measure: str | None = None,
    *,
    qrels: object = None,
    preset: str | None = None,
    missing: Missing = "refuse",
    score_range: tuple[float, float] | None = (0.0, 1.0),
    lower_is_better: bool = False,
    seed: int = SEED,
) -> ScoreComparison:
    """Compare systems paired by query: rankings if `qrels` is given, else per-query scores.

    `systems` are files, or {name: file, {query: score}, or with qrels anything `evaluate` accepts as a run}.
    A query missing in one system is an error, scores 0, or is left out of its pairs (`missing`).
    `score_range` and `lower_is_better` describe measures unknown to bakeoff.
    """
    if missing not in get_args(Missing):
        raise SettingError(f"missing is {missing!r}; use {', '.join(get_args(Missing))}.")
    named = name_sources(systems)
    if qrels is None:
        if preset is not None:
            raise SettingError("a preset scores rankings: give the judgments as well (--qrels).")
        name, scores = _read_scores(named, measure)
        return _compare(name, scores, missing, score_range, lower_is_better=lower_is_better, seed=seed)
    conventions = find_preset(preset).conventions if preset else DEFAULT
    name = str(parse(measure or MEASURE))
    ranked = read_ranked_files(named, qrels, conventions)
    scored = ranked.scores(name, missing)
    clusters = query_clusters_of(ranked.truth)
    outcome = _compare(
        name, scored, missing, score_range, lower_is_better=lower_is_better, seed=seed, clusters=clusters
    )
    return replace(outcome, conventions=conventions, notes=ranked.notes)


def name_sources(systems: Sequence[str | Path] | Mapping[str, object]) -> dict[str, object]:
    """Sources by system name; files are named by their stem, or by their path if stems repeat.

    A run folder gives one source per system. If two sources share a name, their paths are added.
    """
    if isinstance(systems, Mapping):
        return {str(name): source for name, source in systems.items()}
    paths = [Path(path) for path in systems]
    if len({path.resolve() for path in paths}) < len(paths):
        raise ComparisonError("the same file is listed twice. Compare different files.")
    stems = [path.stem for path in paths]
    named = ((path.stem if stems.count(path.stem) == 1 else str(path), path) for path in paths)
    systems_in = [
        (system, path, source) for name, path in named for system, source in _systems_in(name, path)
    ]
    often = Counter(system for system, _, _ in systems_in)
    return {
        system if often[system] == 1 else f"{system} ({path})": source for system, path, source in systems_in
    }


def _systems_in(name: str, path: Path) -> Iterator[tuple[str, object]]:
    """Systems of one path: several for a run folder, one for a file."""
    if not path.is_dir():
        yield name, path
        return
    result = open_run(path)
    rankings = read_table_rankings(result.rankings)
    yield from ((system, rankings.get(system, {})) for system in result.done)


def _read_scores(named: Mapping[str, Json], measure: str | None) -> tuple[str, dict[str, SystemScores]]:
    found: dict[str, SystemScores] = {}
    names: dict[str, str] = {}
    for system, source in named.items():
        if isinstance(source, Mapping):
            names.setdefault(measure or "score", system)
            found[system] = _from_mapping(system, source)
            continue
        table = _table(Path(source))
        name = table.measure(measure)
        names.setdefault(str(parse_known(name) or name), system)
        several = table.scores if len(table.scores) > 1 else {"": next(iter(table.scores.values()))}
        for inside, scores in several.items():
            label = inside or system
            if label in found:
                raise ComparisonError(f"system {label!r} has scores in two files. Give one file per system.")
            found[label] = SystemScores(scores.get(name, {}), {})
    if len(names) > 1:
        raise ComparisonError(
            f"the files score different measures: {', '.join(f'{m} ({s})' for m, s in names.items())}. "
            "Compare on a single measure (--measure)."
        )
    return next(iter(names), measure or "score"), found


def _table(path: Path) -> ScoreTable:
    if path.suffix not in SUFFIXES:
        raise SettingError(
            f"{path} is read as a TREC run, which needs judgments: give --qrels FILE. "
            f"Tables of scores end in {', '.join(SUFFIXES)}."
        )
    return read_score_table(path)


def _from_mapping(system: str, source: Mapping[str, object]) -> SystemScores:
    scores: dict[str, float | None] = {}
    for query, value in source.items():
        if value is not None and not isinstance(value, int | float | np.number):
            raise DataError(f"{system}, query {query!r}: the score {value!r} is not a number.")
        scores[str(query)] = None if value is None or np.isnan(value) else float(value)
    return SystemScores(scores, {})


@dataclass(frozen=True, slots=True)
class RankedFiles:
    """Rankings of several systems, read once, and the judgments that score them."""

    sources: Mapping[str, object]
    truth: object
    conventions: Conventions
    notes: tuple[str, ...]

    def scores(self, measure: str, missing: Missing) -> dict[str, SystemScores]:
        """Scores of every ranking on the judged queries that any of them has."""
        queries = {system: _queries(source) for system, source in self.sources.items()}
        judged, every = _queries(self.truth), set().union(*queries.values())
        rules = self.conventions
        if missing == "zero":
            rules = replace(rules, no_results="zero")
        scores = {}
        for system, source in self.sources.items():
            chosen = sorted((every if missing == "zero" else queries[system]) & judged)
            if not queries[system] & judged:
                raise DataError(
                    f"{system}: none of its {len(queries[system])} queries is judged. "
                    "Check that run and judgments use the same query ids."
                )
            result = evaluate(self.truth, source, [measure], conventions=rules, queries=chosen)
            reasons = {one.query: one.reason for one in result.excluded}
            scores[system] = SystemScores(result.column(measure), reasons)
        return scores


def read_ranked_files(named: Mapping[str, Json], qrels: Any, conventions: Conventions) -> RankedFiles:
    """Read rankings and judgments, with notes on queries that only some files have."""
    truth = read_qrels(Path(qrels)) if _is_text_file(qrels) else qrels
    notes: list[str] = []
    sources = {system: _ranking(system, source, conventions, notes) for system, source in named.items()}
    every = set().union(*(_queries(source) for source in sources.values()))
    judged = _queries(truth)
    if unjudged := every - judged:
        notes.append(f"left out because they have no judgments: {name_queries(unjudged)}.")
    if unanswered := judged - every:
        notes.append(f"left out because no file has results for them: {name_queries(unanswered)}.")
    return RankedFiles(sources, truth, conventions, tuple(notes))


def ranked_documents(ranked: RankedFiles) -> dict[str, dict[str, list[str]]]:
    """Documents of each system by query, best first."""
    documents: dict[str, dict[str, list[str]]] = {}
    for system, source in ranked.sources.items():
        each = cast("Mapping[str, list[str] | dict[str, float]]", source)
        documents[system] = {
            query: items if isinstance(items, list) else sorted(items, key=lambda one: -items[one])
            for query, items in each.items()
        }
    return documents


def query_clusters_of(truth: object) -> dict[str, str]:
    """Cluster of each judged query, as in a run: queries answered by the same documents belong together."""
    judged = _judgments(truth)
    documents = sorted({item for items in judged.values() for item in items})
    number = {name: place for place, name in enumerate(documents)}
    rows = [
        (place, number[item], None, None, grade, "qrels", "")
        for place, items in enumerate(judged.values())
        for item, grade in items.items()
    ]
    queries = [Query(name, "") for name in judged]
    return dict(zip(judged, query_clusters(queries, JUDGMENTS.table_of_rows(rows), documents), strict=True))


def _judgments(truth: object) -> dict[str, dict[str, int]]:
    """Judgments by query and item, from any accepted form."""
    if isinstance(truth, Mapping):
        return {str(query): dict(items) for query, items in truth.items()}
    from bakeoff.measures.tables import as_table, judgment_rows

    table = _parquet(Path(truth)) if isinstance(truth, str | Path) else as_table(truth)
    judgments: dict[str, dict[str, int]] = {}
    for query, item, grade in judgment_rows(table):
        judgments.setdefault(query, {})[item] = grade
    return judgments


def _is_text_file(source: object) -> bool:
    return isinstance(source, str | Path) and Path(source).suffix != ".parquet"


def _ranking(system: str, source: object, conventions: Conventions, notes: list[str]) -> object:
    """Read a run in a form `evaluate` accepts; a table of scores raises, ranks that contradict scores are noted."""
    if not isinstance(source, str | Path):
        return source
    path = Path(source)
    if path.suffix in (*JSON_LINES, ".parquet"):
        return _served_order(path, read_rankings(path), conventions)
    if path.suffix in SUFFIXES:
        raise SettingError(f"{path} is a table of scores. Remove --qrels, or give rankings.")
    served = read_run(path, by_rank=conventions.order == "served")
    if served.ordered:
        if against := served.rank_conflicts():
            notes.append(f"{system}: {rank_conflict_note(against)}")
        return {query: list(items) for query, items in served.by_query.items()}
    return served.by_query


def _served_order(
    path: Path, rankings: Rankings, conventions: Conventions
) -> dict[str, list[str] | dict[str, float]]:
    """Rankings of documents, each once: in served order, or with scores if the conventions sort by them."""
    found: dict[str, list[str] | dict[str, float]] = {}
    for query, rows in rankings.items():
        scores: dict[str, float] = {}
        for row in rows:
            if row.document is None:
                raise DataError(
                    f"{path}: query {query!r} has a result without a document. Place its text with a retriever: "
                    f"retrievers: [{{run: {{file: {path.name}}}}}]."
                )
            scores.setdefault(row.document, row.score if row.score is not None else -float(len(scores)))
        found[query] = list(scores) if conventions.order == "served" else scores
    return found


def _parquet(path: Path) -> object:
    import pyarrow as pa

    from bakeoff.storage.parquet_io import read_parquet

    try:
        return read_parquet(path)
    except (OSError, pa.ArrowException) as exc:
        raise DataError(f"{path} cannot be read as Parquet: {exc}.") from exc


def _queries(source: object) -> set[str]:
    if isinstance(source, Mapping):
        return {str(query) for query in source}
    from bakeoff.measures.tables import as_table, query_column

    table = _parquet(Path(source)) if isinstance(source, str | Path) else as_table(source)
    return {str(query) for query in query_column(table).unique().to_pylist()}


def _compare(
    measure: str,
    systems: Mapping[str, SystemScores],
    missing: Missing,
    score_range: tuple[float, float] | None,
    *,
    lower_is_better: bool,
    seed: int,
    clusters: Mapping[str, str] | None = None,
) -> ScoreComparison:
    if len(systems) < 2:
        raise ComparisonError(f"{len(systems)} system to compare; at least two are needed.")
    parsed = parse_known(measure)
    if parsed is not None:
        definition = parsed.definition
        lower_is_better = not definition.higher_is_better
        score_range = (definition.low, definition.high) if definition.high < float("inf") else None
    queries = tuple(sorted({query for one in systems.values() for query in one.scores}))
    if missing == "refuse":
        _refuse_gaps(systems, queries)
    if missing == "zero" and lower_is_better:
        raise SettingError(f"a low {measure} is good, so a missing query cannot count as 0. Use leave-out.")
    filler = 0.0 if missing == "zero" else np.nan
    values = np.array([[_number(one, query, filler) for query in queries] for one in systems.values()])
    _check_range(measure, values, score_range)
    matrix = ScoreMatrix(
        systems=tuple(systems),
        queries=queries,
        values=values,
        measure=measure,
        missing={
            (system, query): one.reasons.get(query, "it has no score for it")
            for system, one in systems.items()
            for query in queries
            if one.scores.get(query) is None
        },
        higher_is_better=not lower_is_better,
        bounds=score_range,
        clusters=tuple(clusters.get(query, f"query {query}") for query in queries) if clusters else (),
    )
    comparison = compare(matrix, seed)
    if apart := next((pair for pair in comparison.pairs if not pair.n), None):
        raise DataError(
            f"{apart.a} and {apart.b} share no scored query. Check that both use the same query ids."
        )
    return ScoreComparison(comparison, decide(Evidence(comparison)), None, ())


def _number(one: SystemScores, query: str, filler: float) -> float:
    value = one.scores.get(query)
    if value is None:
        return float("nan") if query in one.reasons else filler
    return value


def _refuse_gaps(systems: Mapping[str, SystemScores], queries: Sequence[str]) -> None:
    """Raise if systems were not scored on the same queries; queries that the truth leaves out for all don't
    count."""
    left_out = {query for one in systems.values() for query in one.reasons}
    gaps = {
        system: [query for query in queries if one.scores.get(query) is None and query not in left_out]
        for system, one in systems.items()
    }
    some = [f"{system} lacks {name_queries(lacking)}" for system, lacking in gaps.items() if lacking]
    if some:
        raise ComparisonError(
            f"the systems are not scored on the same {len(queries)} queries: {'; '.join(some)}. Score all on the same "
            "queries, or use --missing zero (a missing query scores 0) or --missing leave-out (pairs use the "
            "queries both have)."
        )


def _check_range(measure: str, values: Any, score_range: tuple[float, float] | None) -> None:
    if score_range is None:
        return
    low, high = score_range
    if not low < high:
        raise SettingError(f"the range {low:g} to {high:g} is empty. Give the lowest score first.")
    wrong = values[(values < low - 1e-9) | (values > high + 1e-9)]
    if wrong.size:
        hint = "" if parse_known(measure) else " Give its range with --range LOW,HIGH, or --range none."
        raise MeasureError(f"a score of {measure} is {wrong[0]:g}, outside {low:g} to {high:g}.{hint}")
