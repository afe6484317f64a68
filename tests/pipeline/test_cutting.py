"""Processes that cut give the rows that this process gives, and their faults name the documents."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff import registry
from bakeoff.errors import ChunkerError
from bakeoff.pipeline.chunking import parallel as chunk_parallel
from bakeoff.pipeline.chunking.parallel import ParallelChunker
from bakeoff.pipeline.chunking.worker import READ
from bakeoff.storage.row_cache import to_bytes
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.types import Document

LINE = registry.load("chunkers", "line")
TEXTS = [f"# Part {n}\n\n" + f"Sentence {n} of naïve café 東京.\n" * (n % 7 + 1) for n in range(60)]


def documents(texts: list[str] = TEXTS) -> pa.Table:
    named = {"id": [f"d{n}.md" for n in range(len(texts))], "text": texts, "kind": ["markdown"] * len(texts)}
    blank = {name: [""] * len(texts) for name in ("version", "title", "fields")}
    return DOCUMENTS.table({**blank, **named})


def cutting_of(name: str, table: pa.Table, processes: int) -> ParallelChunker:
    plugin = registry.load("chunkers", name)
    return ParallelChunker(plugin(plugin.Params()), plugin.Params(), table, processes)


@pytest.mark.parametrize("name", [pytest.param("line", marks=pytest.mark.slow), "semantic"])
def test_processes_give_the_same_rows_in_the_same_order(name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(chunk_parallel, "WORTH_SECONDS", 0.0)
    table = documents()
    with cutting_of(name, table, 1) as alone, cutting_of(name, table, 2) as crew:
        for positions in ([0, 1], [5, 4, 3], list(range(10, 60)), [2]):
            one, many = alone(positions), crew(positions)
            assert list(one.counts) == list(many.counts) and one.table.equals(many.table)
        assert alone._crew is None and crew._crew is not None
        workers = crew._crew._all
    assert [worker.returncode for worker in workers] == [0, 0]


@pytest.mark.parametrize(
    ("rate", "processes"), [(1, False), pytest.param(1000, True, marks=pytest.mark.slow)]
)
def test_only_a_corpus_whose_rest_takes_long_gets_processes(
    made_clock: Any, rate: float, processes: bool
) -> None:
    """By a made clock, `rate` milliseconds for each of 60 documents of which 58 are left."""
    clock = made_clock(chunk_parallel)

    class Timed(LINE):
        def chunk(self, document: Document) -> Any:
            clock.passes(rate)
            return super().chunk(document)

    with ParallelChunker(Timed(LINE.Params()), LINE.Params(), documents(), 2) as crew:
        crew._order = chunk_parallel._order(LINE(LINE.Params()), LINE.Params())
        crew([0, 1]), crew([2, 3])
        assert (crew._crew is not None) == processes


def test_a_chunker_of_this_process_alone_is_not_sent_away(monkeypatch: Any) -> None:
    monkeypatch.setattr(chunk_parallel, "WORTH_SECONDS", 0.0)

    class Local(LINE):
        pass

    with ParallelChunker(Local(LINE.Params()), LINE.Params(), documents(), 2) as crew:
        crew([0]), crew([1])
        assert crew._crew is None


def test_a_process_that_ends_is_an_error_that_names_the_documents(monkeypatch: Any) -> None:
    monkeypatch.setattr(chunk_parallel, "WORTH_SECONDS", 0.0)
    with cutting_of("line", documents(), 2) as crew:
        crew([0]), crew([1])
        assert crew._crew is not None
        for worker in crew._crew._all:
            os.kill(worker.pid, 9)
            worker.wait()
        with pytest.raises(ChunkerError, match=r"-9.*d7\.md.*d7\.md"):
            crew([7])


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60), st.integers(1, 20))
def test_slices_hold_every_document_once_and_share_the_bytes(sizes, most):
    found = chunk_parallel._slices(np.array(sizes), most)
    assert [i for begin, end in found for i in range(begin, end)] == list(range(len(sizes)))
    assert len(found) <= most
    share = (sum(sizes) + len(sizes)) / most
    assert all(sum(sizes[begin:end]) + end - begin <= share + max(sizes) + 1 for begin, end in found)


@pytest.mark.parametrize("sent", [60, *(pytest.param(sent, marks=pytest.mark.slow) for sent in (0, 1, None))])
def test_a_process_whose_master_is_gone_ends_without_a_word(sent: int | None) -> None:
    """A killed or interrupted run leaves its terminal clean, wherever in a message it was."""
    table = documents(["some text\n" * 100_000]).select(list(READ))
    words = pickle.dumps((LINE, LINE.Params())) + pickle.dumps(to_bytes(table))
    worker = subprocess.Popen([sys.executable, "-m", "bakeoff.pipeline.chunking.worker"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    assert worker.stdin and worker.stdout and worker.stderr
    worker.stdout.close()
    worker.stdin.write(words[:sent])
    worker.stdin.close()
    said = worker.stderr.read().decode()
    worker.stderr.close()
    assert worker.wait(60) == 0 and said == ""
