"""What a run does and does not do again; what happens when a part of it fails."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakeoff
from bakeoff import registry
from bakeoff.errors import CorpusError, ExperimentError, SettingError, StoreError, TruthError
from bakeoff.runs import choose_folder
from bakeoff.runs.folder import read_record
from bakeoff.runs.run import run
from bakeoff.runtime.events import Event, StageFinished, SystemFinished, WarningRaised
from bakeoff.runtime.progress_file import RunProgress
from bakeoff.storage import dated_folder
from bakeoff.types import Document, Hits, Piece, Role

TABLES = ("scores", "rankings", "queries", "passages", "losses")
COUNTED = """\
name: counted
corpus: {source: counted, folder: corpus}
queries: queries.yaml
chunkers: [{counted: {doc_lines: 4, code_lines: 6}}]
embedders: [{counted: {dims: 64}}]
stores: [exact, faiss]
modes: [dense, bm25, hybrid]
depth: 20
"""


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def finished(events: list[Event]) -> list[SystemFinished]:
    return [event for event in events if isinstance(event, SystemFinished)]


@pytest.fixture
def counted(counts: Any, home: Path, laid_out: Callable[..., Path]) -> Path:
    """The tiny corpus with plug-ins that count; run once, counts cleared."""
    return laid_out(Path.cwd(), COUNTED)


# --- what is shared, what is kept -------------------------------------------------------------------


def test_two_stores_and_three_modes_share_one_embedding(counted: Path, counts: Any) -> None:
    result = run(counted, out=Path("run"))
    assert len(result.done) == 5 and result.failed == {}
    assert sorted(counts.read) == sorted(set(counts.read)) and len(counts.read) == 7
    assert sorted(counts.cut) == sorted(counts.read)
    chunks = result.record.chunkings[0].chunks
    assert max(Counter(counts.documents).values()) == 1 and len(counts.documents) == chunks > 20
    asked = Counter(text for role, text in counts.embedded if role is Role.QUERY)
    queries = result.queries["text"].to_pylist()
    assert [asked[text] for text in queries] == [1] * len(queries)


def test_changed_queries_embed_no_chunk_again(counted: Path, counts: Any) -> None:
    run(counted, out=Path("run"))
    counts.clear()
    path = Path("queries.yaml")
    path.write_text(path.read_text().replace("hashes passwords", "keeps passwords safe"))
    result = run(counted, out=Path("other"))
    assert (counts.read, counts.cut, counts.documents) == ([], [], [])
    assert "which algorithm keeps passwords safe" in result.queries["text"].to_pylist()


def test_one_changed_file_is_all_that_is_done_again(counted: Path, counts: Any) -> None:
    run(counted, out=Path("run"))
    counts.clear()
    path = Path("corpus/guide/deploy.md")
    path.write_text(path.read_text() + "\n## Canary\n\nOne instance in ten gets the new image first.\n")
    result = run(counted, out=Path("other"))
    assert counts.read == ["guide/deploy.md"]
    assert counts.cut == ["guide/deploy.md"]
    assert counts.documents and all(text.startswith("[file: guide/deploy.md]") for text in counts.documents)
    assert any("Canary" in text for text in counts.documents)
    whole = [text for text in result.passages["text"].to_pylist() if "rolling update" in text]
    assert len(whole) == 1 and not any("rolling update" in text for text in counts.documents)


def test_a_removed_file_costs_no_work(counted: Path, counts: Any) -> None:
    run(counted, out=Path("run"))
    counts.clear()
    Path("corpus/notes/größe.md").unlink()
    path = Path("queries.yaml")
    path.write_text("\n".join(line for line in path.read_text().splitlines() if "parcel" not in line))
    result = run(counted, out=Path("other"))
    assert (counts.read, counts.cut, counts.documents) == ([], [], [])
    assert "notes/größe.md" not in result.rankings["document_id"].to_pylist()


def test_another_chunker_reads_nothing_again(counted: Path, counts: Any) -> None:
    run(counted, out=Path("run"))
    counts.clear()
    counted.write_text(COUNTED.replace("doc_lines: 4", "doc_lines: 5"))
    run(counted, out=Path("other"))
    assert counts.read == [] and len(counts.cut) == 7


def test_k_and_measures_use_the_same_vectors(counted: Path, counts: Any) -> None:
    run(counted, out=Path("run"))
    counts.clear()
    counted.write_text(COUNTED.replace("depth: 20", "depth: 5\nmeasures: {primary: Hit@3}"))
    run(counted, out=Path("other"))
    assert (counts.read, counts.cut, counts.documents) == ([], [], [])


@pytest.fixture
def four(tiny: Path) -> Path:
    """The experiment with two chunkers, two stores and one mode."""
    tiny.write_text(tiny.read_text().replace("[dense, bm25, hybrid]", "[dense]"))
    return tiny


def test_the_same_run_again_measures_nothing_again(four: Path) -> None:
    before = tables(run(four, out=Path("run")).path)
    events: list[Event] = []
    result = run(four, out=Path("run"), emit=events.append)
    assert [event.resumed for event in finished(events)] == [True] * 4
    assert tables(result.path) == before


def test_another_place_and_an_empty_cache_give_the_same_bytes(ran: Any, tiny: Path) -> None:
    assert tables(run(tiny, out=Path("run")).path) == tables(ran.result.path)


ENTRIES = ["read", "chunk chunks", "embed vectors", "index", "read-plan embed-plan"]


@pytest.mark.parametrize(
    "stages", [" ".join(ENTRIES), *(pytest.param(one, marks=pytest.mark.slow) for one in ENTRIES)]
)
def test_a_corrupt_cache_entry_is_made_again(ran: Any, tiny: Path, home: Path, stages: str) -> None:
    shutil.copytree(ran.result.path.parent / "home", home)
    found = [path for stage in stages.split() for path in (home / "cache" / stage).rglob("*")]
    files = [path for path in found if path.is_file() and path.name != "manifest.json"]
    victims = [path for path in files if path.stat().st_size]
    assert victims
    for victim in victims:
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 0xFF
        victim.write_bytes(data)
    assert tables(run(tiny, out=Path("run")).path) == tables(ran.result.path)


def test_a_corrupt_cell_is_measured_again(four: Path) -> None:
    before = tables(run(four, out=Path("run")).path)
    victim = sorted(Path("run/cells").glob("*/scores.parquet"))[0]
    victim.write_bytes(b"rubbish")
    events: list[Event] = []
    result = run(four, out=Path("run"), emit=events.append)
    assert result.failed == {} and tables(result.path) == before
    assert sorted(event.resumed for event in finished(events)) == [False] + [True] * 3
    again = [event.system for event in finished(events) if not event.resumed]
    assert set(result.record.resumed) == set(result.record.systems) - set(again)
    assert any(min(result.record.resumed.values()) in note for note in result.record.notes)


def test_a_part_that_got_another_name_is_shown_by_it(small: Path) -> None:
    run(small, out=Path("run"))
    small.write_text(
        small.read_text().replace("{doc_lines: 4, code_lines: 6}", "{as: short, doc_lines: 4, code_lines: 6}")
    )
    result = run(small, out=Path("run"))
    assert result.done == ("short · wordllama(dims=64) · dense",) == tuple(result.record.systems)
    assert set(result.scores["system"].to_pylist()) == set(result.done)


def test_a_renamed_run_carries_its_new_name(small: Path) -> None:
    run(small, out=Path("old"))
    Path("old").rename("new")
    result = run(small, out=Path("new"))
    assert set(result.scores["run"].to_pylist()) == {"new"} == {result.record.run}


RUN = "import sys; from pathlib import Path; import bakeoff; bakeoff.run(sys.argv[1], out=Path(sys.argv[2]))"


@pytest.mark.slow
def test_two_processes_at_once_give_equal_results(tiny: Path) -> None:
    command = [sys.executable, "-c", RUN, str(tiny)]
    both = [subprocess.Popen([*command, f"{name}/run"]) for name in ("a", "b")]
    assert [process.wait(300) for process in both] == [0, 0]
    assert tables(Path("a/run")) == tables(Path("b/run"))


# --- what fails -------------------------------------------------------------------------------------


@pytest.fixture
def broken_store(register: Callable[..., None]) -> dict[str, bool]:
    """A store that answers three questions and then goes away, until it is mended."""
    state = {"broken": True}

    class Broken(registry.load("stores", "exact")):
        asked = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.asked += 1
            if state["broken"] and self.asked > 13:  # ten of them warm up
                raise StoreError("the engine closed the connection.")
            return super().search(vector, k, query)

    register("stores", "broken", Broken)
    return state


def with_store(path: Path, name: str) -> Path:
    path.write_text(path.read_text().replace("stores: [exact, faiss]", f"stores: [exact, {name}]"))
    return path


def test_a_store_that_fails_in_mid_run_fails_alone(four: Path, broken_store: dict[str, bool]) -> None:
    events: list[Event] = []
    result = run(with_store(four, "broken"), out=Path("run"), emit=events.append)
    assert len(result.done) == 2 and result.record.status == "partial"
    said = "the engine closed the connection. (3 of 14 queries were answered in 1 rounds)"
    assert set(result.failed.values()) == {said}
    assert all("broken" in system for system in result.failed)
    assert [bool(event.failed) for event in finished(events)].count(True) == 2
    lost = set(result.failed)
    assert {row["status"] for row in result.systems.to_pylist() if row["system"] in lost} == {"partial"}
    for table in (result.scores, result.rankings, result.latencies, result.losses):
        rows = [row for row in table.to_pylist() if row["system"] in lost]
        assert {row["query_id"] for row in rows} == {"expiry", "hashing", "sso"}
    assert set(result.comparison.ranking) == set(result.done)
    assert not [excluded for excluded in result.record.excluded if excluded.query_id == "refund"]


@pytest.mark.parametrize(("runs", "asked", "kept"), [(3, 10 + 14 + 10 + 5, 1), (3, 2 * (10 + 14) + 12, 2)])
def test_a_fault_in_a_later_round_keeps_the_rounds_before(
    small: Path, register: Callable[..., None], runs: int, asked: int, kept: int
) -> None:
    class Mortal(registry.load("stores", "exact")):
        served = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self.served += 1
            if self.served > asked:
                raise StoreError("out of memory.")
            return super().search(vector, k, query)

    register("stores", "mortal", Mortal)
    small.write_text(small.read_text().replace("[exact]", "[mortal, exact]") + f"runs: {runs}\n")
    result = run(small, out=Path("run"))
    ((lost, why),) = result.failed.items()
    assert "mortal" in lost and why.startswith("out of memory.") and f"{kept} rounds" in why
    rows = [row for row in result.latencies.to_pylist() if row["system"] == lost]
    assert {row["repeat"] for row in rows} == set(range(kept)) and len(rows) == kept * 14
    mine = [row for row in result.scores.to_pylist() if row["system"] == lost]
    assert len(mine) == 14 * 3


class Died(StoreError):
    """A server that is gone."""


def server(died: dict[str, int]) -> type:
    """A store whose rows live in a server: the folder it is given stays empty, and it may go away at any time."""
    rows: dict[str, tuple[list[Any], Any]] = {}

    class Server(registry.load("stores", "exact")):
        def _count(self, what: str) -> None:
            died[what] = died.get(what, 0) + 1
            if died[what] > died.get(f"{what}s allowed", 10**9):
                died["gone"] = 1
                raise Died(f"{what}: connection refused by 127.0.0.1:9999.")

        def create(self, collection: str, dims: int, metric: Any) -> None:
            super().create(collection, dims, metric)
            rows[collection] = ([], metric)
            self._name = collection

        def insert(self, batch: Any) -> None:
            self._count("insert")
            rows[self._name][0].append(batch)

        def open(self, collection: str, dims: int, metric: Any) -> int:
            self._count("open")
            if collection not in rows:
                raise StoreError(f"no collection {collection}.")
            super().create(collection, dims, metric)
            for batch in rows[collection][0]:
                super().insert(batch)
            return sum(len(batch.ids) for batch in rows[collection][0])

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            self._count("search")
            return super().search(vector, k, query)

        def close(self) -> None:
            if died.get("gone"):
                raise Died("close: connection refused by 127.0.0.1:9999.")

    Server.forget = rows.clear  # type: ignore[attr-defined]
    return Server


@pytest.fixture
def served(small: Path, register: Callable[..., None]) -> Any:
    """An experiment over exact search and a server, the server's counters, and how it loses everything."""
    counters: dict[str, int] = {}
    plugin = server(counters)
    register("stores", "server", plugin)
    small.write_text(small.read_text().replace("[exact]", "[server, exact]"))
    return small, counters, plugin.forget  # type: ignore[attr-defined]


