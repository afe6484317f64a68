"""TREC topics with qrels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.truth.importers.draft import Draft, Imported, Ledger, Options
from bakeoff.truth.importers.fields import as_tag, merged
from bakeoff.truth.importers.qrels import Judgment, by_query, checked, read_trec
from bakeoff.truth.importers.rules import Graded, graded
from bakeoff.truth.importers.textfile import lines, read_text
from bakeoff.truth.importers.topics import TEXT_FIELDS, Topic, read_topics

FORMAT = "trec"
ITERATIONS = "qrels_iterations"
"""The tag for the second column of qrels where it is not 0: JSON, iteration → documents."""


def read(paths: Sequence[Path], options: Options) -> Imported:
    """The topics that are judged."""
    qrels = [path for path in paths if _is_qrels(path)]
    topics = [path for path in paths if path not in qrels]
    if len(topics) != 1 or not qrels:
        names = ", ".join(path.name for path in paths)
        raise DataError(
            f"trec takes one file of topics and at least one of qrels; given: {names}. Give both."
        )
    ledger = Ledger()
    judged = by_query(checked([judgment for path in qrels for judgment in read_trec(path)]))
    known = read_topics(topics[0])
    chosen = [topic for topic in known if topic.id in judged or options.keep_unjudged]
    drafts = [_draft(topic, judged.pop(topic.id, []), ledger) for topic in chosen]
    if judged:
        first = next(iter(judged.values()))[0]
        raise DataError(
            f"{first.where}: topic {first.query!r} is not in {topics[0].name}. Give the file that has it."
        )
    if len(chosen) < len(known):
        ledger.attend(
            f"{len(known) - len(chosen)} topics have no judgment: left out (--unjudged keeps them)."
        )
    return ledger.imported(FORMAT, (topics[0], *qrels), {"name": topics[0].stem}, drafts)


def _is_qrels(path: Path) -> bool:
    """Whether the first line has four columns, the last of them a number."""
    line = next(lines(read_text(path)))[1]
    cells = line.split()
    return len(cells) == 4 and line.strip().count("\t") in (0, 3) and cells[3].lstrip("-").isdigit()


def _draft(topic: Topic, judged: list[Judgment], ledger: Ledger) -> Draft:
    name = next((name for name in TEXT_FIELDS if topic.fields.get(name)), "")
    if not name:
        raise DataError(
            f"{topic.where}: topic {topic.id!r} has none of {', '.join(TEXT_FIELDS)}. Add a title."
        )
    ledger.moved("num", "id")
    ledger.moved(name, "text")
    for _ in judged:
        ledger.moved("qrels", "truth.documents")
    truth, grades = graded((Graded(j.document, j.grade) for j in judged), topic.id, ledger)
    tags = {key: as_tag(value) for key, value in topic.fields.items() if key != name and value}
    for key in tags:
        ledger.moved(key, f"tags.{key}")
    all_tags = merged(tags, grades, _iterations(judged, ledger))
    return Draft(topic.id, topic.fields[name], truth, topic.where, tags=all_tags)


def _iterations(judged: list[Judgment], ledger: Ledger) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for judgment in judged:
        if judgment.iteration != "0":
            found.setdefault(judgment.iteration, []).append(judgment.document)
    if not found:
        return {}
    ledger.moved("qrels iteration", f"tags.{ITERATIONS}")
    return {ITERATIONS: json.dumps(found, ensure_ascii=False)}
