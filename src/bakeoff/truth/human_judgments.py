"""A judgment set from a human review, and how it replaces rules.

Queries in a set are judged by the set alone; all others keep their rules (S4-53). A judgment applies to the
text it was made on: if the document changed there, it is dropped and reported.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import DataError
from bakeoff.fingerprint import bytes_fingerprint, fingerprint
from bakeoff.storage.arrow_take import StringColumn
from bakeoff.storage.schemas import JUDGMENTS
from bakeoff.truth.problems import Level, Problem
from bakeoff.truth.resolve import UNREAD, Truth, UnreadTruth
from bakeoff.types import Skipped

if TYPE_CHECKING:
    import pyarrow as pa

    from bakeoff.truth.queries import QuerySet

VERSION = 1
MARK = "judgments"
MODEL = "model:"
"""Prefix of the source of a language model's judgment, before its name."""
STABILITY = "; "
"""Separates a model's name from its grades' stability."""
NOT_BY_PEOPLE = "not by people"


@dataclass(frozen=True, slots=True)
class JudgedSpan:
    """One judgment: a span of a document, its grade for a query, its source, and the hash of the judged text."""

    query: str
    document: str
    start: int
    end: int
    grade: int
    source: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class JudgmentSet:
    """The judgments of a review, ordered by query and position."""

    run: str
    reviewers: tuple[str, ...]
    rows: tuple[JudgedSpan, ...]

    def fingerprint(self) -> str:
        """Fingerprint of the set: what was judged, how, and by whom."""
        return fingerprint("judgment set", [asdict(row) for row in self.rows])

    @property
    def queries(self) -> frozenset[str]:
        """The queries the set judges."""
        return frozenset(row.query for row in self.rows)


def judgment_set(run: str, reviewers: Iterable[str], rows: Iterable[JudgedSpan]) -> JudgmentSet:
    """A set with sorted rows, so that equal judgments have equal fingerprints."""
    ordered = sorted(rows, key=lambda row: (row.query, row.document, row.start, row.end))
    return JudgmentSet(run, tuple(sorted(set(reviewers))), tuple(ordered))


def judgments_text(judged: JudgmentSet) -> str:
    """The set as a file."""
    head = {"bakeoff": MARK, "version": VERSION, "fingerprint": judged.fingerprint(), "run": judged.run}
    rows = [asdict(row) for row in judged.rows]
    return (
        json.dumps({**head, "reviewers": judged.reviewers, "judgments": rows}, ensure_ascii=False, indent=1)
        + "\n"
    )


def read_judgments(path: Path) -> JudgmentSet:
    """Read a set; raises if it was edited by hand, because its fingerprint names other judgments."""
    if not path.is_file():
        raise DataError(
            f"{path} does not exist. Make it with: bakeoff review judgments FOLDER --out {path.name}"
        )
    try:
        data = json.loads(path.read_bytes())
        readable = isinstance(data, dict) and data.get("bakeoff") == MARK and data.get("version") == VERSION
        if not readable:
            raise DataError(
                f"{path} is not a judgment set of this bakeoff. Make it with: bakeoff review judgments"
            )
        rows = tuple(JudgedSpan(**row) for row in data["judgments"])
        judgments = JudgmentSet(data["run"], tuple(data["reviewers"]), rows)
        named = data["fingerprint"]
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise DataError(f"{path} is damaged ({exc}). Make it again with: bakeoff review judgments") from exc
    if judgments.fingerprint() != named:
        raise DataError(
            f"{path} was edited after it was written. Change judgments in the review, and make it again."
        )
    return judgments


def with_judgments(
    truth: Truth,
    queries: QuerySet,
    documents: pa.Table,
    judged: JudgmentSet,
    *,
    unread: Sequence[Skipped] = (),
    allowed: Collection[str] = (),
) -> Truth:
    """Truth where a set's queries are judged by people, and all others by their rules.

    A judgment of one of the `unread` files is an error, or a warning if `allowed` has its code (F55).
    """
    import pyarrow as pa

    place = {query.id: i for i, query in enumerate(queries.queries)}
    reasons = {one.id: one.reason for one in unread}
    lost = [row for row in judged.rows if row.query in place and row.document in reasons]
    holding, problems = _holding(judged, place, documents, lost)
    problems += _unread_problems(lost, reasons, "warning" if UNREAD in allowed else "error")
    reviewed = {row.query for row in (*holding, *lost)}
    rows = [place[name] for name in reviewed]
    judgments = truth.judgments.filter(
        pa.array([query not in set(rows) for query in truth.judgments["query"].to_pylist()], pa.bool_())
    )
    remaining = [one for one in truth.problems if _concerns(one, reviewed)]
    missing = [one for one in truth.unread if one.query_id not in reviewed]
    pairs = dict.fromkeys((row.query, row.document) for row in lost)
    missing += [UnreadTruth(query, name, name, reasons[name]) for query, name in pairs]
    table = pa.concat_tables([judgments, _table(holding, place, _rows(documents, holding))])
    return replace(truth, judgments=table, problems=(*remaining, *problems), unread=tuple(missing))


