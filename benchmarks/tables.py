"""Tables: the source and pyarrow over the same columns of 1,000,000 short rows; memory of reading and of a whole run
at 5,000,000 rows.

The source gives ids, titles, joined texts and fields; pyarrow only reads the columns. The read stage adds a fingerprint
of each document and writes the file that later stages map into memory. The run is `bakeoff run` with 20 questions,
one chunk for each row and BM25 by Tantivy, on an empty cache; counted is memory of its own (RssAnon), its children
included. `tables.py run [ROWS]` makes that row alone, `tables.py rates` those of speed. Linux only.

The rates are the best of several reads in one process, after the fork server has started, as it has in a run. The
first read of a new process pays for that start and for fresh memory.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from bakeoff.config.plan import PluginSpec
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.read import read_documents
from bakeoff.plugins.sources.table import TableParams, TableSource
from bakeoff.storage.cache import Cache
from common import Row, show
from own_memory import watch_memory

ROWS, MANY = 1_000_000, 5_000_000
BLOCK = 250_000
REPEATS = 9
COLUMNS = ["ticket", "title", "body", "product", "opened"]
LIMIT_MB = 1_500
RUN_LIMIT_MB = 2_000
QUESTIONS = 20


def write(path: Path, rows: int) -> None:
    """A Parquet file of short tickets."""
    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, BLOCK):
            numbers = range(begin, min(begin + BLOCK, rows))
            columns = [
                [f"T-{n}" for n in numbers],
                [f"Device {n % 977} fails in case {n}" for n in numbers],
                [f"It stops after {n % 61} minutes and shows code {n * 7919 % 100_003}." for n in numbers],
                [f"product {n % 40}" for n in numbers],
                [f"2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}" for n in numbers],
            ]
            writer.write_table(pa.table([pa.array(c, pa.string()) for c in columns], schema=schema))


def source(path: Path) -> TableSource:
    return TableSource(
        TableParams(table=path, id="ticket", text=["title", "body"], fields=["product", "opened"])
    )


def drain(batches: Iterable[object]) -> None:
    for _ in batches:
        pass


def own_parquet(path: Path) -> None:
    drain(pq.ParquetFile(pa.memory_map(str(path))).iter_batches(65_536, columns=COLUMNS))


def own_parquet_joined(path: Path) -> None:
    """What the source gives, by pyarrow in this process: shows the price of the process with limits alone."""
    for batch in pq.ParquetFile(pa.memory_map(str(path))).iter_batches(65_536, columns=COLUMNS):
        pc.binary_join_element_wise(batch["title"], batch["body"], "\n\n", null_handling="skip")


def own_csv(path: Path) -> None:
    """With quoted line breaks and columns as texts, as a table of documents needs them."""
    drain(
        arrow_csv.open_csv(
            pa.memory_map(str(path)),
            read_options=arrow_csv.ReadOptions(block_size=32_000_000),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=COLUMNS,
                column_types=dict.fromkeys(COLUMNS, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    )


def best(*works: Callable[[], object]) -> list[float]:
    """The least seconds of each, taken in turns."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for work, own in zip(works, seconds, strict=True):
            begin = time.perf_counter()
            work()
            own.append(time.perf_counter() - begin)
    return [min(own) for own in seconds]


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least CPU seconds of this process."""
    seconds = []
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def first_read(path: Path, who: str) -> float:
    """Seconds of the first read in a new process, after its imports."""
    command = [sys.executable, __file__, "first", who, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def time_first_read(who: str, path: Path) -> float:
    begin = time.perf_counter()
    own_parquet(path) if who == "theirs" else drain(source(path).batches())
    return time.perf_counter() - begin


def read_stage(path: Path, cache: Path) -> float:
    """Seconds of the read stage with an empty cache."""
    made = source(path)
    begin = time.perf_counter()
    read_documents(PluginSpec("sources", "table", "table", made._params), made, StageContext(Cache(cache)))
    return time.perf_counter() - begin


def rates(folder: Path) -> Iterable[Row]:
    parquet, csv = folder / "t.parquet", folder / "t.csv"
    write(parquet, ROWS)
    arrow_csv.write_csv(pq.read_table(parquet), csv)
    for kind, path, own in (("parquet", parquet, own_parquet), ("csv", csv, own_csv)):
        ours, theirs = best(
            lambda path=path: drain(source(path).batches()), lambda path=path, own=own: own(path)
        )
        yield Row(
            f"{kind}: 1,000,000 rows, source, pyarrow, rows per second", ROWS / ours, ROWS / theirs, ">= 0.8"
        )
    ours, joined, theirs = best(
        lambda: drain(source(parquet).batches()),
        lambda: own_parquet_joined(parquet),
        lambda: own_parquet(parquet),
    )
    yield Row(
        "parquet: source, pyarrow with joined texts, rows per second", ROWS / ours, ROWS / joined, ">= 0.8"
    )
    yield Row("parquet: pyarrow with joined texts, pyarrow, rows per second", ROWS / joined, ROWS / theirs)
    ours, theirs = (
        cpu_seconds(lambda work=work: work(parquet)) for work in (own_parquet_joined, own_parquet)
    )
    yield Row("parquet: pyarrow with joined texts, pyarrow, CPU seconds", ours, theirs)
    ours, theirs = (min(first_read(parquet, who) for _ in range(REPEATS)) for who in ("ours", "theirs"))
    yield Row("parquet: first read of a new process, pyarrow's, rows per second", ROWS / ours, ROWS / theirs)
    whole = read_stage(parquet, folder / "cache")
    (theirs,) = best(lambda: own_parquet(parquet))
    yield Row(
        "parquet: read stage with an empty cache, pyarrow, rows per second", ROWS / whole, ROWS / theirs
    )


def memory(folder: Path) -> Row:
    """The peak of a process that reads 5,000,000 rows, beyond what it has after its imports."""
    path = folder / "many.parquet"
    write(path, MANY)
    done = subprocess.run([sys.executable, __file__, str(path)], check=True, capture_output=True, text=True)
    return Row(
        "5,000,000 rows, read stage: growth since the start, limit, MB", float(done.stdout), LIMIT_MB, "<= 1"
    )


def whole_run(folder: Path, rows: int) -> Iterable[Row]:
    """A run over many rows, from the table to the report."""
    write(folder / "run.parquet", rows)
    asked = [place * 245_489 % rows for place in range(1, QUESTIONS + 1)]
    queries = [
        f'  - {{id: q{n}, text: "device {n % 977}, case {n}", truth: {{documents: [T-{n}]}}}}' for n in asked
    ]
    (folder / "queries.yaml").write_text("\n".join(["queries:", *queries, ""]))
    (folder / "bakeoff.yaml").write_text(
        "name: many\nqueries: queries.yaml\nchunkers: [whole]\nmodes: [bm25]\nstores: [tantivy]\n"
        "corpus: {table: run.parquet, id: ticket, text: [title, body], fields: [product, opened]}\n"
    )
    before, begin = cpu_of_children(), time.perf_counter()
    command = [sys.executable, "-m", "bakeoff", "run", "--quiet", "--out", "run"]
    env = {**os.environ, "BAKEOFF_HOME": str(folder / "home")}
    _, own = watch_memory(command, folder, env)
    seconds, cpu = time.perf_counter() - begin, cpu_of_children() - before
    found = pq.read_table(folder / "run" / "scores.parquet", columns=["query_id"])
    assert found["query_id"].unique().to_pylist() == [f"q{n}" for n in asked]
    name = f"{rows:,} rows, bakeoff run"
    yield Row(f"{name}: own memory (RssAnon) with children, limit, MB", own, RUN_LIMIT_MB, "<= 1")
    yield Row(f"{name}: seconds, CPU seconds of all processes", seconds, cpu)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        with tempfile.TemporaryDirectory() as scratch:
            sys.exit(show(whole_run(Path(scratch), int(sys.argv[2]) if len(sys.argv) > 2 else MANY)))
    elif sys.argv[1:2] == ["rates"]:
        with tempfile.TemporaryDirectory() as scratch:
            sys.exit(show(rates(Path(scratch))))
    elif sys.argv[1:2] == ["first"]:
        print(time_first_read(sys.argv[2], Path(sys.argv[3])))
    elif len(sys.argv) > 1:
        start = peak_mb()
        with tempfile.TemporaryDirectory() as cache:
            read_stage(Path(sys.argv[1]), Path(cache))
        print(f"{peak_mb() - start:.1f}")
    else:
        with tempfile.TemporaryDirectory() as scratch:
            at = Path(scratch)
            sys.exit(show([*rates(at), memory(at), *whole_run(at, MANY)]))
