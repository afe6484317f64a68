"""read: a source's items → the table of documents."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.config.file_readers import file_readers
from bakeoff.config.plan import USUAL_READING, PluginSpec, Reading
from bakeoff.corpus.languages import LANGUAGES
from bakeoff.corpus.skipped_files import describe_skipped, summarise_skipped
from bakeoff.errors import CorpusError
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.context import StageContext, batch_of, stage_progress
from bakeoff.pipeline.reading.process import DEFAULT_LIMITS, ReaderProcesses
from bakeoff.pipeline.reading.rows import content_fingerprint, read_rows
from bakeoff.pipeline.work_time import FillTime, WorkTime, fill_timed, keep_or_find
from bakeoff.protocols import RowSource, Source, SupportsReadLimits
from bakeoff.runtime.count_text import count
from bakeoff.storage.row_cache import BatchRows, RowCache
from bakeoff.storage.schemas import DOCUMENTS, Schema
from bakeoff.types import Document, ReadLimits, Skipped, SourceItem

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = "4"
BATCH = 64
READ = Schema("read", (*DOCUMENTS.columns, ("skipped", "string"), ("has_text", "bool")))


@dataclass(frozen=True, slots=True)
class Sample:
    """The first `size` items of one seeded order, so that samples with the same seed are nested."""

    size: int
    seed: int

    def choose(self, items: Sequence[SourceItem]) -> list[SourceItem]:
        """The chosen items, in the order of the source."""
        return [items[i] for i in self.positions(len(items))]

    def positions(self, count: int) -> list[int]:
        """Return the chosen positions out of `count`, in order."""
        order = random.Random(self.seed).sample(range(count), count)
        return sorted(order[: self.size])


@dataclass(frozen=True, slots=True)
class ReadCorpus:
    """The documents, those skipped and why, and their fingerprint; `fresh` items were read in this run, the
    rest came from the cache. `earlier` is the time of reading all of them if earlier runs did a part."""

    documents: pa.Table
    skipped: tuple[Skipped, ...]
    fingerprint: str
    seconds: float
    fresh: int
    reused: int
    earlier: WorkTime | None = None
    readings: Mapping[str, ReadCorpus] = field(default_factory=dict)
    """The same documents under each of several readings, by label."""
    language: str = ""
    """A name in `LANGUAGES`, or '' if none was set or detected."""
    language_given: bool = False

    @property
    def language_text(self) -> str:
        """The language as printed, and whether it was detected; '' if unknown."""
        if not self.language:
            return ""
        return LANGUAGES[self.language].title + ("" if self.language_given else " (detected)")

    def read_for(self, chunker: PluginSpec) -> ReadCorpus:
        """The documents as read for a chunker."""
        return self.readings.get(chunker.reading.label, self) if chunker.reading else self


def read_documents(
    part: PluginSpec,
    source: Source | RowSource,
    context: StageContext,
    sample: Sample | None = None,
    *,
    reading: Reading = USUAL_READING,
) -> ReadCorpus:
    """Read every document of a source, or a sample, reusing cached ones that have not changed.

    `reading` names readers for some kinds of files; the others use the defaults.
    """
    if isinstance(source, RowSource):
        return _read_table(part, source, context, sample)
    begin = time.perf_counter()
    listed = _list_items(part, source)
    items = [item for item in listed if isinstance(item, SourceItem)]
    items = sample.choose(items) if sample is not None else items
    skipped = [item for item in listed if isinstance(item, Skipped)]
    readers = file_readers((item.id for item in items), reading.by_kind)
    pool = RowCache(
        context.cache, "read", fingerprint("read", VERSION, part.kind, part.name, *_shaping(part, source))
    )
    keys = [fingerprint(item.id, item.version, readers.identity(item.id)) for item in items]
    with stage_progress(context, "read", reading.label, len(items), "files") as report:
        size = sum(item.size for item in items)
        with ReaderProcesses(
            source, readers, items, limits=_limits(source), on_read=report.advance
        ) as processes:
            fill = partial(
                pool.fill,
                keys,
                lambda at: _rows([items[i] for i in at], processes),
                batch=batch_of(BATCH, len(items), size),
                progress=_first_only(report.advance),
            )
            filled = fill_timed(context.cache, pool, keys, fill)
        table, unread = _split(pool, keys)
        skipped += unread
        report.summary = f"{count(table.num_rows, 'document')}, {size / 1e6:.1f} MB{_skipped_text(skipped)}"
    if table.num_rows == 0:
        raise CorpusError(_empty(part, skipped))
    name = fingerprint(
        "documents",
        table["id"].to_pylist(),
        table["version"].to_pylist(),
        part.name,
        *_parameters(part),
        *reading.identity(),
    )
    seconds = time.perf_counter() - begin  # listing is part of reading
    return _timed_corpus(context, table, skipped, name, replace(filled, seconds=seconds))


def _timed_corpus(
    context: StageContext, table: pa.Table, skipped: Sequence[Skipped], name: str, filled: FillTime
) -> ReadCorpus:
    """The documents, with the reading time of this run and the time of reading all of them."""
    return ReadCorpus(
        documents=table,
        skipped=tuple(skipped),
        fingerprint=name,
        seconds=filled.seconds,
        fresh=filled.fresh,
        reused=filled.reused,
        earlier=keep_or_find(context.cache, fingerprint("read time", name), filled.seconds, filled),
    )


def _list_items(part: PluginSpec, source: Source) -> list[SourceItem | Skipped]:
    """What a source lists; anything that is not an item would be lost without a word."""
    listed = list(source.items())
    wrong = [item for item in listed if not isinstance(item, SourceItem | Skipped)]
    if wrong:
        raise CorpusError(
            f"the source {part.name} lists a {type(wrong[0]).__name__} ({str(wrong[0])[:80]!r}). "
            "This is a bug in the source: `items` yields SourceItem or Skipped."
        )
    return listed


def count_documents(source: Source | RowSource) -> int:
    """Number of documents in a source; some may turn out to be unreadable."""
    if not isinstance(source, RowSource):
        return sum(isinstance(item, SourceItem) for item in source.items())
    rows = source.count_rows()
    return sum(len(batch.ids) for batch in source.batches()) if rows is None else rows


def _read_table(
    part: PluginSpec, source: RowSource, context: StageContext, sample: Sample | None
) -> ReadCorpus:
    """Read the documents of a source of rows."""
    begin = time.perf_counter()
    settings = fingerprint(part.name, *_parameters(part))
    with stage_progress(context, "read", "", source.count_rows() or 0, "rows") as report:
        table, skipped, fresh = read_rows(source, settings, context.cache, report.advance)
        if sample is not None:
            table = table.take(sample.positions(table.num_rows))
        if not fresh:
            report.advance(table.num_rows)
        report.summary = (
            f"{count(table.num_rows, 'document')}, {table.nbytes / 1e6:.1f} MB{_skipped_text(skipped)}"
        )
    if table.num_rows == 0:
        why = describe_skipped(summarise_skipped(skipped)) if skipped else "It has no rows."
        raise CorpusError(f"no document was found by the source {part.name}. {why}")
    name = fingerprint("documents", content_fingerprint(table), settings)
    seconds, rows = time.perf_counter() - begin, table.num_rows if fresh else 0
    filled = FillTime(fresh=rows, reused=table.num_rows - rows, seconds=seconds)
    return _timed_corpus(context, table, skipped, name, filled)


def _parameters(part: PluginSpec, without: Container[str] = ()) -> list[object]:
    """The source's version and parameters; the location of a folder does not matter."""
    plain = {k for k, v in part.params if not isinstance(v, Path) and k not in without}
    return [part.identity()[2], part.params.model_dump(mode="json", include=plain)]