def test_a_server_that_dies_in_mid_insert_fails_alone_and_a_rerun_completes_it(served: Any) -> None:
    path, counters, _ = served
    counters["inserts allowed"] = 0
    result = run(path, out=Path("run"))
    ((lost, why),) = result.failed.items()
    assert "server" in lost and why == "insert: connection refused by 127.0.0.1:9999."
    assert len(result.done) == 1 and result.record.status == "partial"
    phases = {row["phase"] for row in result.timings.to_pylist() if row["system"] == lost}
    assert phases == {"read", "chunk", "embed_chunks"}
    counters.clear()
    again = run(path, out=Path("run"))
    assert again.failed == {} and again.record.status == "done"
    assert counters["insert"] == 1


def test_a_server_that_cannot_even_be_closed_does_not_take_the_others_with_it(served: Any) -> None:
    path, counters, _ = served
    counters["searchs allowed"] = 12
    events: list[Event] = []
    result = run(path, out=Path("run"), emit=events.append)
    assert len(result.done) == 1 and len(result.failed) == 1
    assert any(
        "closing: close: connection refused" in e.message for e in events if isinstance(e, WarningRaised)
    )


def test_an_index_in_a_server_is_reopened_by_name_and_built_again_where_it_is_lost(served: Any) -> None:
    path, counters, forget = served
    first = run(path, out=Path("run"))
    assert counters["insert"] == 1
    again = run(path, out=Path("again"))
    assert counters["insert"] == 1  # the server still has it
    forget()
    lost = run(path, out=Path("lost"))
    assert counters["insert"] == 2 and lost.failed == {}
    assert [r.scores["value"].to_pylist() for r in (again, lost)] == [first.scores["value"].to_pylist()] * 2
    row = next(row for row in lost.systems.to_pylist() if row["store"] == "server")
    assert row["index_bytes"] is None  # unknown here, not zero


