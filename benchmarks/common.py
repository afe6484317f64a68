"""The output format of every benchmark, `name|ours|peer|ratio|target` per line, and the check of targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: our figure, the peer's or the limit's, in one unit; `target` bounds the ratio ours / peer."""

    name: str
    ours: float
    peer: float
    target: str = ""

    @property
    def ratio(self) -> float:
        """Ours over the peer's."""
        return self.ours / self.peer

    @property
    def holds(self) -> bool:
        """Whether the ratio is within the target, given as `>= x` or `<= x`."""
        if not self.target:
            return True
        sign, bound = self.target.split()
        return self.ratio >= float(bound) if sign == ">=" else self.ratio <= float(bound)

    def __str__(self) -> str:
        return f"{self.name}|{self.ours:.4g}|{self.peer:.4g}|{self.ratio:.3f}|{self.target or '-'}"


def show(rows: Iterable[Row]) -> int:
    """Print the rows; 1 where a target is missed, else 0."""
    print("name|ours|peer|ratio|target")
    missed = 0
    for row in rows:
        print(row if row.holds else f"{row}  MISSED")
        missed |= not row.holds
    return int(missed)
