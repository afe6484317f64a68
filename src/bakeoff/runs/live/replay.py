"""Replays the rankings of a run: a system exported to another project must still return them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.errors import DataError
from bakeoff.runs.analysis import Result
from bakeoff.runs.live.live_system import FoundPassage, LiveSystem, question_weights
from bakeoff.truth.queries import read_queries
from bakeoff.types import Where

EXPECTED, MEASURED = "expected.jsonl", "measured.json"
SHOWN_DIFFERENCES = 5


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """One stored result of a ranking."""

    document: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRanking:
    """A question of the run with its ranking; `weight` is that of a tuned fusion."""

    query_id: str
    text: str
    results: tuple[ExpectedResult, ...]
    weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """How many questions were asked, how many returned the run's ranking, and how many of those differ only
    in ties."""

    questions: int
    equal: int
    tied: int
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every ranking matches, up to the order of equal scores."""
        return self.equal + self.tied == self.questions

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        tied = f", {self.tied} of them up to the order of equal scores" if self.tied else ""
        same = self.equal + self.tied
        what = "1 question gives" if self.questions == 1 else f"{self.questions} questions give"
        return f"{same} of {what} the rankings of the run{tied}."


def expected_rankings(result: Result, label: str) -> Iterator[ExpectedRanking]:
    """Yield one system's ranking for every question of a run."""
    import pyarrow.compute as pc

    table = result.rankings.filter(pc.equal(result.rankings["system"], label))
    columns = ["query_id", "rank", "document_id", "start", "end", "score"]
    rankings: dict[str, list[ExpectedResult]] = {}
    for row in table.select(columns).sort_by([("query_id", "ascending"), ("rank", "ascending")]).to_pylist():
        one = ExpectedResult(row["document_id"], row["start"], row["end"], row["score"])
        rankings.setdefault(row["query_id"], []).append(one)
    weights = question_weights(result, label)
    for query in result.queries.select(["query_id", "text"]).to_pylist():
        name = query["query_id"]
        yield ExpectedRanking(
            query_id=name,
            text=query["text"],
            results=tuple(rankings.get(name, ())),
            weight=weights.get(name),
        )


def write_expected(rankings: Iterable[ExpectedRanking], path: Path) -> int:
    """Write one JSON line per question and return their number."""
    lines = [json.dumps(asdict(one), ensure_ascii=False) for one in rankings]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def read_expected(path: Path) -> list[ExpectedRanking]:
    """Read what `write_expected` wrote."""
    try:
        with path.open(
            encoding="utf-8"
        ) as lines:  # splitlines() would also end a line at U+2028 in a question
            rows = [json.loads(line) for line in lines]
        return [
            ExpectedRanking(**{**row, "results": tuple(ExpectedResult(**one) for one in row["results"])})
            for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as exc:
        raise DataError(
            f"{path} does not hold the rankings of a run: {exc}. Run `bakeoff take` again."
        ) from exc


def write_measured(result: Result, label: str, folder: Path) -> None:
    """Record which run, system and documents the rankings belong to."""
    corpus = result.record.corpus.fingerprint if result.record.corpus else ""
    measured = {"run": result.path.name, "system": label, "documents": corpus}
    (folder / MEASURED).write_text(
        json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def read_measured(path: Path) -> str:
    """Fingerprint of the documents that the rankings belong to."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["documents"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as exc:
        raise DataError(
            f"{path} does not name the documents of a run: {exc}. Run `bakeoff take` again."
        ) from exc


def self_test(
    folder: str | Path, system: LiveSystem, find: Callable[[str, int], Sequence[FoundPassage]] | None = None
) -> ReplayReport:
    """Ask a taken system the questions of its run; `find` asks through a framework, without filters.

    Other documents are an error: there is nothing to compare with.
    """
    place = Path(folder)
    if read_measured(place / MEASURED) != system.corpus:
        raise DataError(
            "the documents are not those of the run, so its rankings prove nothing here. Test with the documents of "
            "the run, or measure again with: bakeoff run system.yaml"
        )
    queries = read_queries(place / "queries.yaml")
    filters: dict[str, Where] = {}
    if queries.filters:
        filters = {query.id: where for query, where in zip(queries.queries, queries.filters, strict=True)}

    def search(one: ExpectedRanking) -> Sequence[FoundPassage]:
        depth, where = max(len(one.results), 1), filters.get(one.query_id, ())
        if find is None or where or one.weight is not None:
            return system.search(one.text, depth, where=where, weight=one.weight)
        return find(one.text, depth)

    return replay(read_expected(place / EXPECTED), search)


def replay(
    expected: Sequence[ExpectedRanking], search: Callable[[ExpectedRanking], Sequence[FoundPassage]]
) -> ReplayReport:
    """Ask every question again and compare rankings and scores."""
    equal = tied = 0
    differences = []
    for one in expected:
        actual = tuple(ExpectedResult(hit.document, hit.start, hit.end, hit.score) for hit in search(one))
        if actual == one.results:
            equal += 1
        elif _differ_in_ties(actual, one.results):
            tied += 1
        else:
            differences.append(_describe(one, actual))
    return ReplayReport(
        questions=len(expected), equal=equal, tied=tied, differences=tuple(differences[:SHOWN_DIFFERENCES])
    )


def _differ_in_ties(actual: Sequence[ExpectedResult], expected: Sequence[ExpectedResult]) -> bool:
    """Whether scores match rank by rank, and the same results share each score above the last one."""
    if [one.score for one in actual] != [one.score for one in expected]:
        return False
    last = expected[-1].score if expected else None  # a tie with the last result may continue below the cut
    return {one for one in actual if one.score != last} == {one for one in expected if one.score != last}


def _describe(expected: ExpectedRanking, actual: Sequence[ExpectedResult]) -> str:
    """Describe the first rank that differs."""
    pairs = zip((*actual, None), (*expected.results, None), strict=False)
    rank, (got, due) = next((rank, pair) for rank, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return f"{expected.query_id}, rank {rank}: {_name(got)} instead of {_name(due)}"


def _name(one: ExpectedResult | None) -> str:
    return f"{one.document} {one.start}–{one.end} ({one.score:.6g})" if one else "nothing"
