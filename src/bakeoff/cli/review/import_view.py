"""Review files on the terminal and as JSON: what was exported or imported, and the measures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from bakeoff.cli import console
from bakeoff.cli.review.measures_view import SHOWN, figures_json, print_figures, print_sides, system_json
from bakeoff.measures.labels import Label
from bakeoff.presets.goldsql.review_files import StoredCounts, explain_differences, stored_counts
from bakeoff.review.auto_vs_human import FOREIGN, AutoVsHuman, compare_auto_human, human_values, sheet_values
from bakeoff.review.effort import estimate
from bakeoff.review.human_scores import JudgedRankings, JudgedResult
from bakeoff.review.importing import ImportedReview
from bakeoff.review.measures import ReviewFigures, review_figures
from bakeoff.review.outcomes import Vote, labels_of
from bakeoff.review.pool import ReviewPool
from bakeoff.review.review_folder import ReviewFolder
from bakeoff.review.sheet_writer import WrittenSheets
from bakeoff.runtime.count_text import count

SKIPPED = 5
"""How many skipped files to name."""


def print_export(review: ReviewFolder, pool: ReviewPool, written: WrittenSheets, replaced: str) -> None:
    """Print what was pooled and written."""
    filled = len(pool.items) - len(pool.open)
    effort = estimate(len(pool.open), review.ledger.read().entries)
    notes = [*pool.notes, *([replaced] if replaced else [])]
    console.print_json(
        {
            "folder": review.folder,
            "items": len(pool.items),
            "filled_in": filled,
            "open": len(pool.open),
            "seconds": [effort.low_s, effort.high_s],
            "files": written.paths,
            "kept": written.kept,
            "notes": notes,
        }
    )
    for note in notes:
        console.warn(note)
    returned = sum(len(item.returned) for item in pool.items)
    systems = count(len(pool.systems), "system")
    console.print_line(pool.summary)
    console.print_line(
        f"They are the top {pool.k} of {systems} ({count(returned, 'result')}), each passage once.",
        style="dim",
    )
    rules = Counter(rule for item in pool.items for rule in item.rules)
    if rules:
        named = ", ".join(f"{rule} {number}" for rule, number in rules.most_common())
        console.print_line(f"Rules    {named}")
    console.print_line(f"Time     {effort.sentence}")
    console.print_line(f"{count(len(written.paths), 'review file')} in {review.files}")
    if written.kept:
        console.warn(f"{len(written.kept)} existing files were not changed, e.g. {written.kept[0].name}.")
    console.print_line("These files reveal the system; use the browser for blind review.", style="dim")
    console.print_line(f"Blind    bakeoff review serve {review.folder}")
    console.print_line(
        f"Next     judge, set review_complete: true, then: bakeoff review import {review.files}"
    )


def print_import(
    imported: ImportedReview,
    folder: Path,
    k: int,
    seed: int,
    added: int | None,
    home: Path | None,
    paths: Sequence[Path],
) -> None:
    """Print which files were imported and which were not, and the measures that follow."""
    console.print_line(
        f"{count(len(imported.taken), 'complete file')} imported, {len(imported.incomplete)} skipped "
        f"(not marked complete), {len(imported.refused)} refused"
    )
    if imported.by_rule:
        console.print_line(
            f"{len(imported.by_rule)} of the imported files are filled in by rules alone", style="dim"
        )
    if imported.unmarked:
        console.warn(
            f"{len(imported.unmarked)} of the {len(imported.incomplete)} skipped files are fully judged; "
            "only review_complete is false. Import them too: --include-unmarked"
        )
    if imported.incomplete:
        first = ", ".join(sheet.path.name for sheet in imported.incomplete[:SKIPPED])
        console.print_line(
            f"– skipped: {first}{', …' if len(imported.incomplete) > SKIPPED else ''}", style="dim"
        )
    for refusal in imported.refused:
        console.warn(refusal.reason)
    for note in imported.notes:
        console.warn(note)
    _print_conflicts(imported)
    if imported.taken:
        print_figures(_figures(imported, k, seed))
        if home is None:
            _print_stored(imported, folder)
            print_sides(_foreign_sides(imported))
    if added is not None:
        console.print_line(f"{count(added, 'new judgment')} in {home}/ledger")
        console.print_line(f"Next     bakeoff review status {home}")
    for path in paths:
        console.print_line(str(path))


def import_json(
    imported: ImportedReview, folder: Path, k: int, seed: int, added: int | None
) -> dict[str, object]:
    """The result of an import as JSON."""
    figures = _figures(imported, k, seed) if imported.taken else None
    stored = stored_counts(folder)
    return {
        "taken": [str(sheet.path) for sheet in imported.taken],
        "incomplete": [str(sheet.path) for sheet in imported.incomplete],
        "unmarked": [str(sheet.path) for sheet in imported.unmarked],
        "by_rule": [str(sheet.path) for sheet in imported.by_rule],
        "refused": [{"file": str(refusal.path), "reason": refusal.reason} for refusal in imported.refused],
        "notes": list(imported.notes),
        "conflicts": [_conflict(conflict.opinions, conflict.item) for conflict in imported.conflicts],
        "overruled": [outcome.item for outcome in imported.overruled],
        "new_in_ledger": added,
        "figures": figures_json(figures) if figures else None,
        "as_stored": [_stored_json(one) for one in stored],
        "explained": explain_differences(stored, imported),
        "sides": [asdict(side) for side in _foreign_sides(imported)],
    }


def write_human_reviews(imported: ImportedReview, out: Path, k: int, seed: int) -> list[Path]:
    """Write human_review_<system>.json for each system (S4-52)."""
    from bakeoff.review.sheet_writer import file_name
    from bakeoff.storage.cache import write_file

    out.mkdir(parents=True, exist_ok=True)
    figures = _figures(imported, k, seed)
    paths = []
    for row in figures.systems:
        name = file_name("", row.system).removeprefix("review_x_").removesuffix(".yaml")
        path = out / f"human_review_{name}.json"
        text = json.dumps({"model": row.system, "k": k, **system_json(row)}, indent=1, ensure_ascii=False)
        write_file(path, text.encode() + b"\n")
        paths.append(path)
    return paths


def _figures(imported: ImportedReview, k: int, seed: int) -> ReviewFigures:
    return review_figures(imported.rankings(), labels_of(imported.settled), k, seed)


def _print_conflicts(imported: ImportedReview) -> None:
    for conflict in imported.conflicts[:SHOWN]:
        votes = "; ".join(f"{two.label.value} ({two.where})" for two in conflict.opinions)
        console.warn(f"{conflict.item}: {votes}. It counts as unjudged until one is corrected.")
    if len(imported.conflicts) > SHOWN:
        console.warn(f"{len(imported.conflicts) - SHOWN} more conflicts; --json lists all.")


def _conflict(opinions: Iterable[Vote], item: str) -> dict[str, object]:
    return {"item": item, "said": [{"judgment": vote.label.value, "where": vote.where} for vote in opinions]}


def _print_stored(imported: ImportedReview, folder: Path) -> None:
    """Print the figures of the tool that wrote these files, if they differ from ours."""
    stored = stored_counts(folder)
    differences = explain_differences(stored, imported)
    if not differences or not any(one.queries for one in stored):
        return
    console.print_line()
    console.print_line("As counted by the tool that wrote these files (means over all its complete files):")
    rows = [
        [
            one.model,
            str(len(one.queries)),
            *(str(one.count(label)) for label in Label if label.value),
            f"{one.precision:.3f}",
            f"{one.lift:.3f}",
            f"{one.false_positives:.3f}",
        ]
        for one in stored
        if one.queries
    ]
    headers = [
        "system",
        "queries",
        "KEYWORD",
        "SEMANTIC",
        "FALSE_POS",
        "precision",
        "lift",
        "false positives",
    ]
    console.table(headers, rows, right=tuple(range(1, 8)))
    console.print_line("Why the figures above differ from these:")
    for sentence in differences:
        console.print_line(f"– {sentence}")


def _stored_json(one: StoredCounts) -> dict[str, object]:
    return {
        "model": one.model,
        "queries_complete": len(one.queries),
        "total_results_reviewed": one.results,
        "keyword_matches": one.count(Label.KEYWORD_MATCH),
        "semantic_matches": one.count(Label.SEMANTIC_MATCH),
        "false_positives": one.count(Label.FALSE_POSITIVE),
        "semantic_precision": one.precision,
        "semantic_lift": one.lift,
        "false_positive_rate": one.false_positives,
    }


def _foreign_sides(imported: ImportedReview) -> list[AutoVsHuman]:
    """Automated figures of another tool in these files, next to human ones."""
    every = (*imported.taken, *imported.incomplete)
    categories = {sheet.query_id: sheet.category for sheet in every}
    sides = []
    for name, measure in FOREIGN.items():
        automated = sheet_values(every, name)
        if automated and name == "mrr":
            human = human_values(_judged_rankings(imported), imported.settled, measure)
            sides += compare_auto_human(
                sorted({s for s, _ in automated}), measure, automated, human, categories
            )
    return sides


def _judged_rankings(imported: ImportedReview) -> JudgedRankings:
    """The results in another tool's review files, one passage each."""
    return {
        system: {query: [JudgedResult(item) for item in items] for query, items in by_query.items()}
        for system, by_query in imported.rankings().items()
    }
