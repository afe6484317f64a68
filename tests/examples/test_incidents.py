"""The synthetic accident reports are what queries.yaml says of them, byte for byte the same everywhere."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

import bakeoff.examples.incidents as incidents
from bakeoff.errors import CorpusError
from bakeoff.examples.incidents.generate import (
    NOTICE,
    IncidentReport,
    make_reports,
    write_labels,
    write_reports,
)

HERE = Path(incidents.__file__).parent
HEADING = re.compile(r"^(?:\d+(?:\.\d+)*\.?\s+|\([a-z]\)\s+)?([A-Z][A-Z ,/&'-]+)$", re.MULTILINE)
PINNED = "eb61ef390587ab560edc56747af60224099823eb7b052258067b7e520f692f09"

# Every report has one heading of each row (S4's standard sections).
SECTIONS = (
    ("SYNOPSIS", "EXECUTIVE SUMMARY"),
    ("HISTORY OF FLIGHT",),
    ("INJURIES TO PERSONS",),
    ("DAMAGE TO AIRCRAFT",),
    ("PERSONNEL INFORMATION", "PILOT INFORMATION", "FLIGHT CREW INFORMATION"),
    ("AIRCRAFT INFORMATION",),
    ("MAINTENANCE RECORDS",),
    ("METEOROLOGICAL INFORMATION",),
    ("FLIGHT RECORDERS",),
    ("WRECKAGE AND IMPACT INFORMATION",),
    ("MEDICAL AND PATHOLOGICAL INFORMATION",),
    ("FIRE",),
    ("SURVIVAL ASPECTS",),
    ("TESTS AND RESEARCH",),
    ("ADDITIONAL INFORMATION",),
    ("ANALYSIS",),
    ("CONCLUSIONS", "FINDINGS"),
    ("PROBABLE CAUSE",),
    ("RECOMMENDATIONS", "SAFETY RECOMMENDATIONS"),
    ("APPENDIX", "APPENDIX A"),
)


@dataclass(frozen=True)
class Chunk:
    """A section of a report, cut here by headings alone, independent of the product's chunkers."""

    id: str
    report: str
    section: str
    start: int
    end: int
    text: str


def _chunks(report: IncidentReport) -> Iterator[Chunk]:
    found = list(HEADING.finditer(report.text))
    ends = [match.start() for match in found[1:]] + [len(report.text)]
    for number, (match, end) in enumerate(zip(found, ends, strict=True)):
        text = report.text[match.start() : end]
        yield Chunk(f"{report.id}_{number:03d}", report.id, match[0], match.start(), end, text)


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


@pytest.fixture(scope="module")
def reports() -> list[IncidentReport]:
    return make_reports()


@pytest.fixture(scope="module")
def chunks(reports: list[IncidentReport]) -> list[Chunk]:
    return [chunk for report in reports for chunk in _chunks(report)]


@pytest.fixture(scope="module")
def database(chunks: list[Chunk]) -> duckdb.DuckDBPyConnection:
    table = pa.table(
        {
            "chunk_id": [chunk.id for chunk in chunks],
            "report_id": [chunk.report for chunk in chunks],
            "section_name": [chunk.section for chunk in chunks],
            "chunk_text": [chunk.text for chunk in chunks],
        }
    )
    connection = duckdb.connect()
    connection.register("chunks", table)
    return connection