def _shaping(part: PluginSpec, source: Source) -> list[object]:
    """Parameters that may change how an item is read, without those that only choose items."""
    return _parameters(part, getattr(source, "selects_by", ()))


def _first_only(advance: Callable[[int], None]) -> Callable[[int], None]:
    """Report only the items from the cache; each file read now reports itself."""
    calls = itertools.count()
    return lambda count: advance(count) if next(calls) == 0 else None


def _limits(source: Source) -> ReadLimits:
    return source.read_limits() if isinstance(source, SupportsReadLimits) else DEFAULT_LIMITS


def _rows(items: list[SourceItem], processes: ReaderProcesses) -> BatchRows:
    rows = [_row(item, outcome) for item, outcome in zip(items, processes.read(items), strict=True)]
    columns = {name: [row[name] for row in rows] for name, _ in READ.columns}
    return BatchRows([1] * len(rows), READ.table(columns))


def _row(item: SourceItem, outcome: Document | Skipped) -> dict[str, str | bool]:
    if isinstance(outcome, Skipped):
        blank: dict[str, str | bool] = dict.fromkeys((name for name, _ in READ.columns), "")
        return blank | {"id": item.id, "skipped": outcome.reason, "has_text": outcome.has_text}
    return {
        "id": outcome.id,
        # hash the text, not the bytes: chunks are cached by it, and another encoding gives other text
        "version": fingerprint(outcome.text, outcome.title),
        "kind": outcome.kind,
        "title": outcome.title,
        "fields": json.dumps(dict(outcome.fields), sort_keys=True),
        "text": outcome.text,
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
