"""read: a source's items → the table of documents."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config.plan import PluginSpec
from bakeoff.corpus.skipped_files import describe_skipped, summarise_skipped
from bakeoff.errors import CorpusError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.context import StageContext, batch_of, stage_progress
from bakeoff.pipeline.reader_process import Answer, ReaderProcesses, reader_order
from bakeoff.pipeline.work_time import WorkTime, keep_or_find
from bakeoff.protocols import Source, SupportsReadLimits
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.types import DOCUMENTS, Document, Schema, Skipped, SourceItem

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = "3"
BATCH = 64
READ = Schema("read", (*DOCUMENTS.columns, ("skipped", "string"), ("has_text", "bool")))


@dataclass(frozen=True, slots=True)
class Sample:
    """The first `size` items of one seeded order: samples of one seed are nested."""

    size: int
    seed: int

    def choose(self, items: Sequence[SourceItem]) -> list[SourceItem]:
        """The chosen items, in the order of the source."""
        order = random.Random(self.seed).sample(range(len(items)), len(items))
        return [items[i] for i in sorted(order[: self.size])]


@dataclass(frozen=True, slots=True)
class ReadCorpus:
    """The documents, what was left out and why, and the name of it all; `fresh` items were read now, others before.

    `earlier` is the time of the run that read them all, where this one read none.
    """

    documents: pa.Table
    skipped: tuple[Skipped, ...]
    fingerprint: str
    seconds: float
    fresh: int
    reused: int
    earlier: WorkTime | None = None


def read_documents(
    part: PluginSpec, source: Source, context: StageContext, sample: Sample | None = None
) -> ReadCorpus:
    """Every document of a source, or a sample; one that was read before, unchanged, is taken from the cache."""
    begin = time.perf_counter()
    listed = list(source.items())
    items = [item for item in listed if isinstance(item, SourceItem)]
    items = sample.choose(items) if sample is not None else items
    skipped = [item for item in listed if isinstance(item, Skipped)]
    pool = RowCache(
        context.cache, "read", fingerprint("read", VERSION, part.kind, part.name, *_reading(part))
    )
    keys = [fingerprint(item.id, item.version) for item in items]
    with stage_progress(context, "read", "", len(items), "files") as report:
        size = sum(item.size for item in items)
        with _reader(source, part, items) as answers:
            fresh = pool.fill(
                keys,
                lambda at: _rows([items[i] for i in at], answers),
                batch=batch_of(BATCH, len(items), size),
                progress=report.advance,
            )
        table, unread = _split(pool, keys)
        skipped += unread
        report.summary = f"{table.num_rows:,} documents, {size / 1e6:.1f} MB{_skipped_text(skipped)}"
    if table.num_rows == 0:
        raise CorpusError(_empty(part, skipped))
    name = fingerprint(
        "documents", table["id"].to_pylist(), table["version"].to_pylist(), part.name, *_reading(part)
    )
    seconds = time.perf_counter() - begin  # listing is a part of reading
    reused = len(keys) - fresh
    earlier = keep_or_find(context.cache, fingerprint("read time", name), seconds, fresh, reused)
    return ReadCorpus(table, tuple(skipped), name, seconds, fresh, reused, earlier)


def _reading(part: PluginSpec) -> list[object]:
    """The parameters that may shape what is read; where the folder lies does not."""
    plain = {k: v for k, v in part.params if not isinstance(v, Path)}
    return [part.identity()[2], part.params.model_dump(mode="json", include=set(plain))]


@contextlib.contextmanager
def _reader(
    source: Source, part: PluginSpec, items: list[SourceItem]
) -> Iterator[Callable[[list[SourceItem]], list[Answer]]]:
    """Reads items: in processes with limits where the source has some, else here."""
    order = reader_order(source, part.params)
    if not order or not isinstance(source, SupportsReadLimits):
        yield lambda some: [source.read(item) for item in some]
        return
    with ReaderProcesses(source, order, items) as processes:
        yield processes.read


def _rows(items: list[SourceItem], answers: Callable[[list[SourceItem]], list[Answer]]) -> BatchRows:
    rows = [_row(item, found) for item, found in zip(items, answers(items), strict=True)]
    columns = {name: [row[name] for row in rows] for name, _ in READ.columns}
    return BatchRows([1] * len(rows), READ.table(columns))


def _row(item: SourceItem, found: Document | Skipped) -> dict[str, str | bool]:
    if isinstance(found, Skipped):
        blank: dict[str, str | bool] = dict.fromkeys((name for name, _ in READ.columns), "")
        return blank | {"id": item.id, "skipped": found.reason, "has_text": found.has_text}
    return {
        "id": found.id,
        # what was read, not the bytes: chunks are cached by it, and one file has other text in another encoding
        "version": fingerprint(found.text, found.title),
        "kind": found.kind,
        "title": found.title,
        "fields": json.dumps(dict(found.fields), sort_keys=True),
        "text": found.text,
        "skipped": "",
        "has_text": True,
    }


def _split(pool: RowCache, keys: list[str]) -> tuple[pa.Table, list[Skipped]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not keys:
        return DOCUMENTS.arrow().empty_table(), []
    table = pa.concat_tables(pool.gather(keys))
    left_out = pc.not_equal(table["skipped"], "")
    columns = [table.filter(left_out)[name].to_pylist() for name in ("id", "skipped", "has_text")]
    skipped = [Skipped(*row) for row in zip(*columns, strict=True)]
    return table.filter(pc.invert(left_out)).drop_columns(["skipped", "has_text"]), skipped


def _skipped_text(skipped: Sequence[Skipped]) -> str:
    return f", {len(skipped):,} skipped" if skipped else ""


def _empty(part: PluginSpec, skipped: list[Skipped]) -> str:
    where = next((str(v) for _, v in part.params if isinstance(v, Path)), part.name)
    if not skipped:
        return f"no document was found in {where}. Check the folder and the include patterns."
    why = describe_skipped(summarise_skipped(skipped))
    return f"no document in {where} could be read. {why} Check the include patterns."
