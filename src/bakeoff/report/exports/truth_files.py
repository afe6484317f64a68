"""Queries, judgments, documents and rankings as the files of BEIR and TREC: the same bytes for the same content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.errors import DataError
from bakeoff.truth.importers.qrels import BEIR_HEADER
from bakeoff.truth.importers.rules import ORIGINAL_GRADES
from bakeoff.truth.importers.trec import ITERATIONS
from bakeoff.types import Json, JsonObject, Query

_BREAKS_TREC = re.compile(r"[\s%]")
_NEEDS_ESCAPES = re.compile(r"\s|%[0-9A-F]{2}")
_OWN_TAGS = (ORIGINAL_GRADES, ITERATIONS, "metadata")
"""Tags in which importers keep the original values, restored on export."""


@dataclass(frozen=True, slots=True)
class Qrel:
    """One judgment of an item for a query."""

    query: str
    item: str
    grade: int
    iteration: str = "0"


@dataclass(frozen=True, slots=True)
class ExportItem:
    """One document or chunk of a corpus."""

    id: str
    title: str
    text: str
    fields: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ServedRow:
    """One entry of a ranking, from rank 1."""

    query: str
    item: str
    rank: int
    score: float


# --- BEIR -------------------------------------------------------------------------------------------


def beir_queries(queries: Iterable[Query]) -> str:
    """queries.jsonl; labels and tags are metadata."""
    return _json_lines({"_id": q.id, "text": q.text, "metadata": _query_metadata(q)} for q in queries)


def beir_qrels(qrels: Iterable[Qrel]) -> str:
    """A judgment file with its header."""
    rows = ("\t".join((_one_cell(q.query), _one_cell(q.item), str(q.grade))) for q in qrels)
    return "".join(f"{row}\n" for row in ("\t".join(BEIR_HEADER), *rows))


def beir_corpus(items: Iterable[ExportItem]) -> str:
    """corpus.jsonl; a title goes into metadata unless the text begins with it, because readers prepend titles."""
    return _json_lines(_corpus_row(item) for item in items)


def beir_results(rankings: Sequence[ServedRow], queries: Iterable[str]) -> str:
    """Scores by query and item in served order; a query without results has an empty entry."""
    results: dict[str, dict[str, float]] = {query: {} for query in queries}
    for place in rankings:
        results.setdefault(place.query, {})[place.item] = place.score
    return json.dumps(results, ensure_ascii=False, indent=1) + "\n"


def _json_lines(rows: Iterable[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _query_metadata(query: Query) -> JsonObject:
    original = _json_tag(query, "metadata") if query.tags.get("metadata", "").startswith("{") else {}
    labels = {
        name: getattr(query, name)
        for name in ("category", "difficulty", "intent", "cluster", "negative", "synthetic")
    }
    tags = {name: value for name, value in query.tags.items() if name not in _OWN_TAGS}
    metadata = {**labels, "tags": tags}
    return {**{name: value for name, value in metadata.items() if value}, **original}


def _corpus_row(item: ExportItem) -> JsonObject:
    start = f"{item.title.lstrip()} "
    if item.title.strip() and item.text.startswith(start):
        return {
            "_id": item.id,
            "title": item.title,
            "text": item.text[len(start) :],
            "metadata": dict(item.fields),
        }
    title = {"title": item.title} if item.title else {}
    return {"_id": item.id, "title": "", "text": item.text, "metadata": {**title, **item.fields}}


def _one_cell(text: str) -> str:
    if "\t" in text or "\n" in text:
        raise DataError(f"id {text!r} has a tab or a line break, which a TSV file cannot hold. Rename it.")
    return text


# --- TREC -------------------------------------------------------------------------------------------


def trec_id(name: str) -> str:
    """An id without blanks: blanks and % are percent-encoded where needed."""
    if not _NEEDS_ESCAPES.search(name):
        return name
    return _BREAKS_TREC.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def trec_topics(queries: Iterable[Query]) -> str:
    """Topics with number and title; description and narrative come from tags."""
    return "\n".join(_topic(query) for query in queries)


def trec_qrels(qrels: Iterable[Qrel]) -> str:
    """Lines of query, iteration, item and grade."""
    return "".join(f"{trec_id(q.query)} {trec_id(q.iteration)} {trec_id(q.item)} {q.grade}\n" for q in qrels)


def trec_run(rankings: Iterable[ServedRow], tag: str) -> str:
    """Lines of query, Q0, item, rank, score and tag."""
    return "".join(f"{trec_id(p.query)} Q0 {trec_id(p.item)} {p.rank} {p.score!r} {tag}\n" for p in rankings)


def _topic(query: Query) -> str:
    parts = [f"<num> Number: {trec_id(query.id)}", f"<title> {_one_line(query.text)}"]
    words = (("desc", "Description"), ("narr", "Narrative"))
    parts += [f"<{tag}> {word}:\n{query.tags[tag].strip()}" for tag, word in words if query.tags.get(tag)]
    return "<top>\n" + "".join(f"{part}\n\n" for part in parts) + "</top>\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


# --- judgments --------------------------------------------------------------------------------------


def original_qrels(queries: Sequence[Query], qrels: Iterable[Qrel]) -> list[Qrel]:
    """Judgments by query and item, with the grades and iterations that importers kept in tags."""
    by_query: dict[str, dict[str, Qrel]] = {query.id: {} for query in queries}
    for qrel in qrels:
        by_query[qrel.query][qrel.item] = qrel
    for query in queries:
        rows = by_query[query.id]
        for grade, items in _listed_items(query, ORIGINAL_GRADES).items():
            rows |= {item: Qrel(query.id, item, _grade(query, grade)) for item in items}
        for iteration, items in _listed_items(query, ITERATIONS).items():
            rows |= {i: Qrel(query.id, i, rows[i].grade, iteration) for i in items if i in rows}
    return [rows[item] for rows in by_query.values() for item in sorted(rows)]


def _grade(query: Query, written: str) -> int:
    try:
        return int(written)
    except ValueError as exc:
        raise DataError(
            f"query {query.id}: the tag {ORIGINAL_GRADES} has the grade {written!r}, which is not a whole number. "
            "Import the file again."
        ) from exc


def _listed_items(query: Query, name: str) -> dict[str, list[str]]:
    """A tag that lists items under each of its keys."""
    value = _json_tag(query, name)
    for key, items in value.items():
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise DataError(
                f"query {query.id}: the tag {name} has no list of items under {key!r}. Import the file again."
            )
    return value


def _json_tag(query: Query, name: str) -> JsonObject:
    if name not in query.tags:
        return {}
    try:
        value = json.loads(query.tags[name])
    except (ValueError, RecursionError) as exc:
        raise DataError(
            f"query {query.id}: the tag {name} is not JSON ({exc}). Import the file again."
        ) from exc
    if not isinstance(value, dict):
        raise DataError(f"query {query.id}: the tag {name} is {value!r}, not a JSON object. Import it again.")
    return value
