"""Minimums of the query file, and whether each is reached: section accuracy by system, documents in the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bakeoff.report.render.number_text import ABSENT, count, score
from bakeoff.report.sections.parts import ReportSection, TextTable
from bakeoff.runs.analysis import Result
from bakeoff.runs.score_grid import ScoreGrid
from bakeoff.truth.minimums import accuracy_measure, accuracy_minimum, document_minimum

SYSTEMS_SHOWN = 8


def minimums_section(result: Result, grid: ScoreGrid, systems: Sequence[str]) -> ReportSection | None:
    """Pass or fail of every minimum; None if no query has one."""
    accuracy, reached, of = _accuracy(grid, systems[:SYSTEMS_SHOWN])
    documents, enough = _documents(result, grid)
    notes = _missing_measure(grid)
    if not accuracy.rows and not documents.rows and not notes:
        return None
    found = []
    if accuracy.rows:
        best = max(reached, key=lambda name: reached[name])
        found.append(f"{best} reaches {reached[best]} of {count(of, 'minimum')} of section accuracy")
    if documents.rows:
        total = len(documents.rows)
        found.append(f"the truth of {enough} of {count(total, 'question')} has the documents it should have")
    grids = tuple(one for one in (accuracy, documents) if one.rows)
    title = "Minimums of the query file"
    return ReportSection("minimums", title, "; ".join(found) or notes[0], grids, notes if found else ())


def _missing_measure(grid: ScoreGrid) -> tuple[str, ...]:
    """A note if queries have a minimum of section accuracy that the run did not measure."""
    asked = sum(accuracy_minimum(query.tags) is not None for query in grid.queries)
    if not asked or accuracy_measure(grid.values) is not None:
        return ()
    having = "has a minimum" if asked == 1 else "have minimums"
    return (
        f"{count(asked, 'question')} {having} of section accuracy, which this run did not measure. "
        "Add SecAcc@10(chunk) to measures and run again.",
    )


def _accuracy(grid: ScoreGrid, systems: Sequence[str]) -> tuple[TextTable, dict[str, int], int]:
    """Section accuracy of every query with a minimum, how many each system reaches, and out of how many."""
    measure = accuracy_measure(grid.values)
    wanted = [
        (place, query.id, least)
        for place, query in enumerate(grid.queries)
        if (least := accuracy_minimum(query.tags)) is not None
    ]
    if measure is None or not wanted or not systems:
        return TextTable((), ()), {}, 0
    values = {system: grid.row(measure, system) for system in systems}
    rows = [
        (name, score(least), *(_verdict(float(values[system][place]), least) for system in systems))
        for place, name, least in wanted
    ]
    reached = {
        system: sum(bool(values[system][place] >= least) for place, _, least in wanted) for system in systems
    }
    return TextTable((f"question ({measure})", "minimum", *systems), tuple(rows)), reached, len(wanted)


def _verdict(value: float, least: float) -> str:
    if value != value:  # noqa: PLR0124 - NaN is not computed
        return ABSENT
    return f"{score(value)} {'pass' if value >= least else 'fail'}"


def _documents(result: Result, grid: ScoreGrid) -> tuple[TextTable, int]:
    """The documents in each query's truth against its minimum, and how many queries reach it."""
    held: dict[str, int] = {}
    least: dict[str, float] = {}
    for hit in result.record.truth_hits:
        held[hit.query_id] = max(hit.documents, held.get(hit.query_id, 0))
        if hit.min_documents is not None:
            least[hit.query_id] = max(hit.min_documents, least.get(hit.query_id, 0))
    rows = list(_document_rows(grid, held, least))
    headings = ("question", "minimum", "documents in the truth", "")
    return TextTable(headings, tuple(rows)), sum(row[3] == "pass" for row in rows)


def _document_rows(
    grid: ScoreGrid, held: Mapping[str, int], by_rule: Mapping[str, float]
) -> Iterator[tuple[str, ...]]:
    """One row per query with a minimum, in its tags or in its rule."""
    for query in grid.queries:
        least = document_minimum(query.tags)
        least = by_rule.get(query.id) if least is None else least
        if least is not None and not query.negative:
            found = held.get(query.id, 0)
            yield query.id, f"{least:,.0f}", f"{found:,}", "pass" if found >= least else "fail"
