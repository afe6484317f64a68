"""Chunking speed: the semantic chunker against bare parsing, the line chunker against a fixed rate.

Figures are megabytes a second of CPU time on one core, the best of runs that take turns, over this Python's own
json, http and asyncio packages. The stage's two processes are held against this process alone by wall time, with the
start of the processes left out: that row needs two idle cores. What two cores give here is measured in the same turns:
two processes that cut the same documents and share nothing. Run with: python benchmarks/chunking.py
"""

from __future__ import annotations

import asyncio
import http
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import tree_sitter_python
from tree_sitter import Language, Parser

from bakeoff.pipeline.chunking import parallel as chunk_parallel
from bakeoff.pipeline.chunking.parallel import ParallelChunker
from bakeoff.plugins.chunkers.line import LineChunker
from bakeoff.plugins.chunkers.recursive import RecursiveChunker
from bakeoff.plugins.chunkers.semantic import SemanticChunker
from bakeoff.plugins.chunkers.sentences import SentencesChunker
from bakeoff.plugins.chunkers.tokens import TokensChunker
from bakeoff.protocols import Chunker
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.types import Document
from common import Row, show
from cores import Alone

REPEATS = 20
STAGE_REPEATS = 5
LINE_RATE = 150.0  # MB/s a core


def main() -> int:
    """Measure everything and print the rows."""
    documents = _documents()
    parser = Parser(Language(tree_sitter_python.language()))
    encoded = {document.id: document.text.encode() for document in documents}
    chunkers: dict[str, Chunker] = {
        "semantic": SemanticChunker(SemanticChunker.Params()),
        "line": LineChunker(LineChunker.Params()),
        "recursive": RecursiveChunker(RecursiveChunker.Params()),
        "sentences": SentencesChunker(SentencesChunker.Params()),
        "tokens": TokensChunker(TokensChunker.Params()),
    }
    works: dict[str, Callable[[Document], object]] = {
        "parse": lambda document: parser.parse(encoded[document.id])
    }
    works |= {
        name: lambda document, chunker=chunker: list(chunker.chunk(document))
        for name, chunker in chunkers.items()
    }
    seconds = _best(works, documents)
    size = sum(len(data) for data in encoded.values()) / 1e6
    rate = {name: size / taken for name, taken in seconds.items()}
    return show(
        [
            Row(
                "semantic, MB/s, against bare tree-sitter parsing", rate["semantic"], rate["parse"], ">= 0.85"
            ),
            Row("line, MB/s, against 150", rate["line"], LINE_RATE, ">= 1"),
            *(
                Row(f"{name}, MB/s, against line", rate[name], rate["line"])
                for name in ("recursive", "sentences", "tokens")
            ),
            *_two_processes(documents),
        ]
    )


def _two_processes(documents: list[Document]) -> list[Row]:
    """The chunk stage's own work, wall time: a batch by two processes against the same batch by this one."""
    table = DOCUMENTS.table(
        {
            **{name: [""] * len(documents) for name in ("version", "fields")},
            **{name: [getattr(one, name) for one in documents] for name in ("id", "kind", "title", "text")},
        }
    )
    everything, size = list(range(len(documents))), sum(len(one.text.encode()) for one in documents) / 1e6
    params = SemanticChunker.Params()
    chunk_parallel.WORTH_SECONDS = 0.0
    rates: dict[str, float] = {}
    with (
        ParallelChunker(SemanticChunker(params), params, table, 1) as alone,
        ParallelChunker(SemanticChunker(params), params, table, 2) as crew,
        Alone(lambda: alone(everything), 1) as one,
        Alone(lambda: alone(everything), 2) as two,
    ):
        for work in (alone, crew, crew):  # the second batch of a crew starts its processes
            work(everything[:4])
        turns = {
            "one": lambda: _seconds(lambda: alone(everything)) / size,
            "crew": lambda: _seconds(lambda: crew(everything)) / size,
            "bare one": lambda: one.seconds() / size,
            "bare two": lambda: two.seconds() / (2 * size),
        }
        for _ in range(STAGE_REPEATS):
            for name, turn in turns.items():
                rates[name] = max(rates.get(name, 0.0), 1 / turn())
    limit = rates["bare two"] / rates["bare one"]
    return [
        Row(
            "semantic, stage in two processes, MB/s wall, against one", rates["crew"], rates["one"], ">= 1.7"
        ),
        Row("two processes that share nothing, MB/s wall, against one", rates["bare two"], rates["bare one"]),
        Row("what the stage gains of what two cores give", rates["crew"] / rates["one"], limit, ">= 0.85"),
    ]


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _documents() -> list[Document]:
    folders = [Path(module.__file__).parent for module in (json, http, asyncio) if module.__file__]
    paths = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    return [
        Document(f"{path.parent.name}/{path.name}", path.read_text(encoding="utf-8"), "python")
        for path in paths
    ]


def _best(works: dict[str, Callable[[Document], object]], documents: list[Document]) -> dict[str, float]:
    """CPU seconds of each work over all documents: the sum of each document's best, which other load disturbs least."""
    best = {name: [float("inf")] * len(documents) for name in works}
    for _ in range(REPEATS):
        for number, document in enumerate(documents):
            for name, work in works.items():
                started = time.process_time()
                work(document)
                best[name][number] = min(best[name][number], time.process_time() - started)
    return {name: sum(taken) for name, taken in best.items()}


if __name__ == "__main__":
    sys.exit(main())
