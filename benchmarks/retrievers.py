"""Retrievers: one exact search through every interface, overhead per query, and placement of texts.

The doors are the grid's own search, http on this machine, python, langchain, llamaindex and a file of rankings. Their
rankings and scores must be the same, bit for bit.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml

from bakeoff import registry, run
from bakeoff.examples import examples
from bakeoff.pipeline.placement import Placer
from bakeoff.runs.analysis import Result
from bakeoff.runtime.http_client import HttpClient
from bakeoff.storage.schemas import DOCUMENTS
from bakeoff.types import RetrievedRow
from common import Row, show

CALLS, MOST_MICROSECONDS = 1500, 50.0
DEPTH = 20
"""Results of a question; the doors return as many."""
DOCUMENT_COUNT, PASSAGE_COUNT, MOST_MILLISECONDS = 10_000, 500, 20.0
DOORS = Path(__file__).parent / "peers"
"""The folder of the module that opens the doors."""


def main() -> int:
    """Print the figures; 1 where a target is missed."""
    os.environ["BAKEOFF_ALLOW_CODE"] = "retriever_doors"
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        sys.path.insert(0, str(DOORS))
        return show([*_same_rankings(), *_overheads(), *_placing()])


def _same_rankings() -> Iterator[Row]:
    """Each door's share of ranks and scores that are those of the grid's own search."""
    example = next(one for one in examples() if one.name == "lineage")
    given = yaml.safe_load(example.experiment.read_text(encoding="utf-8"))
    folder = example.experiment.parent
    corpus = {
        name: str(folder / value) if name == "folder" else value for name, value in given["corpus"].items()
    }
    grid = {
        "corpus": corpus,
        "queries": str(folder / given["queries"]),
        "chunkers": ["semantic"],
        "embedders": ["wordllama"],
        "stores": ["exact"],
        "modes": ["dense"],
        "depth": DEPTH,
        "allow": ["leak", "duplicate", "unread"],
    }
    Path("grid.yaml").write_text(yaml.safe_dump(grid), encoding="utf-8")
    import retriever_doors as doors

    lines = [json.dumps({"query": q.id, "results": doors.retrieve(q.text, DEPTH)}) for q in doors.queries]
    Path("made.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with _served(doors.retrieve) as url:
        paths = {name: name for name in ("id", "start", "end", "text", "score")}
        http = {"url": f"{url}/search", "body": {"q": "{query}", "k": "{k}"}, "hits": "hits", **paths}
        doors_of = [
            {"http": http},
            {"python": {"call": "retriever_doors:retrieve", "folder": str(DOORS)}},
            {"langchain": {"object": "retriever_doors:langchain", "folder": str(DOORS)}},
        ]
        doors_of.append({"llamaindex": {"object": "retriever_doors:llamaindex", "folder": str(DOORS)}})
        doors_of.append({"run": {"file": "made.jsonl"}})
        Path("all.yaml").write_text(yaml.safe_dump({**grid, "retrievers": doors_of}), encoding="utf-8")
        result = run("all.yaml", out="run", home="home")
    if result.failed:
        sys.exit(f"failed: {result.failed}")
    own, *others = result.record.systems
    for system in others:
        yield Row(
            f"{system}: ranks, places and scores equal to the grid's, share",
            _equal(result, own, system),
            1.0,
            ">= 1",
        )


def _equal(result: Result, own: str, other: str) -> float:
    columns = ("query_id", "rank", "document_id", "start", "end", "score")
    rows = {name: [] for name in (own, other)}
    for row in result.rankings.to_pylist():
        if row["system"] in rows:
            rows[row["system"]].append(tuple(row[name] for name in columns))
    scores = {name: [] for name in (own, other)}
    for row in result.scores.to_pylist():
        if row["system"] in scores:
            scores[row["system"]].append((row["query_id"], row["measure"], row["value"]))
    pairs = [*zip(rows[own], rows[other], strict=False), *zip(scores[own], scores[other], strict=True)]
    same = sum(a == b for a, b in pairs)
    return same / max(len(rows[own]) + len(scores[own]), len(rows[other]) + len(scores[other]))


@contextlib.contextmanager
def _served(retrieve: Callable[[str, int], object]) -> Iterator[str]:
    """A search server on this machine."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                data = json.dumps({"hits": retrieve(asked["q"], asked["k"])}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _overheads() -> Iterator[Row]:
    """Microseconds that a retriever adds to the call it makes, in medians of calls that take turns."""
    import retriever_doors as doors

    python = _made("python", call="retriever_doors:fixed")
    yield _overhead("python", lambda: doors.fixed("q", DEPTH), lambda: python.search("q", DEPTH, ()))
    door = doors.langchain()
    langchain = _made("langchain", object="retriever_doors:langchain")
    text = doors.queries[0].text
    yield _overhead("langchain", lambda: door.invoke(text), lambda: langchain.search(text, DEPTH, ()))
    llama = doors.llamaindex()
    llamaindex = _made("llamaindex", object="retriever_doors:llamaindex")
    yield _overhead("llamaindex", lambda: llama.retrieve(text), lambda: llamaindex.search(text, DEPTH, ()))
    with _served(doors.fixed) as url:
        http = _made(
            "http", url=f"{url}/s", body={"q": "{query}", "k": "{k}"}, hits="hits", id="id", score="score"
        )
        client = HttpClient(url)
        headers = {"Content-Type": "application/json"}

        def bare() -> object:
            body = json.dumps({"q": "q", "k": DEPTH}).encode()
            return json.loads(client.send("POST", "/s", body, headers, 60.0).content)

        yield _overhead("http", bare, lambda: http.search("q", DEPTH, ()))