def _concerns(problem: Problem, reviewed: set[str]) -> bool:
    """Whether a rule problem still matters where people judged: an unreadable rule always does."""
    return problem.query_id not in reviewed or (problem.level == "error" and problem.code != UNREAD)


def _unread_problems(lost: Sequence[JudgedSpan], reasons: Mapping[str, str], level: Level) -> list[Problem]:
    """One problem per file that people judged but that was not read."""
    by_file: dict[str, list[str]] = {}
    for row in lost:
        by_file.setdefault(row.document, []).append(row.query)
    return [
        Problem(
            level,
            "",
            f"people judged {name} for {', '.join(dict.fromkeys(queries))}, but it was not read "
            f"({reasons[name]}).",
            UNREAD,
        )
        for name, queries in by_file.items()
    ]


def judged_by_models(judgments: pa.Table) -> list[str]:
    """Notes on a truth that includes a model's judgments."""
    counts = Counter(source for source in judgments["source"].to_pylist() if source.startswith(MODEL))
    return [_model_note(source, count, judgments.num_rows) for source, count in sorted(counts.items())]


def _model_note(source: str, count: int, rows: int) -> str:
    model, _, stability = source.removeprefix(MODEL).partition(STABILITY)
    return (
        f"judged by a model ({model}), {NOT_BY_PEOPLE}: {count:,} of {rows:,} judgments"
        f" ({stability or 'no grade was asked for twice'}). Results reflect what that model considers relevant."
    )


def _holding(
    judged: JudgmentSet, place: Mapping[str, int], documents: pa.Table, unread: Sequence[JudgedSpan]
) -> tuple[list[JudgedSpan], list[Problem]]:
    """Judgments whose query, document and text still exist, and a problem for the others."""
    rows, texts = _rows(documents, judged.rows), documents["text"]
    holding: list[JudgedSpan] = []
    lost: dict[str, list[JudgedSpan]] = {}
    gone = set(unread)
    for row in judged.rows:
        if row in gone:
            continue
        why = ""
        if row.query not in place:
            why = "are of queries that the query file does not have"
        elif row.document not in rows:
            why = "are of documents that the corpus does not have"
        elif _hash(texts[rows[row.document]].as_py()[row.start : row.end]) != row.text_hash:
            why = "were made on a text that has changed since"
        (lost.setdefault(why, []) if why else holding).append(row)
    return holding, [_problem(why, gone) for why, gone in lost.items()]


def _problem(why: str, gone: Sequence[JudgedSpan]) -> Problem:
    first = gone[0]
    at = f"{first.query} in {first.document}, characters {first.start} to {first.end}"
    return Problem(
        "warning", "", f"{len(gone)} judgments {why} and do not count, first {at}. Judge them again."
    )


def _hash(text: str) -> str:
    return bytes_fingerprint(text.encode("utf-8", "surrogatepass"))


def _rows(documents: pa.Table, judged: Iterable[JudgedSpan]) -> dict[str, int]:
    """The rows of the judged documents that the corpus has."""
    wanted = {row.document for row in judged}
    names = enumerate(StringColumn(documents["id"]))
    return {name: row for row, name in names if name in wanted}


def _table(rows: Sequence[JudgedSpan], place: Mapping[str, int], documents: Mapping[str, int]) -> pa.Table:
    columns: dict[str, object] = {
        "query": [place[row.query] for row in rows],
        "doc": [documents[row.document] for row in rows],
        "start": [row.start for row in rows],
        "end": [row.end for row in rows],
        "grade": [row.grade for row in rows],
        "source": [row.source for row in rows],
        "chunking": [""] * len(rows),
    }
    return JUDGMENTS.table(columns)
