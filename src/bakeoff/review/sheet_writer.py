"""Writes review files with exactly the keys of S4-49."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from bakeoff.errors import UserError
from bakeoff.measures.labels import Label
from bakeoff.review.choices import CHOICES, LabelScheme
from bakeoff.review.pool import ReturnedPassage, ReviewItem, ReviewPool
from bakeoff.review.sheet_reader import AUTO, read_sheet
from bakeoff.storage.cache import write_file
from bakeoff.types import JsonObject

PREVIEW = 500
"""Characters of a passage that a review file shows."""
AUTO_NOTE = f"{AUTO} Matches relevance signals/SQL pattern"
MATCHES_INSTRUCTIONS = {
    "keyword_match": "Filled in because a keyword rule holds here; the note names it. Change it if wrong.",
    "semantic_match": "You fill this in: relevant to the query, although no keyword rule matches.",
    "false_positive": "You fill this in: not relevant to the query.",
}


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """Details of a query in a review file."""

    sql: str = ""
    documents: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenSheets:
    """The result of an export: files written, and files kept because a person has worked on them."""

    paths: tuple[Path, ...]
    kept: tuple[Path, ...]


def file_name(query: str, system: str) -> str:
    """review_<query>_<system>.yaml, with the characters a file name may have."""
    return f"review_{_slug(query)}_{_slug(system)}.yaml"


def write_sheets(
    pool: ReviewPool,
    folder: Path,
    facts: Mapping[str, QueryFacts],
    *,
    force: bool = False,
) -> WrittenSheets:
    """Write one file per query and system; a file with human judgments is never replaced, even with `force`."""
    folder.mkdir(parents=True, exist_ok=True)
    written, skipped = [], []
    paths: set[Path] = set()
    for (query, system), rows in _by_file(pool).items():
        path = _untaken(folder / file_name(query, system), paths)
        paths.add(path)
        if path.exists() and (_worked_on(path) or not force):
            skipped.append(path)
            continue
        data = sheet_data(system, rows, facts.get(query, QueryFacts()), pool.labels)
        write_file(path, _dump_yaml(data).encode())
        written.append(path)
    return WrittenSheets(tuple(written), tuple(skipped))


def sheet_data(
    system: str,
    rows: Sequence[tuple[ReturnedPassage, ReviewItem]],
    facts: QueryFacts,
    labels: LabelScheme,
) -> JsonObject:
    """The content of one file (S4-49)."""
    item = rows[0][1]
    results = [_result(returned, one, labels) for returned, one in rows]
    auto = sum(result["notes"].startswith(AUTO) for result in results)
    open_ = sum(not result["judgment"] for result in results)
    return {
        "metadata": {
            "query_id": item.query_id,
            "model": system,
            "category": item.category,
            "reviewer": "",
            "review_date": "",
            "review_complete": False,
        },
        "query": {
            "text": item.query_text,
            "sql_ground_truth": facts.sql,
            "expected_report_ids": list(facts.documents),
            "relevance_signals": list(facts.signals),
        },
        "instructions": _instructions(labels),
        "summary": {"auto_keyword_matches": auto, "needs_human_review": open_},
        "results": results,
    }


def _by_file(pool: ReviewPool) -> dict[tuple[str, str], list[tuple[ReturnedPassage, ReviewItem]]]:
    """The items of each query and system in the order of ranks."""
    by_file: dict[tuple[str, str], list[tuple[ReturnedPassage, ReviewItem]]] = {}
    for item in pool.items:
        for returned in item.returned:
            by_file.setdefault((item.query_id, returned.system), []).append((returned, item))
    return {key: sorted(by_file[key], key=lambda row: row[0].rank) for key in sorted(by_file)}


def _instructions(labels: LabelScheme) -> dict[str, str]:
    if labels is LabelScheme.MATCHES:
        return MATCHES_INSTRUCTIONS
    return {choice.word: choice.meaning for choice in CHOICES[labels]}


def _result(returned: ReturnedPassage, item: ReviewItem, labels: LabelScheme) -> JsonObject:
    start = returned.start - item.start
    text = item.text[start : start + returned.end - returned.start]
    auto = f"{AUTO_NOTE} ({', '.join(item.rules)})" if item.rules else ""
    return {
        "rank": returned.rank,
        "chunk_id": returned.chunk_id,
        "report_id": item.document_id,
        "section_name": returned.section,
        "score": round(returned.score, 4),
        "text_preview": text if len(text) <= PREVIEW else f"{text[:PREVIEW]}...",
        "judgment": CHOICES[labels][0].word if item.rules else "",
        "notes": auto,
    }


def _worked_on(path: Path) -> bool:
    """Whether a person judged in a file, completed it, or left it unreadable."""
    try:
        sheet = read_sheet(path)
    except UserError:
        return True
    judged = any(row.judgment is not Label.UNJUDGED and not row.auto for row in sheet.rows)
    return judged or sheet.complete or any(row.notes and not row.auto for row in sheet.rows)


class _Dumper(yaml.SafeDumper):
    """Write multi-line text as a block, so that a passage looks unchanged."""


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    block = "\n" in value and not re.search(r"[ \t]\n|^\s|[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]", value)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if block else None)


_Dumper.add_representer(str, _string)


def _dump_yaml(data: dict[str, object]) -> str:
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)


def _untaken(path: Path, paths: Collection[Path]) -> Path:
    """The path, numbered where another query or system has the same name without its special characters."""
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in itertools.count(2))
    return next(one for one in itertools.chain([path], numbered) if one not in paths)


def _slug(name: str) -> str:
    return re.sub(r"[^\w.+=-]+", "-", name).strip("-.") or "x"