def _made(name: str, **params: object):
    plugin = registry.load("retrievers", name)
    given = params if name == "http" else {**params, "folder": DOORS}
    return plugin(plugin.Params(**given))


def _overhead(name: str, bare: Callable[[], object], through: Callable[[], object]) -> Row:
    taken = np.empty((CALLS, 2))
    for place in range(CALLS):
        for column, call in ((0, bare), (1, through)) if place % 2 else ((1, through), (0, bare)):
            begin = time.perf_counter_ns()
            call()
            taken[place, column] = time.perf_counter_ns() - begin
    alone, with_us = np.median(taken[CALLS // 10 :], axis=0) / 1e3
    limit = MOST_MICROSECONDS
    return Row(
        f"{name}: added to a call of {alone:.0f} µs, µs, against 50",
        max(with_us - alone, 0.01),
        limit,
        "<= 1",
    )


def _placing() -> Iterator[Row]:
    """Seconds to index the corpus, and milliseconds to place a text in it."""
    seeded = random.Random(7)
    words = [f"{seeded.choice('bcdfgklmnprst')}{seeded.choice('aeiou')}{n}" for n in range(20_000)]
    texts = [
        " ".join(words[int(20_000 * seeded.random() ** 3)] for _ in range(400)) for _ in range(DOCUMENT_COUNT)
    ]
    names = [f"{number}.txt" for number in range(DOCUMENT_COUNT)]
    plain = {name: [""] * DOCUMENT_COUNT for name in ("version", "kind", "title", "fields")}
    placer = Placer(DOCUMENTS.table({"id": names, **plain, "text": pa.array(texts, pa.large_string())}))
    begin = time.perf_counter()
    placer.place(RetrievedRow(text="words that are in none of the documents at all"))
    indexing = time.perf_counter() - begin
    yield Row(
        f"index of {DOCUMENT_COUNT:,} documents ({sum(map(len, texts)) / 1e6:.0f} MB), s, against 10",
        indexing,
        10.0,
        "<= 1",
    )
    chosen = [(doc, seeded.randrange(300)) for doc in seeded.choices(range(DOCUMENT_COUNT), k=PASSAGE_COUNT)]
    kinds: dict[str, Callable[[list[str]], str]] = {
        "exact": " ".join,
        "folded": lambda part: "  ".join(part).upper(),
        "changed": lambda part: " ".join(word for place, word in enumerate(part) if place % 40),
    }
    for kind, make in kinds.items():
        passages = [make(texts[doc].split()[at : at + 100]) for doc, at in chosen]
        begin = time.perf_counter()
        right = sum(
            placer.place(RetrievedRow(text=one)).doc == doc
            for one, (doc, _) in zip(passages, chosen, strict=True)
        )
        took = (time.perf_counter() - begin) / PASSAGE_COUNT * 1e3
        yield Row(f"place a text, {kind}: right, share", right / PASSAGE_COUNT, 1.0, ">= 1")
        yield Row(
            f"place a text, {kind}: ms, against {MOST_MILLISECONDS:.0f}", took, MOST_MILLISECONDS, "<= 1"
        )


if __name__ == "__main__":
    sys.exit(main())
