"""Judgment files of TREC (query iteration document grade) and BEIR (query-id corpus-id score), line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.truth.importers.textfile import lines, read_text

BEIR_HEADER = ("query-id", "corpus-id", "score")


@dataclass(frozen=True, slots=True)
class Judgment:
    """One line of a judgment file."""

    query: str
    document: str
    grade: int
    iteration: str
    where: str


def read_beir(path: Path) -> list[Judgment]:
    """The judgments of a BEIR tsv; the header may be missing."""
    rows = []
    for number, line in lines(read_text(path)):
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1 and tuple(cells) == BEIR_HEADER:
            continue
        where = f"{path.name}, line {number}"
        if len(cells) != 3:
            raise DataError(
                f"{where}: {len(cells)} columns between tabs, not 3: {' '.join(BEIR_HEADER)}. Correct it."
            )
        rows.append(Judgment(cells[0], cells[1], parse_grade(cells[2], where), "0", where))
    return check_judgments(rows)


def read_trec(path: Path) -> list[Judgment]:
    """Judgments of TREC qrels."""
    rows = []
    for number, line in lines(read_text(path)):
        cells, where = line.split(), f"{path.name}, line {number}"
        if len(cells) != 4:
            raise DataError(
                f"{where}: {len(cells)} columns, not 4: query iteration document grade. Correct it."
            )
        rows.append(Judgment(cells[0], cells[2], parse_grade(cells[3], where), cells[1], where))
    return check_judgments(rows)


def parse_grade(text: str, where: str) -> int:
    """Parse a grade, a whole number in any notation."""
    try:
        grade = float(text)
    except ValueError as exc:
        raise DataError(f"{where}: the grade {text!r} is not a number. Correct it.") from exc
    if grade != grade // 1 or abs(grade) > 100:
        raise DataError(f"{where}: the grade {text!r} is not a whole number of usual size. Correct it.")
    return int(grade)


def check_judgments(judgments: Sequence[Judgment]) -> list[Judgment]:
    """Return the judgments; raises for blanks, or a document judged twice for a query."""
    first: dict[tuple[str, str], str] = {}
    for judgment in judgments:
        if not judgment.query or not judgment.document:
            raise DataError(f"{judgment.where}: the query or the document is blank. Correct the line.")
        pair = judgment.query, judgment.document
        if pair in first:
            raise DataError(
                f"{judgment.where}: document {judgment.document!r} of query {judgment.query!r} is also judged"
                f" at {first[pair]}. Keep one."
            )
        first[pair] = judgment.where
    return list(judgments)


def by_query(judgments: Sequence[Judgment]) -> dict[str, list[Judgment]]:
    """Judgments by query, in the order of the file."""
    groups: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        groups.setdefault(judgment.query, []).append(judgment)
    return groups
