"""A run scored by human judgments, so that verdict, report and exports use them (F58)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from bakeoff.errors import ComparisonError, SettingError
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.labels import LabelScores, label_scores
from bakeoff.measures.names import Measure, parse
from bakeoff.review.human_scores import Scores, can_judge, human_scores, judged_rankings
from bakeoff.review.judgment_set import HUMAN, reviewers
from bakeoff.review.measures import NAMES, pool_rankings
from bakeoff.review.outcomes import OutcomeState, labels_of
from bakeoff.review.review_folder import ReviewState, load_state, open_review
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.record import ExcludedQuery, ReviewedTruth
from bakeoff.runtime.events import Emit, no_listener
from bakeoff.storage.schemas import SCORES

if TYPE_CHECKING:
    import pyarrow as pa

    from bakeoff.runs.live.live_system import LiveSystem
    from bakeoff.runtime.scheduler import WorkerPool

Truth = Literal["reviewed", "rules"]
Row = tuple[str, str, str, float | None]
"""System, query, measure, value."""
BY_RULES = "Rules judge all questions."
NOT_JUDGED = "people have not judged all its results"
NOTHING_RELEVANT = "people found no relevant result"


def open_reviewed(
    folder: str | Path,
    workers: WorkerPool | None = None,
    *,
    trust: bool = False,
    review: str | Path | None = None,
    truth: Truth = "reviewed",
) -> Result:
    """The result in a run's folder, scored by people's judgments where a review of it has any.

    `review` is the review's folder where that is not `reviews/NAME`; `truth="rules"` leaves people's judgments out;
    `trust` accepts tables that were edited.
    """
    if truth not in get_args(Truth):
        raise SettingError(f"{truth!r} is not a truth. Choose one of {', '.join(get_args(Truth))}.")
    result = open_run(folder, workers, trust=trust)
    if review is not None:
        result = result.with_review_folder(Path(review))
    return with_people(result) if truth == "reviewed" else result


def load_system(
    run: str | Path,
    system: str | None = None,
    *,
    experiment_file: str | Path | None = None,
    home: str | Path | None = None,
    emit: Emit = no_listener,
) -> LiveSystem:
    """Open a system of a finished run, by default the recommended one, using the cache.

    `system` is a label, a letter of the table of systems, or words that only one label has. Where people judged the
    run, recommendation and letters follow their judgments, as with `open_reviewed`. The experiment is searched near
    the run; `experiment_file` names it.
    """
    from bakeoff.runs.live.live_system import LiveSystem, chosen_system, open_artifacts, tuned_weight
    from bakeoff.runs.live.plan_of_run import plan_of_run
    from bakeoff.truth.queries import read_queries

    plan, _, stored = plan_of_run(Path(run), Path(experiment_file) if experiment_file else None)
    result = with_people(stored)
    chosen = chosen_system(plan, result, system)
    artifacts, corpus = open_artifacts(plan, read_queries(plan.queries), home=home, emit=emit)
    return LiveSystem(artifacts, chosen, tuned_weight(result, chosen), corpus=corpus)


def find_review(result: Result) -> ReviewState | None:
    """The review of a run; None if there is none or the folder belongs to another run."""
    folder = result.review_folder
    try:
        state = load_state(open_review(folder or result.path))
    except SettingError:
        if folder:
            raise
        return None
    if state.pool.run == result.record.run:
        return state
    if folder:
        raise SettingError(f"{folder} is a review of {state.pool.run}, not of {result.record.run}.")
    return None


@dataclass(frozen=True, slots=True)
class ComparableRuns:
    """Several runs with each question judged the same way in all, and the sentence that reports how."""

    results: tuple[Result, ...]
    sentence: str

    @property
    def truth(self) -> str:
        """`reviewed` if human judgments count, else `rules`."""
        return self.results[0].truth


def open_runs(
    folders: Sequence[Path],
    workers: WorkerPool | None = None,
    *,
    trust: bool = False,
    reviews: Sequence[Path] = (),
    truth: Truth = "reviewed",
) -> list[Result]:
    """Several runs, each by its own review; a folder of `reviews` belongs to the run that its pool names."""
    by_run = {open_review(folder).pool().run: folder for folder in reviews}
    runs = [open_run(folder).record.run for folder in folders]
    for run, folder in by_run.items():
        if run not in runs:
            raise SettingError(f"{folder} is a review of {run}, not of {' or '.join(runs)}.")
    return [
        open_reviewed(folder, workers, trust=trust, review=by_run.get(run), truth=truth)
        for folder, run in zip(folders, runs, strict=True)
    ]


def same_truth(results: Sequence[Result]) -> ComparableRuns:
    """The same runs, with human judgments only on questions judged completely in each.

    A question judged by people in one run and by rules in another would compare judgments, not systems.
    """
    judged = [one.judged_by_people for one in results]
    names = _distinct_names(results)
    shared = frozenset.intersection(*judged)
    if all(one == shared for one in judged):
        return ComparableRuns(_rename(results, names), _sentence(results))
    reviewed = tuple(with_people(one.by_rules(), {query for query, _ in shared}) for one in results)
    counts = ", ".join(
        f"{one.record.run} {len(queries):,}" for one, queries in zip(results, judged, strict=True)
    )
    return ComparableRuns(
        _rename(reviewed, names),
        f"{_sentence(reviewed)} Questions that people judged completely: {counts}; in all runs {len(shared):,}.",
    )


def _distinct_names(results: Sequence[Result]) -> list[str]:
    """The name of each run, with its parent folder if the name occurs twice."""
    names: list[str] = []
    for place, result in enumerate(results):
        if any(result.path.resolve() == other.path.resolve() for other in results[:place]):
            raise ComparisonError(f"{result.path} is given twice. Give the folders of different runs.")
        name, path = result.record.run, result.path.resolve()
        options = (name, f"{path.parent.name}/{name}", str(path))
        names.append(next(option for option in options if option not in names))
    return names


def _rename(results: Sequence[Result], names: Sequence[str]) -> tuple[Result, ...]:
    return tuple(
        one if one.record.run == name else one.with_name(name)
        for one, name in zip(results, names, strict=True)
    )


def _sentence(results: Sequence[Result]) -> str:
    """Whose judgments the compared runs use."""
    reviews = [one.reviewed for one in results if one.reviewed]
    if not reviews:
        return BY_RULES
    people = tuple(dict.fromkeys(name for one in reviews for name in one.reviewers))
    return replace(reviews[0], reviewers=people).sentence


def with_people(result: Result, only: Collection[str] | None = None) -> Result:
    """The run scored by human judgments, on all or some queries; unchanged without judgments."""
    state = find_review(result)
    if state is None or not _people(state):
        return result
    negative = _negative(result)
    labels = _label_rows(state, negative)
    judged = _judged_scores(result, state, negative)
    if only is not None:
        judged = {(system, query): values for (system, query), values in judged.items() if query in only}
    queries = tuple(dict.fromkeys(query for _, query in judged))
    if not labels and not queries:
        return result
    rows = [*_judged_rows(judged), *labels]
    reviewed = ReviewedTruth(queries, _people(state), state.pool.k, result.queries.num_rows - len(negative))
    names = list(dict.fromkeys(measure for _, _, measure, _ in labels))
    excluded = [
        *(
            one
            for one in result.record.excluded
            if one.query_id not in queries or not _by_people(one.measure)
        ),
        *_list_exclusions(result, rows, names),
    ]
    record = result.record.model_copy(
        update={
            "measures": [*result.record.measures, *(n for n in names if n not in result.record.measures)],
            "excluded": excluded,
        }
    )
    return result.with_review(reviewed if queries else None, _replace_scores(result, rows), record)


def _people(state: ReviewState) -> tuple[str, ...]:
    """Everyone whose judgment counts."""
    return tuple(name for name in reviewers(state.settled) if name)


def _negative(result: Result) -> frozenset[str]:
    """The queries without a right answer, which human labels do not score."""
    return frozenset(row["query_id"] for row in result.queries.to_pylist() if row["negative"])


def _by_people(measure: str) -> bool:
    return can_judge(parse(measure))


def _judged_scores(result: Result, state: ReviewState, negative: frozenset[str]) -> Scores:
    """Scores of the queries that are completely judged for every finished system of the run."""
    pool = state.pool
    scores = human_scores(
        judged_rankings(pool),
        state.settled,
        [parse(name) for name in result.record.measures],
        Conventions.from_dict(result.record.conventions),
        {item.id: item.document_id for item in pool.items},
    )
    shared = {
        query
        for query in pool.queries
        if query not in negative and all((system, query) in scores for system in result.done)
    }
    return {(system, query): scores[system, query] for system in result.done for query in sorted(shared)}


def _judged_rows(judged: Scores) -> Iterator[Row]:
    for (system, query), values in judged.items():
        yield from ((system, query, str(measure), value) for measure, value in values.items())


def _label_rows(state: ReviewState, negative: frozenset[str]) -> list[Row]:
    """SemPrec, SemLift and FalsePos of each system's completely labelled queries."""
    pool, labels = state.pool, labels_of(state.settled)
    decided = {one.query for one in state.settled.values() if one.state is not OutcomeState.OPEN}
    rows: list[Row] = []
    for system, by_query in pool_rankings(pool).items():
        for query in sorted((by_query.keys() & decided) - negative):
            scores = label_scores([labels[item] for item in by_query[query]], pool.k)
            if scores.complete:
                rows += [(system, query, label_measure(name, pool.k), _value(scores, name)) for name in NAMES]
    return rows


