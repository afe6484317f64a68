"""Stores other tools' rankings as a run folder, so that everything that reads runs can read them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from bakeoff import __version__
from bakeoff.config.modes import RETRIEVER
from bakeoff.errors import SettingError
from bakeoff.fingerprint import fingerprint
from bakeoff.measures.conventions import DEFAULT, Conventions
from bakeoff.measures.names import parse
from bakeoff.measures.presets import preset as find_preset
from bakeoff.pipeline.system_tables import CELL, LATENCIES
from bakeoff.pipeline.timing import STATISTICS
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.folder import QUERIES, RunFolder
from bakeoff.runs.record import ExcludedQuery, RunRecord
from bakeoff.runs.score_files import (
    MEASURE,
    SEED,
    Missing,
    RankedFiles,
    SystemScores,
    name_sources,
    query_clusters_of,
    ranked_documents,
    read_ranked_files,
)
from bakeoff.runtime.machine import describe_machine, package_versions
from bakeoff.storage.schemas import RANKINGS, SCORES, SYSTEMS, TIMINGS, Schema
from bakeoff.types import Status, Unit

ALSO = ("RR@10", "R@20")
FileScores = Mapping[str, Mapping[str, SystemScores]]
"""Scores by measure and system."""
UNTIMED = "its rankings were made elsewhere"


def write_file_run(
    folder: Path,
    files: Sequence[Path],
    measure: str | None,
    *,
    qrels: Path | None,
    preset: str | None,
    missing: str,
) -> Result:
    """Write a run folder from ranking files, scored by judgments; an existing one is not replaced."""
    if (folder / "run.json").exists():
        raise SettingError(f"{folder} already holds a run. Choose another folder with --out.")
    if missing not in get_args(Missing):
        raise SettingError(f"missing is {missing!r}; use {', '.join(get_args(Missing))}.")
    conventions = find_preset(preset).conventions if preset else DEFAULT
    ranked = read_ranked_files(name_sources(files), qrels, conventions)
    measures = tuple(
        dict.fromkeys(str(parse(name).at_unit(Unit.DOCUMENT)) for name in (measure or MEASURE, *ALSO))
    )
    scores = {name: ranked.scores(name, missing) for name in measures}  # type: ignore[arg-type]  # checked above
    queries = sorted({query for one in scores[measures[0]].values() for query in one.scores})
    folder.mkdir(parents=True, exist_ok=True)
    target, tables = RunFolder(folder), _tables(folder.name, ranked, scores, queries)
    digests = {
        one.name: target.table(one, [tables[one]] if one in tables else []) for one in (*CELL, QUERIES)
    }
    record = _record(folder.name, ranked, measures, conventions, files)
    target.record(record.model_copy(update={"tables": digests, "excluded": _excluded_queries(scores)}))
    return open_run(folder)


def _excluded_queries(scores: FileScores) -> list[ExcludedQuery]:
    """Queries without a value on a measure, each once."""
    excluded = {
        (query, name): why
        for name, each in scores.items()
        for one in each.values()
        for query, why in one.reasons.items()
    }
    return [
        ExcludedQuery(query_id=query, measure=name, reason=why) for (query, name), why in excluded.items()
    ]


def _record(
    run: str, ranked: RankedFiles, measures: tuple[str, ...], conventions: Conventions, files: Sequence[Path]
) -> RunRecord:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    documents = ranked_documents(ranked)
    depth = max((len(items) for each in documents.values() for items in each.values()), default=1)
    return RunRecord(
        run=run,
        name=run,
        status="done",
        plan=fingerprint("files", [path.name for path in files], list(measures)),
        started=now,
        finished=now,
        bakeoff=__version__,
        experiment=f"rankings: {json.dumps([path.name for path in files])}\n",
        primary=measures[0],
        measures=list(measures),
        depth=depth,
        seed=SEED,
        runs=1,
        limits={},
        conventions=conventions.to_dict(),
        machine=describe_machine(),
        versions=package_versions(),
        systems=list(ranked.sources),
        truth_fingerprint=fingerprint("qrels", query_clusters_of(ranked.truth)),
        notes=list(ranked.notes),
    )


def _tables(
    run: str,
    ranked: RankedFiles,
    scores: FileScores,
    queries: Sequence[str],
) -> dict[Schema, object]:
    systems = list(ranked.sources)
    clusters = query_clusters_of(ranked.truth)
    rows = [
        (
            run,
            system,
            None,
            None,
            None,
            RETRIEVER.name,
            None,
            "{}",
            str(Status.DONE),
            "",
            None,
            None,
            None,
            False,
            system,
            None,
            None,
            0,
        )
        for system in systems
    ]
    scored = [
        (run, system, query, name, str(Unit.DOCUMENT), "qrels", one.scores.get(query))
        for name, each in scores.items()
        for system, one in each.items()
        for query in queries
    ]
    served = [
        (run, system, query, rank, document, document, 0, 0, "", -float(rank))
        for system, each in ranked_documents(ranked).items()
        for query, items in each.items()
        for rank, document in enumerate(items, 1)
    ]
    asked = [
        (query, query, "", "", "", False, False, "{}", clusters.get(query, f"query {query}"))
        for query in queries
    ]
    untimed = [(run, system, "total", name, None, 0, UNTIMED) for system in systems for name in STATISTICS]
    return {
        SYSTEMS: SYSTEMS.table_of_rows(rows),
        SCORES: SCORES.table_of_rows(scored),
        RANKINGS: RANKINGS.table_of_rows(served),
        TIMINGS: TIMINGS.table_of_rows(untimed),
        LATENCIES: LATENCIES.arrow().empty_table(),
        QUERIES: QUERIES.table_of_rows(asked),
    }
