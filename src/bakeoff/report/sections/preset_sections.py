"""The sections that presets ask for: weighted scores, key measures by category, minimums of the query file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse
from bakeoff.measures.preset_settings import read_preset_file
from bakeoff.presets.lineage.decision_matrix import is_lineage, lineage_values, shown_value
from bakeoff.presets.rules import BandReading, WeightedScore, read_bands, weighted_score
from bakeoff.report.render.number_text import ABSENT, count, interval, score
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.key_measures import KeyMeasure, key_measures
from bakeoff.runs.score_grid import GridMean, ScoreGrid
from bakeoff.runtime.count_text import decimal
from bakeoff.truth.minimums import accuracy_measure, accuracy_minimum, document_minimum

SYSTEMS_SHOWN = 8


def preset_sections(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> Iterator[ReportSection]:
    """The sections of the run's preset and query file that have data."""
    if systems:
        sections = (
            score_section(result, systems),
            key_section(result, grid, systems),
            minimums_section(result, grid, systems),
        )
        yield from (section for section in sections if section is not None)


def score_section(result: Result, systems: Sequence[str]) -> ReportSection | None:
    """The weighted score and the bands of every system; None under other presets."""
    if not is_lineage(result):
        return None
    criteria = [
        criterion for criterion in read_preset_file("lineage").criteria if criterion.weight is not None
    ]
    values = {system: lineage_values(result, system) for system in systems}
    scores = {system: weighted_score(values[system]) for system in systems}
    bands = {system: read_bands(values[system]) for system in systems}
    rows = tuple(
        (
            system,
            *(shown_value(criterion, values[system][criterion.name]) for criterion in criteria),
            decimal(scores[system].value, 3),
            bands[system].overall,
        )
        for system in systems
    )
    heads = (*(f"{criterion.title} ({criterion.weight:.0%})" for criterion in criteria), "score", "band")
    return ReportSection(
        "weighted-scores",
        "Weighted score and band",
        _score_finding(scores),
        (TextTable(("system", *heads), rows),),
        tuple(_score_note(system, scores[system], bands[system]) for system in systems),
    )


def _score_finding(scores: dict[str, WeightedScore]) -> str:
    values = {system: one.value for system, one in scores.items() if one.value is not None}
    if not values:
        return "No system has a weighted score"
    best = max(values, key=lambda system: values[system])
    return (
        f"{best} has the highest weighted score: {values[best]:.3f}. A score has no interval; the verdict has"
    )


def _score_note(system: str, score: WeightedScore, bands: BandReading) -> str:
    """The bands of a system in words, and why its score is missing or may mislead."""
    missing = f" No score: {', '.join(score.missing)} missing." if score.missing else ""
    outside = (
        f" Its score is {score.clamped_value:.3f} with {' and '.join(score.out_of_range)} clamped to 0–1."
        if score.out_of_range
        else ""
    )
    return f"{system}: {bands.sentence}{missing}{outside}"


