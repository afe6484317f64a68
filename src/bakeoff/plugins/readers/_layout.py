"""Reading order of a page's lines: columns one after the other, table rows cell by cell.

Boxes come in drawing order. Boxes side by side are either columns of running text, read one below the other,
or cells of a table, read as one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

GAP = 0.8
"""Minimum gap between cells, in line heights; words of one line are closer."""
COLUMN_ROWS = 4
"""Minimum number of rows side by side that make columns."""
COLUMN_SHARE = 0.25
"""Minimum share of the width that a column's lines fill; table cells are narrower."""


Edges = Sequence[float]
"""Left, top, right and bottom of a line or a part of it, counted from the lower left corner."""


class Cell(NamedTuple):
    """Parts of a line without a gap between them, and their extent."""

    left: float
    right: float
    parts: range


Row = list[Cell]


def order_lines(lines: Sequence[tuple[Edges, str]]) -> list[str]:
    """Texts of boxes in reading order, with bars between table cells."""
    rows = group_rows([edges for edges, _ in lines])
    texts = [[" ".join(lines[part][1] for part in cell.parts) for cell in row] for row in rows]
    return arrange(rows, [" ".join(cells) for cells in texts], lambda row: texts[row])


def side_by_side(boxes: Iterable[Edges]) -> bool:
    """Whether two consecutively drawn boxes lie in one row with a gap between them."""
    for (_, top, right, bottom), (left, other_top, _, other_bottom) in pairwise(boxes):
        if left - right > GAP * (top - bottom) and other_bottom < top and bottom < other_top:
            return True
    return False


def group_rows(boxes: Iterable[Edges]) -> list[Row]:
    """Group consecutively drawn boxes into rows, joining those without a gap."""
    rows: list[Row] = []
    row: Row = []
    begin, start, past = 0.0, 0, 0
    upper = end = lower = 0.0
    for left, top, right, bottom in boxes:
        height, own = upper - lower, top - bottom
        shared = (upper if upper < top else top) - (lower if lower > bottom else bottom)
        new_row = left < end - 1 or shared <= 0 or 2 * shared < (height if height < own else own)
        if new_row or left - end > GAP * height:
            if past:
                row.append(Cell(begin, end, range(start, past)))
            if new_row:
                row = []
                rows.append(row)
            begin, start = left, past
        past += 1
        upper, end, lower = top, right, bottom
    if past:
        row.append(Cell(begin, end, range(start, past)))
    return rows


def arrange(rows: Sequence[Row], lines: Sequence[str], cells: Callable[[int], list[str] | None]) -> list[str]:
    """Lines of rows in reading order; `cells` returns the texts of a row's cells, None if unknown."""
    found: list[str] = []
    for several, places in groupby(range(len(rows)), key=lambda place: len(rows[place]) > 1):
        block = list(places)
        texts = [cells(place) if several else None for place in block]
        known = [one for one in texts if one is not None]
        if len(known) < len(block):
            found += [lines[place] for place in block]
        elif _are_columns([rows[place] for place in block]):
            found += [line for column in zip(*known, strict=True) for line in column]
        else:
            found += [" | ".join(one) for one in known]
    return found


def _are_columns(rows: list[Row]) -> bool:
    """Whether the cells of all rows form columns of running text, with a gutter between them."""
    count = len(rows[0])
    if len(rows) < COLUMN_ROWS or any(len(row) != count for row in rows):
        return False
    columns = list(zip(*rows, strict=True))
    width = max(cell.right for cell in columns[-1]) - min(cell.left for cell in columns[0])
    wide = all(
        median(cell.right - cell.left for cell in column) >= COLUMN_SHARE * width for column in columns
    )
    return wide and all(
        max(cell.right for cell in one) < min(cell.left for cell in other) for one, other in pairwise(columns)
    )