def label_measure(name: str, k: int) -> str:
    """The full name of a measure of labels, such as SemLift@10(chunk)."""
    return str(parse(f"{name}@{k}(chunk)"))


def _value(scores: LabelScores, name: str) -> float:
    return float(getattr(scores, NAMES[name]).value)


def _list_exclusions(result: Result, rows: list[Row], names: list[str]) -> Iterator[ExcludedQuery]:
    """Why human judgments give a query no score."""
    for query, measure in dict.fromkeys(
        (query, measure) for _, query, measure, value in rows if value is None
    ):
        yield ExcludedQuery(query_id=query, measure=measure, reason=NOTHING_RELEVANT)
    for name in names:
        scored = {query for _, query, measure, _ in rows if measure == name}
        for query, negative in zip(
            result.queries["query_id"].to_pylist(), result.queries["negative"].to_pylist(), strict=True
        ):
            if query not in scored and not negative:
                yield ExcludedQuery(query_id=query, measure=name, reason=NOT_JUDGED)


def _replace_scores(result: Result, rows: list[Row]) -> pa.Table:
    """The run's scores, with human ones replacing those by rules."""
    import pyarrow as pa

    new = {(system, query, measure) for system, query, measure, _ in rows}
    keys = zip(*(result.scores[name].to_pylist() for name in ("system", "query_id", "measure")), strict=True)
    unchanged = result.scores.filter(pa.array([key not in new for key in keys], pa.bool_()))
    units: dict[str, Measure] = {measure: parse(measure) for _, _, measure, _ in rows}
    added = SCORES.table(
        {
            "run": [result.record.run] * len(rows),
            "system": [system for system, *_ in rows],
            "query_id": [query for _, query, _, _ in rows],
            "measure": [measure for _, _, measure, _ in rows],
            "unit": [str(units[measure].unit or "") for _, _, measure, _ in rows],
            "source": [HUMAN] * len(rows),
            "value": [value for *_, value in rows],
        }
    )
    return pa.concat_tables([unchanged, added])
