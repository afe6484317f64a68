"""Scores and rankings of other tools → the comparison and verdict that a run's own scores get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from bakeoff.errors import ComparisonError, DataError, MeasureError, SettingError
from bakeoff.measures.api import evaluate
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.files import read_qrels, read_run
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset as find_preset
from bakeoff.measures.score_tables import SUFFIXES, ScoreTable, parse_known, read_score_table
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import Comparison, ScoreMatrix
from bakeoff.stats.evidence import Evidence
from bakeoff.stats.verdict import Verdict, decide

Missing = Literal["refuse", "zero", "leave-out"]
SEED = 7
MEASURE = "nDCG@10"
NAMED = 5
"""Queries an error message lists."""


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """Systems compared on one measure from outside scores; `conventions` is None for scores that came computed."""

    comparison: Comparison
    verdict: Verdict
    conventions: Conventions | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SystemScores:
    """The scores of one system by query; None is not computed, `reasons` has why."""

    scores: Mapping[str, float | None]
    reasons: Mapping[str, str]


def compare_scores(
    systems: Sequence[str | Path] | Mapping[str, Any],
    measure: str | None = None,
    *,
    qrels: Any = None,
    preset: str | None = None,
    missing: Missing = "refuse",
    score_range: tuple[float, float] | None = (0.0, 1.0),
    lower_is_better: bool = False,
    seed: int = SEED,
) -> ScoreComparison:
    """Compare systems paired by query: rankings where `qrels` is given, else per-query scores.

    `systems` are files, or {name: file, {query: score}, or with qrels anything `evaluate` takes as a run}. A query
    that one system lacks is an error, scores 0, or is left out of its pairs (`missing`). `score_range` and
    `lower_is_better` describe measures that bakeoff does not know.
    """
    if missing not in get_args(Missing):
        raise SettingError(f"missing is {missing!r}; use {', '.join(get_args(Missing))}.")
    named = _name_sources(systems)
    if qrels is None:
        if preset is not None:
            raise SettingError("a preset scores rankings: give the judgments as well (--qrels).")
        name, found = _read_scores(named, measure)
        return _compare(name, found, missing, score_range, lower_is_better, seed)
    conventions = find_preset(preset).conventions if preset else DEFAULT
    name = str(parse(measure or MEASURE))
    scored, notes = _score_rankings(named, qrels, name, conventions, missing)
    outcome = _compare(name, scored, missing, score_range, lower_is_better, seed)
    return replace(outcome, conventions=conventions, notes=notes)


def _name_sources(systems: Sequence[str | Path] | Mapping[str, Any]) -> dict[str, Any]:
    """Sources by system name; files are named by their stem, or by their path where stems repeat."""
    if isinstance(systems, Mapping):
        return {str(name): source for name, source in systems.items()}
    paths = [Path(path) for path in systems]
    if len({path.resolve() for path in paths}) < len(paths):
        raise ComparisonError("a file is given twice. Compare different files.")
    stems = [path.stem for path in paths]
    return {(path.stem if stems.count(path.stem) == 1 else str(path)): path for path in paths}


def _read_scores(named: Mapping[str, Any], measure: str | None) -> tuple[str, dict[str, _SystemScores]]:
    found: dict[str, _SystemScores] = {}
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
                raise ComparisonError(f"system {label!r} has scores in two files. Give each system one.")
            found[label] = _SystemScores(scores.get(name, {}), {})
    if len(names) > 1:
        raise ComparisonError(
            f"the files score different measures: {', '.join(f'{m} ({s})' for m, s in names.items())}. "
            "Compare one and the same measure (--measure)."
        )
    return next(iter(names), measure or "score"), found


def _table(path: Path) -> ScoreTable:
    if path.suffix not in SUFFIXES:
        raise SettingError(
            f"{path} is read as a TREC run, which needs judgments: give --qrels FILE. "
            f"Tables of scores end in {', '.join(SUFFIXES)}."
        )
    return read_score_table(path)


def _from_mapping(system: str, source: Mapping[str, Any]) -> _SystemScores:
    scores: dict[str, float | None] = {}
    for query, value in source.items():
        if value is not None and not isinstance(value, int | float | np.number):
            raise DataError(f"{system}, query {query!r}: the score {value!r} is not a number.")
        scores[str(query)] = None if value is None or np.isnan(value) else float(value)
    return _SystemScores(scores, {})


def _score_rankings(
    named: Mapping[str, Any], qrels: Any, measure: str, conventions: Conventions, missing: Missing
) -> tuple[dict[str, _SystemScores], tuple[str, ...]]:
    """The scores of every ranking on the judged queries that any of them has."""
    truth = read_qrels(Path(qrels)) if _is_text_file(qrels) else qrels
    sources = {system: _ranking(source, conventions) for system, source in named.items()}
    asked = {system: _queries(source) for system, source in sources.items()}
    judged = _queries(truth)
    every = set().union(*asked.values()) if asked else set()
    rules = replace(conventions, no_results="zero") if missing == "zero" else conventions
    found = {}
    for system, source in sources.items():
        chosen = sorted((every if missing == "zero" else asked[system]) & judged)
        if not asked[system] & judged:
            raise DataError(
                f"{system}: none of its {len(asked[system])} queries is judged. "
                "Check that run and judgments name queries alike."
            )
        result = evaluate(truth, source, [measure], conventions=rules, queries=chosen)
        reasons = {one.query: one.reason for one in result.excluded}
        found[system] = _SystemScores(result.column(measure), reasons)
    notes = []
    if unjudged := every - judged:
        notes.append(f"left out, because they have no judgments: {_count(unjudged)}.")
    if unanswered := judged - every:
        notes.append(f"left out, because no file has results for them: {_count(unanswered)}.")
    return found, tuple(notes)


def _is_text_file(source: Any) -> bool:
    return isinstance(source, str | Path) and Path(source).suffix != ".parquet"


def _ranking(source: Any, conventions: Conventions) -> Any:
    """A run that `evaluate` takes, read once; a table of scores is refused."""
    if not isinstance(source, str | Path):
        return source
    path = Path(source)
    if path.suffix in SUFFIXES and path.suffix != ".parquet":
        raise SettingError(f"{path} is a table of scores. Leave out --qrels, or give TREC runs.")
    if path.suffix == ".parquet":
        return _parquet(path)
    served = read_run(path, by_rank=conventions.order == "served")
    if served.ordered:
        return {query: list(items) for query, items in served.by_query.items()}
    return served.by_query


def _parquet(path: Path) -> Any:
    import pyarrow as pa

    from bakeoff.storage.parquet_io import read_parquet

    try:
        return read_parquet(path)
    except (OSError, pa.ArrowException) as exc:
        raise DataError(f"{path} cannot be read as Parquet: {exc}.") from exc


def _queries(source: Any) -> set[str]:
    if isinstance(source, Mapping):
        return {str(query) for query in source}
    from bakeoff.measures.tables import as_table, query_column

    table = _parquet(Path(source)) if isinstance(source, str | Path) else as_table(source)
    return {str(query) for query in query_column(table).unique().to_pylist()}


def _compare(
    measure: str,
    systems: Mapping[str, _SystemScores],
    missing: Missing,
    score_range: tuple[float, float] | None,
    lower_is_better: bool,
    seed: int,
) -> ScoreComparison:
    if len(systems) < 2:
        raise ComparisonError(f"{len(systems)} system to compare; give at least two.")
    known = parse_known(measure)
    if known is not None:
        definition = known.definition
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
            (system, query): one.reasons.get(query, "it has no score of it")
            for system, one in systems.items()
            for query in queries
            if one.scores.get(query) is None
        },
        higher_is_better=not lower_is_better,
        bounds=score_range,
    )
    comparison = compare(matrix, seed)
    if apart := next((pair for pair in comparison.pairs if not pair.n), None):
        raise DataError(f"{apart.a} and {apart.b} share no scored query. Check that both name queries alike.")
    return ScoreComparison(comparison, decide(Evidence(comparison)), None, ())


def _number(one: _SystemScores, query: str, filler: float) -> float:
    value = one.scores.get(query)
    if value is None:
        return float("nan") if query in one.reasons else filler
    return value


def _refuse_gaps(systems: Mapping[str, _SystemScores], queries: Sequence[str]) -> None:
    """Refuse systems that were not scored on the same queries; what truth leaves out for all is no gap."""
    left_out = {query for one in systems.values() for query in one.reasons}
    gaps = {
        system: [query for query in queries if one.scores.get(query) is None and query not in left_out]
        for system, one in systems.items()
    }
    some = [f"{system} lacks {_count(lacking)}" for system, lacking in gaps.items() if lacking]
    if some:
        raise ComparisonError(
            f"the systems are not scored on the same {len(queries)} queries: {'; '.join(some)}. Score all on the same "
            "queries, or use --missing zero (a missing query scores 0) or --missing leave-out (pairs use the "
            "queries both have)."
        )


def _count(queries: Iterable[str]) -> str:
    every = sorted(queries)
    word = "query" if len(every) == 1 else "queries"
    more = ", …" if len(every) > NAMED else ""
    return f"{len(every)} {word} ({', '.join(every[:NAMED])}{more})"


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
