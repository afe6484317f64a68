"""Memory of truth over 5,000,000 chunks: resolved rules, derived units, collapsed rankings.

Chunks and documents lie in memory-mapped Arrow files, as in a run. Counted is how much anonymous memory
(RssAnon: what the process holds itself, not the page cache) grows at its highest, in MB. Linux only.
Run with: python benchmarks/truth_memory.py
"""

from __future__ import annotations

import gc
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import pyarrow as pa

from bakeoff.storage.schemas import CHUNKS, DOCUMENTS
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth, resolve
from bakeoff.truth.rules import Rule, Sections, Sql, WordsRule
from bakeoff.truth.units import RankedUnits, collapse_ranking, derive_units
from bakeoff.types import Query, Unit
from common import Row, show

CHUNKS_A_DOCUMENT, CHARACTERS, BLOCK, BLOCKS = 10, 60, 250_000, 20
TOTAL = BLOCK * BLOCKS
LIMIT = 1500.0
SERVED = 100
TITLES = ("SYNOPSIS", "FACTUAL INFORMATION", "ANALYSIS", "CONCLUSIONS", "PROBABLE CAUSE")

_T = TypeVar("_T")


class Peak:
    """The highest anonymous memory of this process while it is open, in MB."""

    def __enter__(self) -> Self:
        self.most = _anonymous()
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watch.join()
        self.most = max(self.most, _anonymous())

    def _look(self) -> None:
        while not self._done.wait(0.01):
            self.most = max(self.most, _anonymous())


def _anonymous() -> float:
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise SystemExit("this system does not say RssAnon; run the benchmark on Linux")
    return int(found[1]) * 1024 / 1e6


def main() -> int:
    """Make the files, measure each step and print the rows."""
    with tempfile.TemporaryDirectory() as folder:
        documents, chunks = _corpus(Path(folder))
        gc.collect()
        pa.default_memory_pool().release_unused()
        before = _anonymous()
        truth, most = _peak(lambda: resolve(_queries(), documents, {"c": chunks}, strict=True))
        _check(truth)
        peaks = {"5 sql, 5 keyword and 1 section rules": most}
        for unit in (Unit.CHUNK, Unit.SECTION, Unit.ANSWER):
            peaks[f"judgments of {unit.value}s"] = _peak(
                partial(derive_units, truth.judgments, chunks, "c", unit)
            )[1]
            ranking = partial(collapse_ranking, _served(), chunks, unit, truth.judgments, "c")
            peaks[f"rankings of {unit.value}s"] = _peak(ranking)[1]
        name = f"{TOTAL:,} chunks, {{}}: growth since the start, limit, MB".format
        return show(Row(name(what), most - before, LIMIT, "<= 1") for what, most in peaks.items())


def _peak(work: Callable[[], _T]) -> tuple[_T, float]:
    with Peak() as peak:
        result = work()
    return result, peak.most


def _corpus(folder: Path) -> tuple[pa.Table, pa.Table]:
    """Documents and chunks, written block by block and then mapped."""
    rng = np.random.default_rng(7)
    lines = _lines(rng)
    names = folder / "documents.arrow", folder / "chunks.arrow"
    with _writer(names[0], DOCUMENTS.arrow()) as documents, _writer(names[1], CHUNKS.arrow()) as chunks:
        for block in range(BLOCKS):
            text = lines[rng.integers(0, len(lines), BLOCK)].tobytes()
            documents.write_table(_documents(block, text))
            chunks.write_table(_chunks(block, text))
    return tuple(pa.ipc.open_file(pa.memory_map(str(name))).read_all() for name in names)


def _writer(path: Path, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
    return pa.ipc.new_file(str(path), schema)


def _lines(rng: np.random.Generator) -> np.ndarray:
    """5,000 lines of words as fixed-width bytes, a line break last."""
    letters = np.array(list("abcdefghijklmnoprstu"))
    words = ["".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(2_000)]
    drawn = rng.choice(words, (5_000, CHARACTERS // 4))
    made = [" ".join(row)[: CHARACTERS - 1].ljust(CHARACTERS - 1) + "\n" for row in drawn]
    return np.array([line.encode() for line in made], f"S{CHARACTERS}")


def _texts(data: bytes, width: int) -> pa.Array:
    """The texts of equal width in a run of bytes, not copied."""
    count = len(data) // width
    offsets = np.arange(count + 1, dtype=np.int64) * width
    return pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data))


def _documents(block: int, data: bytes) -> pa.Table:
    texts = _texts(data, CHUNKS_A_DOCUMENT * CHARACTERS)
    count = len(texts)
    names = [f"reports/{block * count + row:07}.txt" for row in range(count)]
    plain = {
        "version": "",
        "kind": "text",
        "title": "A report of middling length",
        "fields": '{"year": "1999"}',
    }
    repeated = {key: pa.repeat(value, count) for key, value in plain.items()}
    return DOCUMENTS.table({"id": names, "text": texts, **repeated})


def _chunks(block: int, data: bytes) -> pa.Table:
    row = np.arange(BLOCK, dtype=np.int32)
    doc, nth = np.divmod(row, CHUNKS_A_DOCUMENT)
    titles = pa.array(TITLES).take(pa.array(nth * len(TITLES) // CHUNKS_A_DOCUMENT))
    empty = pa.repeat("", BLOCK)
    return CHUNKS.table(
        {
            "id": [f"{block * BLOCK + number:08x}" for number in range(BLOCK)],
            "doc": (doc + block * BLOCK // CHUNKS_A_DOCUMENT).astype(np.int32),
            "start": nth * CHARACTERS,
            "end": (nth + 1) * CHARACTERS - 1,
            "line_start": nth + 1,
            "line_end": nth + 1,
            "section": titles,
            "symbol": empty,
            "context": empty,
            "text": _texts(data, CHARACTERS),
        }
    )


def _queries() -> QuerySet:
    """Rules that hit from a few to a fifth of all chunks."""
    like = "lower(chunk_text) LIKE '%{}%'".format
    rules: list[Rule] = [
        Sql(where=like("ab")),
        Sql(where=f"{like('cab')} AND {like('st')}"),
        Sql(where=f"{like('abe')} OR {like('rst')}"),
        Sql(where=f"section_name = 'PROBABLE CAUSE' AND {like('ba')}"),
        Sql(where=f"report_id LIKE '%0001.txt' AND {like('d')}"),
        *(
            WordsRule(of=(word, "in", "ti"), at_least=2, match="substring")
            for word in ("ad", "ee", "lo", "pa", "mi")
        ),
        Sections(names=("PROBABLE CAUSE",), over="chunks"),
    ]
    return QuerySet(tuple(Query(f"q{i}", "x") for i in range(len(rules))), tuple(rules))


def _served() -> RankedUnits:
    """100 chunks for each query, at random."""
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(11, dtype=np.int32), SERVED)
    return RankedUnits(query, rng.integers(0, TOTAL, len(query)), -np.arange(len(query), dtype=np.float64))


def _check(truth: Truth) -> None:
    """Stop unless every rule found something and the one whose count is known found that."""
    counts = [part.hits for part in truth.hits]
    if min(counts) == 0 or counts[-1] != TOTAL // len(TITLES):
        raise SystemExit(f"hits are not what they must be: {counts}")


if __name__ == "__main__":
    sys.exit(main())