def test_a_rerun_tries_only_the_failed(four: Path, broken_store: dict[str, bool]) -> None:
    run(with_store(four, "broken"), out=Path("run"))
    broken_store["broken"] = False
    events: list[Event] = []
    result = run(four, out=Path("run"), emit=events.append)
    assert result.failed == {} and result.record.status == "done"
    assert [event.system for event in finished(events) if not event.resumed] == [
        system for system in result.done if "broken" in system
    ]
    clean = run(four, out=Path("clean/run"))
    assert tables(clean.path) == tables(result.path)


def test_two_runs_of_one_second_have_two_folders(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dated_folder, "timestamp", lambda: "20260501-120000")
    first, second, third = (run(small) for _ in range(3))
    assert [one.path.name for one in (first, second, third)] == [
        "small-20260501-120000",
        "small-20260501-120000-2",
        "small-20260501-120000-3",
    ]
    assert second.record.resumed == {}


def test_a_run_that_another_process_writes_is_left_alone(
    four: Path, broken_store: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(with_store(four, "broken"))
    busy = RunProgress(pid=os.getppid(), updated=0.0)
    monkeypatch.setattr(choose_folder, "read_progress", lambda folder: busy)
    assert run(four).path != first.path
    with pytest.raises(SettingError, match=f"process {busy.pid} is writing"):
        run(four, out=first.path)


def test_without_a_folder_the_failed_run_is_taken_up(four: Path, broken_store: dict[str, bool]) -> None:
    first = run(with_store(four, "broken"))
    broken_store["broken"] = False
    second = run(four)
    assert second.path == first.path and second.record.status == "done"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda rows: rows[:-1], "gave vectors of shape"),
        (lambda rows: rows * np.nan, "is not finite"),
        (lambda rows: rows[:, :-1], "gave vectors of shape"),
        (lambda rows: rows * 0, "returned only zero vectors"),
        (lambda rows: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
    ids=["a text dropped", "not finite", "another dimension", "zeros", "an error of its own"],
)
def test_an_embedder_that_fails_is_recorded(
    small: Path, register: Callable[..., None], fault: Callable[[Any], Any], reason: str
) -> None:
    class Faulty(registry.load("embedders", "wordllama")):
        def embed(self, texts: Any, role: Role) -> np.ndarray:
            return fault(super().embed(texts, role))

    register("embedders", "faulty", Faulty)
    small.write_text(small.read_text().replace("{dims: 64}}]", "{dims: 64}}, faulty]"))
    result = run(small, out=Path("run"))
    assert len(result.done) == 1 and len(result.failed) == 1
    assert all("faulty" in system and reason in why for system, why in result.failed.items())


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        (lambda document: [Piece(0, 5)], "are not in any chunk"),
        (lambda document: [Piece(0, len(document.text) + 1)], "is outside the text"),
        (lambda document: [1 // 0], "ZeroDivisionError"),
    ],
    ids=["loses text", "beyond the end", "an error of its own"],
)
def test_a_chunker_that_fails_is_recorded(
    small: Path, register: Callable[..., None], pieces: Callable[[Document], list[Piece]], reason: str
) -> None:
    class Faulty(registry.load("chunkers", "whole")):
        def chunk(self, document: Document) -> Iterator[Piece]:
            yield from pieces(document)

    register("chunkers", "faulty", Faulty)
    small.write_text(small.read_text().replace("chunkers: [", "chunkers: [faulty, "))
    events: list[Event] = []
    result = run(small, out=Path("run"), emit=events.append)
    assert len(result.done) == 1 and len(result.failed) == 1
    assert all(reason in why for why in result.failed.values())
    assert any(reason in event.message for event in events if isinstance(event, WarningRaised))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda hits: Hits(hits.ids[[0, 0]], hits.scores[[0, 0]]), "returned a row twice"),
        (lambda hits: Hits(hits.ids, hits.scores * np.nan), "a score that is not a finite number"),
        (lambda hits: Hits(hits.ids[::-1], hits.scores[::-1]), "not sorted by score"),
    ],
    ids=["twice", "not finite", "worst first"],
)
def test_a_store_that_answers_wrongly_fails(
    small: Path, register: Callable[..., None], spoil: Callable[[Hits], Hits], reason: str
) -> None:
    class Wrong(registry.load("stores", "exact")):
        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            return spoil(super().search(vector, k, query))

    register("stores", "wrong", Wrong)
    small.write_text(small.read_text().replace("[exact]", "[wrong]"))
    result = run(small, out=Path("run"))
    assert [reason in why for why in result.failed.values()] == [True]


