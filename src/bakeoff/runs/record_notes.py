"""Notes in a run's record: what to know before relying on its numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bakeoff.corpus.skipped_files import describe_skipped, summarise_skipped
from bakeoff.pipeline.loops.latency_check import latency_disagreements
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.system_tables import SystemResult
from bakeoff.pipeline.timing import unexplained_time_notes, unknown_reference_notes
from bakeoff.truth.resolve import Truth

if TYPE_CHECKING:
    import pyarrow as pa

NAMED_IN_NOTE = 5


def left_out_notes(corpus: ReadCorpus) -> list[str]:
    """A note on the files that were skipped."""
    return [text for text in [describe_skipped(summarise_skipped(corpus.skipped))] if text]


def unread_truth_notes(truth: Truth) -> list[str]:
    """A note on queries whose truth names files that were not read (F55)."""
    if not truth.unread:
        return []
    queries = list(dict.fromkeys(one.query_id for one in truth.unread))
    files = list(dict.fromkeys(f"{one.file} ({one.reason})" for one in truth.unread))
    names, more = ", ".join(queries[:NAMED_IN_NOTE]), len(queries) - NAMED_IN_NOTE
    return [
        f"The truth of {len(queries):,} {'query' if len(queries) == 1 else 'queries'} is incomplete "
        f"({names}{f' and {more:,} more' if more > 0 else ''}): {len(files):,} "
        f"{'file it names was' if len(files) == 1 else 'files it names were'} not read, for example {files[0]}. "
        "The means it affects are marked with *."
    ]


def system_notes(results: list[SystemResult]) -> Iterable[str]:
    """Notes on single systems: unexplained or unconfirmed times, and chosen weights."""
    for result in results:
        yield from unexplained_time_notes(result.timings)
        yield from latency_disagreements(result.timings)
        yield from unknown_reference_notes(result.timings)
        rows = result.choices.to_pylist()
        folds = dict(sorted((row["fold"], row["weight"]) for row in rows))
        if folds:
            weights = ", ".join(f"{weight:g}" for weight in folds.values())
            yield f"{rows[0]['system']}: dense weights {weights} by fold, each chosen on the other folds' queries."


def resumed_systems(results: list[SystemResult]) -> dict[str, str]:
    """Systems that an earlier start of this run measured, each with its time."""
    return {result.systems["system"][0].as_py(): result.measured for result in results if result.measured}


def resumed_notes(resumed: Mapping[str, str]) -> list[str]:
    """A note that times measured before the run was resumed are not comparable with the others."""
    if not resumed:
        return []
    named = ", ".join(f"{system} ({moment})" for system, moment in list(resumed.items())[:NAMED_IN_NOTE])
    more = f" and {len(resumed) - NAMED_IN_NOTE} more" if len(resumed) > NAMED_IN_NOTE else ""
    return [
        f"Measured before this run was resumed: {named}{more}. The machine may have been busier or idler "
        "then; for comparable times, run into a new folder."
    ]


def identical_rankings(results: list[SystemResult]) -> list[str]:
    """Notes on systems that returned identical rankings for every query (F50)."""
    groups: dict[str, list[str]] = {}
    for result in results:
        if result.rankings.num_rows:
            system = result.rankings["system"][0].as_py()
            groups.setdefault(_digest(result.rankings), []).append(system)
    return [
        f"{', '.join(same)} returned identical rankings for every query, so they are the same system here."
        for same in groups.values()
        if len(same) > 1
    ]


def _digest(rankings: pa.Table) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in ("query_id", "chunk_id"):
        digest.update("\n".join(rankings[name].to_pylist()).encode())
    return digest.hexdigest()
