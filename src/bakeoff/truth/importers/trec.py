"""TREC topics with qrels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries, ImportLog, ImportOptions
from bakeoff.truth.importers.fields import as_tag, merge_tags
from bakeoff.truth.importers.grades import regrade
from bakeoff.truth.importers.qrels import Judgment, by_query, check_judgments, read_trec
from bakeoff.truth.importers.rules import GradedJudgment, graded_truth
from bakeoff.truth.importers.textfile import lines, read_text
from bakeoff.truth.importers.topics import Topic, read_topics, text_fields

FORMAT = "trec"
ITERATIONS = "qrels_iterations"
"""The tag for the second qrels column if it is not 0: JSON, iteration → documents."""


def import_trec(paths: Sequence[Path], options: ImportOptions) -> ImportedQueries:
    """Import the judged topics."""
    qrels = [path for path in paths if _is_qrels(path)]
    topics = [path for path in paths if path not in qrels]
    if len(topics) != 1 or not qrels:
        names = ", ".join(path.name for path in paths)
        raise DataError(
            f"trec takes one file of topics and at least one of qrels; given: {names}. Give both."
        )
    ledger = ImportLog()
    rows = check_judgments([judgment for path in qrels for judgment in read_trec(path)])
    grades, judged = regrade(rows, options.grades, ledger), by_query(rows)
    all_topics = read_topics(topics[0])
    chosen = [topic for topic in all_topics if topic.id in judged or options.keep_unjudged]
    fields = text_fields(chosen, options.topic_field, ledger)
    drafts = [
        _draft(topic, name, judged.pop(topic.id, []), grades, ledger)
        for topic, name in zip(chosen, fields, strict=True)
    ]
    if judged:
        first = next(iter(judged.values()))[0]
        raise DataError(
            f"{first.where}: topic {first.query!r} is not in {topics[0].name}. Give the file that has it."
        )
    if len(chosen) < len(all_topics):
        ledger.attend(
            f"{len(all_topics) - len(chosen)} topics have no judgment: left out (--unjudged keeps them)."
        )
    return ledger.collect(FORMAT, (topics[0], *qrels), {"name": topics[0].stem}, drafts)


def _is_qrels(path: Path) -> bool:
    """Whether the first line has four columns, the last of them a number."""
    line = next(lines(read_text(path)))[1]
    cells = line.split()
    return len(cells) == 4 and line.strip().count("\t") in (0, 3) and cells[3].lstrip("-").isdigit()


def _draft(
    topic: Topic,
    name: str,
    judged: list[Judgment],
    grades: Mapping[Judgment, GradedJudgment],
    ledger: ImportLog,
) -> ImportDraft:
    """A query whose text is one field of a topic."""
    ledger.note_moved("num", "id")
    ledger.note_moved(name, "text")
    for _ in judged:
        ledger.note_moved("qrels", "truth.documents")
    truth, kept = graded_truth([grades[one] for one in judged], topic.id, ledger)
    tags = {key: as_tag(value) for key, value in topic.fields.items() if key != name and value}
    for key in tags:
        ledger.note_moved(key, f"tags.{key}")
    all_tags = merge_tags(tags, kept, _iterations(judged, ledger))
    return ImportDraft(topic.id, topic.fields[name], truth, topic.where, tags=all_tags)


def _iterations(judged: list[Judgment], ledger: ImportLog) -> dict[str, str]:
    documents: dict[str, list[str]] = {}
    for judgment in judged:
        if judgment.iteration != "0":
            documents.setdefault(judgment.iteration, []).append(judgment.document)
    if not documents:
        return {}
    ledger.note_moved("qrels iteration", f"tags.{ITERATIONS}")
    return {ITERATIONS: json.dumps(documents, ensure_ascii=False)}
