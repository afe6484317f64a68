"""Review files of the SQL-truth benchmark as that tool counts them, and what its counting misses (F46).

Its rules: a judgment counts where it equals one of the three words but for case; anything else is passed over without
a word. The means divide by all results of complete files, the figures of a query by its counted results only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bakeoff.measures.labels import Label
from bakeoff.review.importing import ImportedReview
from bakeoff.review.sheet_reader import review_files
from bakeoff.types import JsonObject

NAMED_REPORT = "report id in expected list"
_WORDS = {label.value: label for label in Label if label.value}


@dataclass(frozen=True, slots=True)
class QueryCount:
    """Counts of one query; shares refer to the counted results only."""

    query: str
    counts: Counter[Label]

    @property
    def precision(self) -> float:
        """(KEYWORD_MATCH + SEMANTIC_MATCH) / counted."""
        return _share(
            self.counts[Label.KEYWORD_MATCH] + self.counts[Label.SEMANTIC_MATCH], self.counts.total()
        )

    @property
    def lift(self) -> float:
        """SEMANTIC_MATCH / counted."""
        return _share(self.counts[Label.SEMANTIC_MATCH], self.counts.total())


@dataclass(slots=True)
class StoredCounts:
    """The figures of one model as that tool stores them in human_review_<model>.json."""

    model: str
    files: int = 0
    results: int = 0
    queries: list[QueryCount] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    by_report: int = 0

    def count(self, label: Label) -> int:
        """The number of results with a label."""
        return sum(query.counts[label] for query in self.queries)

    @property
    def precision(self) -> float:
        """(KEYWORD_MATCH + SEMANTIC_MATCH) / all results."""
        return _share(self.count(Label.KEYWORD_MATCH) + self.count(Label.SEMANTIC_MATCH), self.results)

    @property
    def lift(self) -> float:
        """SEMANTIC_MATCH / all results."""
        return _share(self.count(Label.SEMANTIC_MATCH), self.results)

    @property
    def false_positives(self) -> float:
        """FALSE_POSITIVE / all results."""
        return _share(self.count(Label.FALSE_POSITIVE), self.results)


def stored_counts(folder: Path) -> list[StoredCounts]:
    """The counts of each model by that tool's rules; other files are skipped."""
    found: dict[str, StoredCounts] = {}
    for path in review_files(folder):
        data = _read_json(path)
        if data is None:
            continue
        metadata = data["metadata"]
        model = found.setdefault(str(metadata.get("model")), StoredCounts(str(metadata.get("model"))))
        model.files += 1
        if metadata.get("review_complete") is True:
            _add(model, str(metadata.get("query_id")), data["results"])
    return [found[name] for name in sorted(found)]


def explain_differences(stored: Iterable[StoredCounts], imported: ImportedReview) -> list[str]:
    """Why our figures differ from the stored ones, in sentences with numbers."""
    counts = list(stored)
    said = [_passed_over(one) for one in counts if one.passed_over]
    said += [f"{gone.path.name} is left out here: {gone.reason}" for gone in imported.refused]
    for one in counts:
        if one.by_report:
            said.append(
                f"{one.model}: {one.by_report} of its KEYWORD_MATCH were filled in because the report is in a list, "
                "which says nothing about the passage. A person should look at them."
            )
    if imported.by_rule:
        said.append(
            f"{len(imported.by_rule)} files that rules filled in completely count here although they are not marked "
            "complete."
        )
    sets = {one.model: {query.query for query in one.queries} for one in counts}
    if len(sets) > 1 and len({frozenset(queries) for queries in sets.values()}) > 1:
        common = set.intersection(*sets.values())
        sizes = ", ".join(f"{model} {len(queries)}" for model, queries in sets.items())
        said.append(
            f"The stored means are over different queries ({sizes}; {len(common)} in common). Here systems are "
            "compared on queries that are complete for both."
        )
    return said


def _passed_over(one: StoredCounts) -> str:
    words = ", ".join(f"{word!r} {count}×" for word, count in one.passed_over.most_common())
    total = one.passed_over.total()
    return (
        f"{one.model}: {total} of {one.results} results were passed over without a word ({words}), yet the means "
        f"divide by {one.results} and the figures of a query by what is left. Here blanks and case do not matter, and "
        "an empty judgment is unjudged: it is in the bounds."
    )


def _read_json(path: Path) -> JsonObject | None:
    try:
        data = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, OSError, UnicodeError):
        return None
    whole = isinstance(data, dict) and isinstance(data.get("metadata"), dict)
    return data if whole and isinstance(data.get("results"), list) else None


def _add(model: StoredCounts, query: str, results: list[object]) -> None:
    counts: Counter[Label] = Counter()
    for result in results:
        if not isinstance(result, dict):
            continue
        written = str(result.get("judgment") or "")
        label = _WORDS.get(written.upper())
        if label is None:
            model.passed_over[written] += 1
        else:
            counts[label] += 1
        model.by_report += NAMED_REPORT in str(result.get("notes") or "").lower()
    model.results += len(results)
    model.queries.append(QueryCount(query, counts))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