FILE = yaml.load((HERE / "queries.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
QUERIES: dict[str, dict[str, Any]] = {query["id"]: {**FILE["defaults"], **query} for query in FILE["queries"]}


def _rules(query: str) -> list[dict[str, Any]]:
    truth = QUERIES[query]["truth"]
    return truth.get("any", [truth]) if isinstance(truth, dict) else []


def _sql(query: str) -> str:
    return next((rule["sql"] for rule in _rules(query) if "sql" in rule), "")


WITH_SQL = [query for query in QUERIES if _sql(query)]
CONCEPTUAL = [query for query in QUERIES if query.startswith("CON")]


def _sql_hits(database: duckdb.DuckDBPyConnection, query: str) -> set[str]:
    return {row[0] for row in database.execute(f"SELECT chunk_id FROM chunks WHERE {_sql(query)}").fetchall()}


def _signal_hits(chunks: list[Chunk], query: str) -> set[str]:
    signals = next((rule["signals"] for rule in _rules(query) if "signals" in rule), None)
    if signals is None:
        return set()
    return {
        chunk.id
        for chunk in chunks
        if sum(word in chunk.text.lower() for word in signals["of"]) >= signals["at_least"]
    }


def _reports_of(ids: set[str]) -> set[str]:
    return {chunk_id.split("_")[0] for chunk_id in ids}


def _speaking(reports: list[IncidentReport], query: str, how: str) -> set[str]:
    return {r.id for r in reports if any(p.topic == query and p.how == how for p in r.passages)}


# --- the corpus ---------------------------------------------------------------------------------------


def test_two_generations_are_identical_and_pinned(tmp_path: Path) -> None:
    first, second = write_reports(tmp_path / "a"), write_reports(tmp_path / "b")
    assert [path.name for path in first] == [path.name for path in second]
    assert _digest(tmp_path / "a") == _digest(tmp_path / "b") == PINNED


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from bakeoff.examples.incidents.generate import write_reports;"
        "write_reports(Path(sys.argv[1]))"
    )
    source = str(HERE.parents[2])
    env = {**os.environ, "PYTHONHASHSEED": "4711", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONPATH": source}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "c")], check=True, env=env)
    assert _digest(tmp_path / "c") == PINNED


def test_another_seed_writes_other_reports(tmp_path: Path) -> None:
    write_reports(tmp_path, seed=8)
    assert _digest(tmp_path) != PINNED


def test_there_are_at_least_120_reports_of_a_few_kilobytes(tmp_path: Path) -> None:
    paths = write_reports(tmp_path)
    assert len(paths) == len(set(paths)) == len(list(tmp_path.iterdir())) >= 120
    assert all(re.fullmatch(r"AA[RB]\d{4}\.txt", path.name) for path in paths)
    assert 1_000_000 < sum(path.stat().st_size for path in paths) < 3_000_000


def test_every_report_says_first_that_it_is_synthetic(reports: list[IncidentReport]) -> None:
    assert NOTICE.startswith("SYNTHETIC REPORT")
    assert all(report.text.startswith(NOTICE + "\n") for report in reports)


def test_every_report_has_the_standard_sections_once_in_order(reports: list[IncidentReport]) -> None:
    for report in reports:
        found = [match[1] for match in HEADING.finditer(report.text)]
        assert len(found) == len(SECTIONS), report.id
        assert all(name in names for name, names in zip(found, SECTIONS, strict=True)), (report.id, found)


def test_headings_come_plain_numbered_and_lettered(chunks: list[Chunk]) -> None:
    headings = {chunk.section for chunk in chunks}
    assert {
        "(b) PROBABLE CAUSE",
        "3.2 PROBABLE CAUSE",
        "PROBABLE CAUSE",
        "1.7 METEOROLOGICAL INFORMATION",
    } <= headings


def test_reports_are_not_copies_of_each_other(reports: list[IncidentReport]) -> None:
    invented = [report for report in reports if report.phase]
    lines = Counter(line for report in invented for line in set(report.text.splitlines()) if len(line) > 60)
    often = [line for line, count in lines.items() if count > len(invented) // 2 and line != NOTICE]
    assert not often
    assert sum(count == 1 for count in lines.values()) > 0.6 * len(lines)


def test_air_france_447_is_absent(reports: list[IncidentReport]) -> None:
    assert not [
        report.id
        for report in reports
        if re.search(r"air france|\b447\b.*pitot|flight 447", report.text, re.I)
    ]
    assert _speaking(reports, "INC-010", "decoy"), "the question without an answer needs near misses"


def test_no_query_text_stands_in_the_corpus(reports: list[IncidentReport]) -> None:
    whole = "\n".join(report.text.lower() for report in reports)
    assert not [query["id"] for query in QUERIES.values() if query["text"].lower() in whole]


def test_fewer_reports_than_the_queries_need_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="reports=30"):
        write_reports(tmp_path / "small", reports=30)


def test_a_larger_corpus_keeps_the_named_reports() -> None:
    ids = {report.id for report in make_reports(reports=200)}
    assert len(ids) == 200
    assert {"AAR0201", "AAR9006", "AAB0603"} <= ids


# --- the queries --------------------------------------------------------------------------------------


def test_the_fifty_queries_of_s4_are_there() -> None:
    prefixes = {"INC": 10, "CON": 12, "SEC": 10, "CMP": 8, "ACF": 6, "PHS": 4}
    assert list(QUERIES) == [
        f"{name}-{n:03d}" for name, count in prefixes.items() for n in range(1, count + 1)
    ]


def test_declared_counts_and_mix_are_those_of_s4() -> None:
    metadata = FILE["metadata"]
    expected = {
        "incident_lookup": 10,
        "conceptual": 12,
        "section": 10,
        "comparative": 8,
        "aircraft": 6,
        "phase": 4,
    }
    assert metadata["categories"] == Counter(query["category"] for query in QUERIES.values()) == expected
    difficulties = Counter(query["difficulty"] for query in QUERIES.values())
    assert metadata["extra"]["difficulties"] == difficulties == {"easy": 9, "medium": 27, "hard": 14}
    assert metadata["difficulty_mix"] == {level: count / 50 for level, count in difficulties.items()}
    intents = Counter(query["intent"] for query in QUERIES.values())
    assert metadata["extra"]["intents"] == intents == {"lookup": 30, "exploratory": 12, "analytical": 8}
    assert metadata["total"] == 50


def test_only_inc_010_is_negative() -> None:
    assert [query["id"] for query in QUERIES.values() if query["truth"] == "negative"] == ["INC-010"]


def test_named_documents_exist_once_each(reports: list[IncidentReport]) -> None:
    names = [f"{report.id}.txt" for report in reports]
    globs = [glob for query in QUERIES for rule in _rules(query) for glob in rule.get("documents", ())]
    assert len(globs) == 9 + 23
    assert all(len(fnmatch.filter(names, glob)) == 1 for glob in globs)


def test_named_documents_of_a_concept_really_speak_of_it(reports: list[IncidentReport]) -> None:
    for query in CONCEPTUAL:
        globs = [glob for rule in _rules(query) for glob in rule.get("documents", ())]
        assert {glob.rstrip("*") for glob in globs} <= _speaking(reports, query, "keyword"), query


def test_section_targets_find_a_chunk_in_every_report(
    reports: list[IncidentReport], chunks: list[Chunk]
) -> None:
    for query in (query for query in QUERIES if query.startswith("SEC")):
        wanted = [name for rule in _rules(query) for name in rule["sections"]]
        found = {chunk.report for chunk in chunks if any(name in chunk.section for name in wanted)}
        assert found == {report.id for report in reports}, query
        assert 0.4 <= float(QUERIES[query]["tags"]["min_accuracy"]) <= 0.6


def test_sql_runs_and_finds_what_the_query_declares(database: duckdb.DuckDBPyConnection) -> None:
    for query in WITH_SQL:
        truth = QUERIES[query]["truth"]
        found = len(_reports_of(_sql_hits(database, query)))
        assert found >= truth.get("min_documents", 1), query
        assert found == truth.get("expected_count", found), query


def test_every_sql_query_states_a_count() -> None:
    stated = {"min_documents", "expected_count"}
    assert [query for query in WITH_SQL if not stated & set(QUERIES[query]["truth"])] == []


# --- topics with and without their words --------------------------------------------------------------


def test_keyword_reports_are_found_and_paraphrases_are_not(
    reports: list[IncidentReport], database: duckdb.DuckDBPyConnection
) -> None:
    for query in WITH_SQL:
        found = _reports_of(_sql_hits(database, query))
        keyword = _speaking(reports, query, "keyword")
        assert keyword <= found, query
        assert query == "CMP-008" or len(keyword) >= QUERIES[query]["truth"].get("min_documents", 0), query
        assert not _speaking(reports, query, "paraphrase") & found, query


def test_every_concept_is_said_without_its_words_somewhere(
    reports: list[IncidentReport], chunks: list[Chunk], database: duckdb.DuckDBPyConnection
) -> None:
    for query in CONCEPTUAL:
        matched = _sql_hits(database, query) | _signal_hits(chunks, query)
        missed = {
            chunk.report
            for report in reports
            for passage in report.passages
            if passage.topic == query and passage.how == "paraphrase"
            for chunk in chunks
            if chunk.report == report.id
            and chunk.start <= passage.start < chunk.end
            and chunk.id not in matched
        }
        assert len(missed) >= 5, query


def test_every_concept_has_decoys_that_its_sql_takes_for_hits(
    reports: list[IncidentReport], database: duckdb.DuckDBPyConnection
) -> None:
    for query in CONCEPTUAL:
        decoys = _speaking(reports, query, "decoy")
        assert len(decoys) >= 3, query
        assert decoys <= _reports_of(_sql_hits(database, query)), query


def test_metal_fatigue_collides_with_the_rule_for_pilot_fatigue(
    reports: list[IncidentReport], chunks: list[Chunk], database: duckdb.DuckDBPyConnection
) -> None:
    """C-23: a keyword hit can be wrong: these chunks are about a bracket, not about people."""
    both = _sql_hits(database, "CON-005") & _sql_hits(database, "CON-006")
    metal = _speaking(reports, "CON-005", "decoy")
    assert metal and metal <= _reports_of(both)
    assert metal <= _speaking(reports, "CON-006", "keyword")
    assert all(
        "bracket" in c.text for c in chunks if c.id in both and c.report in metal and "WRECKAGE" in c.section
    )


def test_makers_are_left_out_in_some_reports_of_a_family(
    reports: list[IncidentReport], database: duckdb.DuckDBPyConnection
) -> None:
    cessnas = {r.id: r.maker_named for r in reports if r.model and r.model.maker == "Cessna"}
    assert 0 < sum(cessnas.values()) < len(cessnas)
    assert {report for report, said in cessnas.items() if said} == _reports_of(_sql_hits(database, "ACF-003"))


def test_every_topic_got_its_reports(reports: list[IncidentReport]) -> None:
    topics = yaml.safe_load((HERE / "phrases" / "topics.yaml").read_text(encoding="utf-8"))
    invented = [report for report in reports if report.phase]
    for name, topic in topics.items():
        for how, count in topic["counts"].items():
            assert len(_speaking(invented, topic.get("of", name), how)) == count, (name, how)


def test_labels_point_at_the_passages_in_the_files(tmp_path: Path) -> None:
    write_reports(tmp_path / "corpus")
    labels = json.loads(write_labels(tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert sorted(path.stem for path in (tmp_path / "corpus").iterdir()) == sorted(labels)
    text = (tmp_path / "corpus" / "AAB0202.txt").read_text(encoding="utf-8")
    said = [text[p["start"] : p["end"]] for p in labels["AAB0202"]["passages"] if p["topic"] == "CON-005"]
    assert any("duty time" in passage for passage in said)
    assert all(passage.endswith((".", '"')) and "\n" not in passage for passage in said)
    assert labels["AAR0201"]["topics"]["INC-001"] == "keyword"


# --- the experiment -----------------------------------------------------------------------------------


def test_the_experiment_generates_this_corpus_and_reads_these_queries() -> None:
    experiment = yaml.safe_load((HERE / "bakeoff.yaml").read_text(encoding="utf-8"))
    assert experiment["corpus"] == {"source": "generated", "example": "incidents", "seed": 7}
    assert (HERE / experiment["queries"]).exists()
    assert experiment["chunkers"] == ["semantic"], "chunk truth must not compare chunkers (F08)"
    assert experiment["preset"] == "goldsql"


def test_the_query_file_is_read_without_complaint() -> None:
    from bakeoff.runs.checks.queries import check_declared
    from bakeoff.truth.queries import read_queries

    queries = read_queries(HERE / "queries.yaml")
    assert len(queries.queries) == 50
    assert check_declared(queries) == ()
