"""A BEIR folder: queries.jsonl, and qrels/SPLIT.tsv with graded documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog, ImportOptions
from bakeoff.truth.importers.fields import as_tag, difficulty, merge_tags
from bakeoff.truth.importers.grades import regrade
from bakeoff.truth.importers.qrels import Judgment, by_query, read_beir
from bakeoff.truth.importers.rules import GradedJudgment, graded_truth
from bakeoff.truth.importers.textfile import json_lines
from bakeoff.types import JsonObject

FORMAT = "beir"
DEFAULT_SPLIT = "test"
_LABELS = ("category", "difficulty", "intent", "cluster")


def import_beir(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:
    """The queries of one split with their judgments."""
    queries, qrels = _files(paths, options.split)
    ledger = ImportLog()
    rows = read_beir(qrels)
    grades, judged = regrade(rows, options.grades, ledger), by_query(rows)
    drafts, left_out = [], 0
    for number, row in json_lines(queries):
        name = _string(row, "_id", f"{queries.name}, line {number}")
        if name in judged or options.keep_unjudged:
            own = [grades[one] for one in judged.pop(name, [])]
            drafts.append(_draft(name, row, own, f"{queries.name}, line {number}", ledger))
        else:
            left_out += 1
    _all_found(judged, queries)
    if left_out:
        ledger.attend(
            f"{left_out} queries have no judgment in {qrels.name}: left out (--unjudged keeps them)."
        )
    metadata = {"name": queries.resolve().parent.name, "extra": {"split": qrels.stem}}
    return ledger.collect(FORMAT, (queries, qrels), metadata, drafts)


def _files(paths: Sequence[Path], split: str) -> tuple[Path, Path]:
    """queries.jsonl and one judgment file, from a folder or from both files."""
    if len(paths) == 2:
        first, second = sorted(paths, key=lambda path: path.suffix != ".jsonl")
        return first, second
    if len(paths) != 1 or not paths[0].is_dir():
        raise DataError("beir takes a folder, or queries.jsonl and one qrels file. Give one of these.")
    splits = {path.stem: path for path in sorted((paths[0] / "qrels").glob("*.tsv"))}
    chosen = split or (next(iter(splits)) if len(splits) == 1 else DEFAULT_SPLIT)
    if chosen not in splits:
        names = ", ".join(splits) or "none"
        raise DataError(
            f"{paths[0] / 'qrels' / chosen}.tsv does not exist. Splits: {names}. Choose one with --split."
        )
    return paths[0] / "queries.jsonl", splits[chosen]


def _draft(
    name: str, row: JsonObject, judged: list[GradedJudgment], where: str, ledger: ImportLog
) -> ImportDraft:
    text = _string(row, "text", where)
    ledger.note_moved("_id", "id")
    ledger.note_moved("text", "text")
    for _ in judged:
        ledger.note_moved("qrels", "truth.documents")
    truth, grades = graded_truth(judged, name, ledger)
    labels, as_written = _labels(row.get("metadata"), name, ledger)
    rest = {key: value for key, value in row.items() if key not in ("_id", "text")}
    if not rest.get("metadata"):
        rest.pop("metadata", None)
    for key in rest:
        ledger.note_moved(key, f"tags.{key}")
    tags = {key: as_tag(value) for key, value in rest.items()}
    return ImportDraft(name, text, truth, where, **labels, tags=merge_tags(as_written, tags, grades))


def _labels(metadata: object, query: str, ledger: ImportLog) -> tuple[dict[str, str], dict[str, str]]:
    """Category, difficulty and intent where the metadata of a query has them."""
    known = metadata if isinstance(metadata, dict) else {}
    labels = {
        name: known[name] for name in _LABELS if isinstance(known.get(name), str) and known[name].strip()
    }
    for name in labels:
        ledger.note_moved(f"metadata.{name}", name)
    level, as_written = difficulty(labels.pop("difficulty", ""), ledger, query)
    return {**labels, "difficulty": level}, as_written


def _string(row: dict[str, object], key: str, where: str) -> str:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise DataError(f"{where}: {key} is {value!r}, not a text. Correct it.")
    return str(value)


def _all_found(judged: dict[str, list[Judgment]], queries: Path) -> None:
    if judged:
        name, rows = next(iter(judged.items()))
        raise DataError(
            f"{rows[0].where}: query {name!r} is not in {queries.name}; {len(judged)} such queries."
            " Give the file that has them."
        )
