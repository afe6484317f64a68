"""The result of `bakeoff.evaluate`: values by query, bounds, means, and excluded queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.errors import MeasureError
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.names import Measure, parse
from bakeoff.runtime.count_text import count

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Column = Sequence[float | None]
NAMED = 5
"""Number of query ids listed in a note."""


@dataclass(frozen=True, slots=True)
class OmittedQuery:
    """A query that the means leave out, and why."""

    query: str
    reason: str


@dataclass(frozen=True, slots=True)
class Range:
    """A lower and an upper value."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TieRange:
    """Lowest, highest and mean value over all orders of tied results."""

    low: float
    high: float
    expected: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Values by measure and query; None means not computed and never enters a mean.

    `ends` computes lower and upper values over unjudged results on demand; `ties` holds what the order of
    equal scores can change; `rank_conflicts` are the queries of a run file whose ranks contradict their
    scores.
    """

    queries: tuple[str, ...]
    measures: tuple[Measure, ...]
    columns: tuple[Column, ...]
    ends: Callable[[], tuple[tuple[Column, ...], tuple[Column, ...]]]
    excluded: tuple[OmittedQuery, ...]
    conventions: Conventions
    ties: dict[str, dict[str, TieRange]]
    rank_conflicts: tuple[str, ...] = ()

    @property
    def lower(self) -> tuple[Column, ...]:
        """Lower values over unjudged results, by measure."""
        return self.ends()[0]

    @property
    def upper(self) -> tuple[Column, ...]:
        """Upper values over unjudged results, by measure."""
        return self.ends()[1]

    @property
    def mean(self) -> dict[str, float | None]:
        """Mean of each measure over the queries that have it."""
        return {str(m): _mean(column) for m, column in zip(self.measures, self.columns, strict=True)}

    @property
    def bounds(self) -> dict[str, Range | None]:
        """Lower and upper mean over unjudged results, of the queries that have the measure."""
        ranges: dict[str, Range | None] = {}
        for measure, low, high in zip(self.measures, self.lower, self.upper, strict=True):
            ends = _mean(low), _mean(high)
            ranges[str(measure)] = None if ends[0] is None or ends[1] is None else Range(ends[0], ends[1])
        return ranges

    @property
    def counts(self) -> dict[str, int]:
        """Number of queries behind each mean."""
        there = (sum(value is not None for value in column) for column in self.columns)
        return dict(zip(map(str, self.measures), there, strict=True))

    @property
    def per_query(self) -> dict[str, dict[str, float | None]]:
        """Values as {query: {measure: value}}."""
        names = [str(measure) for measure in self.measures]
        rows = zip(*self.columns, strict=True)
        return {
            query: dict(zip(names, row, strict=True)) for query, row in zip(self.queries, rows, strict=True)
        }

    def column(self, measure: str | Measure) -> dict[str, float | None]:
        """One measure as {query: value}."""
        requested = parse(measure)
        if requested not in self.measures:
            raise MeasureError(
                f"{requested} was not computed. Available: {', '.join(map(str, self.measures))}."
            )
        return dict(zip(self.queries, self.columns[self.measures.index(requested)], strict=True))

    def to_arrow(self) -> pa.Table:
        """One row per query and measure: query, measure, unit, value, lower, upper."""
        import pyarrow as pa

        names = [str(measure) for measure in self.measures]
        units = [str(measure.unit or "") for measure in self.measures]
        repeat = len(self.queries)
        return pa.table(
            {
                "query": pa.array(list(self.queries) * len(names), pa.string()),
                "measure": pa.array([name for name in names for _ in range(repeat)], pa.string()),
                "unit": pa.array([unit for unit in units for _ in range(repeat)], pa.string()),
                **{
                    key: pa.array([value for column in columns for value in column], pa.float64())
                    for key, columns in (
                        ("value", self.columns),
                        ("lower", self.lower),
                        ("upper", self.upper),
                    )
                },
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """One row per query, one column per measure."""
        import pandas as pd

        data = {str(m): list(column) for m, column in zip(self.measures, self.columns, strict=True)}
        return pd.DataFrame(data, index=pd.Index(self.queries, name="query"), dtype="float64")


def _mean(column: Column) -> float | None:
    there = [value for value in column if value is not None]
    return sum(there) / len(there) if there else None


def rank_conflict_note(queries: Iterable[str]) -> str:
    """A note on a run file whose ranks contradict its scores in some queries."""
    return (
        f"ranks and scores disagree for {name_queries(queries)}. Ranks are used here; "
        "--preset trec_eval sorts by score."
    )


def name_queries(queries: Iterable[str]) -> str:
    """Number of queries, and the ids of the first."""
    every = sorted(set(queries))
    more = ", …" if len(every) > NAMED else ""
    return f"{count(len(every), 'query', 'queries')} ({', '.join(every[:NAMED])}{more})"