def test_a_store_that_loses_rows_is_built_again_and_then_fails(
    small: Path, register: Callable[..., None]
) -> None:
    class Forgetful(registry.load("stores", "faiss")):
        def open(self, collection: str, dims: int, metric: Any) -> int:
            return super().open(collection, dims, metric) - 1

    register("stores", "forgetful", Forgetful)
    small.write_text(small.read_text().replace("[exact]", "[forgetful]"))
    result = run(small, out=Path("run"))
    (why,) = result.failed.values()
    assert why.startswith("forgetful ") and "the index" in why


def test_unresolved_truth_stops_before_anything_is_embedded(counted: Path, counts: Any) -> None:
    path = Path("queries.yaml")
    path.write_text(path.read_text().replace("[guide/auth.md]", "[guide/oauth.md]"))
    with pytest.raises(TruthError, match=r'"guide/oauth\.md".*guide/auth\.md'):
        run(counted, out=Path("run"))
    assert counts.embedded == []
    assert read_record(Path("run")).status == "stopped"


def test_a_missing_folder_stops_before_anything_is_read(small: Path) -> None:
    shutil.rmtree("corpus")
    with pytest.raises(CorpusError):
        run(small, out=Path("run"))
    assert read_record(Path("run")).status == "stopped"


# --- what is told, and the Python way ---------------------------------------------------------------


