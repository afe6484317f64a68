"""What exports read from a run: means, values by query, latencies, top results, names for files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bakeoff.measures.conventions import Conventions, affected_by, conventions_that_differ
from bakeoff.measures.names import parse
from bakeoff.runs.analysis import Result
from bakeoff.types import TableRow

if TYPE_CHECKING:
    import numpy as np

_PLAIN = re.compile(r"[^a-z0-9]+")
TOP = 10


class StepLatency(NamedTuple):
    """Mean milliseconds of one query: embedding, searching (with fusing and reranking), both."""

    embed: float | None
    search: float | None
    total: float | None


class ExportContext:
    """A run as exports see it; unmeasured values are None, never 0."""

    def __init__(
        self,
        result: Result,
        unit: str = "",
        conventions: Conventions | None = None,
        pair: tuple[str, str] | None = None,
        report_text: Callable[[Result], str] = lambda _: "",
    ) -> None:
        self.report_text = report_text
        self.result, self._unit, self.pair, self._conventions = result, unit, pair, conventions
        self.missing: dict[str, None] = {}
        self.unlike: dict[str, str] = {}
        run = Conventions.from_dict(result.record.conventions)
        self._differ = () if conventions is None else conventions_that_differ(run, conventions)
        self.queries: list[TableRow] = result.queries.to_pylist()
        self.systems: list[TableRow] = [
            row for row in result.systems.to_pylist() if row["system"] in result.done
        ]

    @cached_property
    def by_rules(self) -> ExportContext:
        """The same run scored by its rules alone."""
        if not self.result.rescored:
            return self
        return ExportContext(
            self.result.by_rules(), self._unit, self._conventions, self.pair, self.report_text
        )

    @cached_property
    def slugs(self) -> dict[str, str]:
        """A short name per system for files and columns: its embedder if that is unique."""
        embedders = [row["embedder"] or row["mode"] for row in self.systems]
        unique = len(set(embedders)) == len(embedders)
        names = embedders if unique else [row["system"] for row in self.systems]
        slugs = [_PLAIN.sub("_", name.lower()).strip("_") or "system" for name in names]
        return {row["system"]: slug for row, slug in zip(self.systems, _distinct(slugs), strict=True)}

    @property
    def run(self) -> str:
        """The run's name."""
        return self.result.record.run

    @property
    def stamp(self) -> str:
        """When the run began, as YYYYMMDD_HHMMSS."""
        return re.sub(r"[-:]", "", self.result.record.started[:19]).replace("T", "_")

    def pick(self, name: str, k: int | None = None, unit: str = "") -> str | None:
        """The run's measure of that name and depth, of the preset's unit if it has it; without a depth, the deepest.

        None where the run has none, or computed it by other conventions than the preset's.
        """
        found = [parse(text) for text in self.result.record.measures]
        fitting = [one for one in found if one.name == name and (k is None or one.k == k)]
        fitting = [one for one in fitting if not unit or str(one.unit) == unit]
        fitting.sort(key=lambda one: (str(one.unit) != self._unit, -(one.k or float("inf"))))
        shown = f"{name}@{k}" if k else name
        if not fitting:
            self.missing[shown] = None
            return None
        other = [text for field, text in self._differ if affected_by(field, fitting[0])]
        if other:
            self.unlike[shown] = "; ".join(other)
            return None
        return str(fitting[0])

    def named_alike(self, name: str, k: int) -> str | None:
        """The full name of a measure at the preset's unit; None where the run's conventions are not the preset's."""
        measure = parse(f"{name}@{k}({self._unit})")
        other = [text for field, text in self._differ if affected_by(field, measure)]
        if other:
            self.unlike[f"{name}@{k}"] = "; ".join(other)
        return None if other else str(measure)

    def values(self, system: str, measure: str | None) -> dict[str, float | None]:
        """A measure by query; None if it was not computed or the run lacks it."""
        if measure is None:
            return {row["query_id"]: None for row in self.queries}
        return {query: self._scores.get((measure, system, query)) for query in self._ids}

    def mean(
        self, system: str, measure: str | None, where: Callable[[TableRow], bool] | None = None
    ) -> float | None:
        """The mean over the queries that were scored, or over those of them that satisfy `where`."""
        values = self.values(system, measure)
        kept = [values[row["query_id"]] for row in self.queries if where is None or where(row)]
        return _mean(kept)

    def spread(self, system: str, measure: str | None) -> float | None:
        """The sample standard deviation over queries (ddof = 1)."""
        known = [value for value in self.values(system, measure).values() if value is not None]
        return _sd(known)

    def groups(self, system: str, measure: str | None, label: str) -> dict[str, tuple[float | None, int]]:
        """Mean and count of scored queries by category or difficulty."""
        values = self.values(system, measure)
        found: dict[str, tuple[float | None, int]] = {}
        for name in dict.fromkeys(row[label] or "" for row in self.queries):
            kept = [values[row["query_id"]] for row in self.queries if (row[label] or "") == name]
            found[name] = (_mean(kept), sum(value is not None for value in kept))
        return found

    def steps(self, system: str) -> dict[str, StepLatency]:
        """The mean of each query's repeats in milliseconds."""
        return self._latencies.get(system, {})

    def repeats(self, system: str) -> list[float]:
        """The mean total milliseconds of each repeat."""
        return self._repeats.get(system, [])

    def first(self, system: str) -> dict[str, list[TableRow]]:
        """The first ten results of each query: rank, chunk, document, section, score."""
        return self._first.get(system, {})

    @cached_property
    def _ids(self) -> list[str]:
        return [row["query_id"] for row in self.queries]

    @cached_property
    def _scores(self) -> dict[tuple[str, str, str], float | None]:
        columns = (
            self.result.scores[name].to_pylist() for name in ("measure", "system", "query_id", "value")
        )
        return {
            (measure, system, query): value for measure, system, query, value in zip(*columns, strict=True)
        }

    @cached_property
    def _latencies(self) -> dict[str, dict[str, StepLatency]]:
        rows: dict[tuple[str, str], list[StepLatency]] = {}
        for row in self.result.latencies.to_pylist():
            parts = [row[name] for name in ("search_ms", "fuse_ms", "rerank_ms")]
            known = [part for part in parts if part is not None]
            step = StepLatency(row["embed_ms"], sum(known) if known else None, row["total_ms"])
            rows.setdefault((row["system"], row["query_id"]), []).append(step)
        found: dict[str, dict[str, StepLatency]] = {}
        for (system, query), steps in rows.items():
            found.setdefault(system, {})[query] = StepLatency(
                *(_mean(list(part)) for part in zip(*steps, strict=True))
            )
        return found

    @cached_property
    def _repeats(self) -> dict[str, list[float]]:
        sums: dict[str, dict[int, list[float | None]]] = {}
        for row in self.result.latencies.to_pylist():
            sums.setdefault(row["system"], {}).setdefault(row["repeat"], []).append(row["total_ms"])
        found = {}
        for system, repeats in sums.items():
            means = [_mean(values) for _, values in sorted(repeats.items())]
            found[system] = [value for value in means if value is not None]
        return found

    @cached_property
    def _first(self) -> dict[str, dict[str, list[TableRow]]]:
        import pyarrow.compute as pc

        rankings = self.result.rankings
        columns = ["system", "query_id", "rank", "chunk_id", "document_id", "section", "score"]
        rows = rankings.filter(pc.less_equal(rankings["rank"], TOP)).select(columns).to_pylist()
        found: dict[str, dict[str, list[TableRow]]] = {}
        for row in rows:
            system, query = row.pop("system"), row.pop("query_id")
            found.setdefault(system, {}).setdefault(query, []).append(row)
        return found


def across_repeats(values: Sequence[float]) -> TableRow | None:
    """Median, sample standard deviation and quartiles over repeats; no spread from a single one (C-15)."""
    if not values:
        return None
    array = _array(values)
    import numpy as np

    median, low, high = (float(np.quantile(array, q)) for q in (0.5, 0.25, 0.75))
    return {"median": median, "std": _sd(list(values)), "iqr": [low, high] if len(values) > 1 else None}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(_array(known).mean()) if known else None


def _sd(known: Sequence[float]) -> float | None:
    return float(_array(known).std(ddof=1)) if len(known) > 1 else None


def _array(values: Sequence[float]) -> np.ndarray:
    import numpy as np

    return np.asarray(values, float)


def _distinct(slugs: list[str]) -> list[str]:
    """The same names, numbered if two are equal."""
    seen: dict[str, int] = {}
    out = []
    for slug in slugs:
        seen[slug] = seen.get(slug, 0) + 1
        out.append(slug if seen[slug] == 1 else f"{slug}_{seen[slug]}")
    return out