def key_section(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> ReportSection | None:
    """The key measure by category as a table; None if the preset names none."""
    shown = systems[:SYSTEMS_SHOWN]
    measures = key_measures(result, grid, shown)
    decided = [one for one in measures if one.best]
    if not measures:
        return None
    rows = tuple(
        (one.category, one.measure, *(_mean_cell(one.means.get(system)) for system in shown))
        for one in measures
    )
    leads = {system: sum(system in one.best for one in decided) for system in shown}
    leader = max(shown, key=lambda system: leads[system])
    of = count(len(decided), "category", "categories")
    finding = f"{leader} has or shares the best mean in {leads[leader]} of {of}"
    notes = (
        "Differences inside a category rest on few questions and are not tested here.",
        *missing_notes(measures),
        *_interval_notes(decided),
    )
    return ReportSection(
        "key-measures",
        "Key measure by category",
        finding if decided else "No category has a key measure yet",
        (TextTable(("category", "key measure", *shown), rows, 2),),
        notes,
    )


def missing_notes(measures: Sequence[KeyMeasure]) -> tuple[str, ...]:
    """Why categories have no mean of their key measure."""
    missing: dict[str, list[str]] = {}
    for one in measures:
        if not one.best:
            missing.setdefault(one.measure, []).append(one.category)
    return tuple(f"{', '.join(names)}: {_missing_reason(measure)}" for measure, names in missing.items())


def _interval_notes(measures: Sequence[KeyMeasure]) -> tuple[str, ...]:
    """Why means have no interval."""
    reasons: dict[str, list[str]] = {}
    for one in measures:
        for reason in dict.fromkeys(mean.interval.reason for mean in one.means.values()):
            reasons.setdefault(reason, []).append(one.category)
    return tuple(f"No interval in {', '.join(names)}: {why}." for why, names in reasons.items() if why)


def _missing_reason(measure: str) -> str:
    if parse(measure).needs is RequiredInput.LABELS:
        return f"{measure} needs human judgments, which are not complete: bakeoff review serve RUN."
    return f"{measure} was not measured. Add it to the measures of the experiment."


def _mean_cell(mean: GridMean | None) -> str:
    if mean is None or mean.value is None:
        return ABSENT
    ends = interval(mean.interval.low, mean.interval.high)
    return f"{score(mean.value)} {ends} (n {mean.n})".replace("  ", " ")


def minimums_section(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> ReportSection | None:
    """Pass or fail of every minimum; None if no query has one."""
    accuracy, reached, of = _accuracy(grid, systems[:SYSTEMS_SHOWN])
    documents, enough = _documents(result, grid)
    notes = _missing_measure(grid)
    if not accuracy.rows and not documents.rows and not notes:
        return None
    tables = []
    if accuracy.rows:
        best = max(reached, key=lambda name: reached[name])
        tables.append(f"{best} reaches {reached[best]} of {count(of, 'minimum')} of section accuracy")
    if documents.rows:
        total = len(documents.rows)
        tables.append(f"the truth of {enough} of {count(total, 'question')} has the documents it should have")
    grids = tuple(grid for grid in (accuracy, documents) if grid.rows)
    title = "Minimums of the query file"
    return ReportSection("minimums", title, "; ".join(tables) or notes[0], grids, notes if tables else ())


def _missing_measure(grid: ScoreGrid) -> tuple[str, ...]:
    """A note if queries have a minimum of section accuracy that the run did not measure."""
    queries = sum(accuracy_minimum(query.tags) is not None for query in grid.queries)
    if not queries or accuracy_measure(grid.values) is not None:
        return ()
    having = "has a minimum" if queries == 1 else "have minimums"
    return (
        f"{count(queries, 'question')} {having} of section accuracy, which this run did not measure. "
        "Add SecAcc@10(chunk) to measures and run again.",
    )


def _accuracy(grid: ScoreGrid, systems: Sequence[str]) -> tuple[TextTable, dict[str, int], int]:
    """Section accuracy of every query with a minimum, how many each system reaches, and out of how many."""
    measure = accuracy_measure(grid.values)
    minimums = [
        (place, query.id, least)
        for place, query in enumerate(grid.queries)
        if (least := accuracy_minimum(query.tags)) is not None
    ]
    if measure is None or not minimums or not systems:
        return TextTable((), ()), {}, 0
    values = {system: grid.row(measure, system) for system in systems}
    rows = [
        (name, score(least), *(_pass_text(float(values[system][place]), least) for system in systems))
        for place, name, least in minimums
    ]
    reached = {
        system: sum(bool(values[system][place] >= least) for place, _, least in minimums)
        for system in systems
    }
    return TextTable((f"question ({measure})", "minimum", *systems), tuple(rows)), reached, len(minimums)


def _pass_text(value: float, least: float) -> str:
    if value != value:  # noqa: PLR0124 - NaN is not computed
        return ABSENT
    return f"{score(value)} {'pass' if value >= least else 'fail'}"


def _documents(result: Result, grid: ScoreGrid) -> tuple[TextTable, int]:
    """The documents in each query's truth against its minimum, and how many queries reach it."""
    documents: dict[str, int] = {}
    least: dict[str, float] = {}
    for hit in result.record.truth_hits:
        documents[hit.query_id] = max(hit.documents, documents.get(hit.query_id, 0))
        if hit.min_documents is not None:
            least[hit.query_id] = max(hit.min_documents, least.get(hit.query_id, 0))
    rows = list(_document_rows(grid, documents, least))
    headings = ("question", "minimum", "documents in the truth", "")
    return TextTable(headings, tuple(rows)), sum(row[3] == "pass" for row in rows)


def _document_rows(
    grid: ScoreGrid, relevant: Mapping[str, int], by_rule: Mapping[str, float]
) -> Iterator[tuple[str, ...]]:
    """One row per query with a minimum, in its tags or in its rule."""
    for query in grid.queries:
        least = document_minimum(query.tags)
        least = by_rule.get(query.id) if least is None else least
        if least is not None and not query.negative:
            documents = relevant.get(query.id, 0)
            yield query.id, f"{least:,.0f}", f"{documents:,}", "pass" if documents >= least else "fail"