def test_events_tell_each_stage_once(ran: Any) -> None:
    ended = Counter((event.stage, event.label) for event in ran.events if isinstance(event, StageFinished))
    assert set(ended.values()) == {1}
    assert {stage for stage, _ in ended} == {"read", "chunk", "embed", "index"}
    assert [(event.done, event.total) for event in finished(list(ran.events))] == [
        (n, 10) for n in range(1, 11)
    ]


def test_from_python_twice_in_one_process(small: Path) -> None:
    first = bakeoff.run(small, out=Path("one"))
    second = bakeoff.run(str(small), out="two")
    assert first.record.run == "one" and second.record.run == "two"
    frame = second.scores.to_pandas()
    assert list(frame.columns) == ["run", "system", "query_id", "measure", "unit", "source", "value"]
    assert frame["value"].count() == 12 * 3 and frame["value"].isna().sum() == 2 * 3
    assert second.scores["value"].equals(first.scores["value"])
    assert bakeoff.open_run("two").verdict == second.verdict
    assert first.verdict == second.verdict


def test_a_plan_can_be_run_as_it_is(small: Path) -> None:
    from bakeoff.config import experiment

    plan = experiment.load(small)
    changed = dataclasses.replace(plan, measures=("Hit@1(document)",), primary="Hit@1(document)")
    result = run(changed, out=Path("run"))
    assert set(result.scores["measure"].to_pylist()) == {"Hit@1(document)"}


def test_negative_only_queries_are_scored_by_false_alarms_alone(small: Path) -> None:
    Path("queries.yaml").write_text("queries:\n  - {id: a, text: recipe for bread, truth: negative}\n")
    with pytest.raises(ExperimentError):
        run(small, out=Path("run"))
    small.write_text(small.read_text() + "measures: {primary: FalseAlarm@0.01}\n")
    result = run(small, out=Path("run"))
    assert result.failed == {}
    assert result.comparison.summary(result.done[0]).mean == 1.0
    assert str(result.verdict.kind) == "cant_tell"


def test_the_versions_of_the_engines_are_recorded(ran: Any) -> None:
    """A store's own word, beside the versions of packages."""
    engines = {name for name in ran.result.record.versions if name.endswith(" engine")}
    assert {"exact engine", "tantivy engine"} & engines
