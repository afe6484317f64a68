"""A file that loops, swallows memory, crashes or raises costs that file only."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from bakeoff.errors import CorpusError
from bakeoff.pipeline.reader_process import ReaderProcesses, reader_order
from bakeoff.types import Document, ReadLimits, Skipped, SourceItem

LIMITS = ReadLimits(seconds=1, memory_mb=200)


class HostileSource:
    """Does to its reader what the item's name says."""

    version = "1"

    class Params(BaseModel):
        """What an item may cost."""

        limits: ReadLimits = LIMITS

    def __init__(self, params: Params) -> None:
        self.params = params

    def items(self) -> list[SourceItem]:
        return []

    def read_limits(self) -> ReadLimits:
        return self.params.limits

    def needs_limits(self, item: SourceItem) -> bool:
        return not item.id.startswith("small")

    def read(self, item: SourceItem) -> Document | Skipped:
        match item.id:
            case "loop":
                while True:
                    pass
            case "swallow":
                return Document(item.id, "x" * (500 * 2**20), "text")
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "raise" | "small raise":
                raise ZeroDivisionError("by this file")
            case "print":
                print("noise on standard output", flush=True)
            case "changed":
                raise CorpusError("changed while it was read")
            case "wait":
                time.sleep(60)
        return Document(item.id, f"text of {item.id}", "text")


def read(*names: str, limits: ReadLimits = LIMITS) -> dict[str, Document | Skipped]:
    params = HostileSource.Params(limits=limits)
    source, items = HostileSource(params), [SourceItem(name, "1", 1) for name in names]
    with ReaderProcesses(source, reader_order(source, params), items) as processes:
        answers = processes.read(items)
    return dict(zip(names, answers, strict=True))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("loop", "max_seconds"), ("swallow", "200 MB"), ("crash", "signal 11"), ("raise", "by this file")],
)
def test_one_file_is_left_out_and_the_others_are_read(name: str, reason: str) -> None:
    found = read("before", name, "after")
    assert isinstance(found["before"], Document) and isinstance(found["after"], Document)
    left = found[name]
    assert isinstance(left, Skipped) and reason in left.reason


def test_a_file_that_waits_is_ended_too() -> None:
    found = read("wait", "after", limits=ReadLimits(seconds=0.2, memory_mb=200))
    assert isinstance(found["wait"], Skipped) and isinstance(found["after"], Document)


def test_what_a_reader_prints_does_not_mix_with_its_answers() -> None:
    assert isinstance(read("print")["print"], Document)


def test_a_corpus_that_changes_while_it_is_read_ends_the_run() -> None:
    with pytest.raises(CorpusError, match="changed"):
        read("before", "changed")


def test_a_small_item_is_read_here_and_its_error_is_its_own() -> None:
    found = read("small raise", "before", "small")
    assert isinstance(found["small raise"], Skipped) and isinstance(found["before"], Document)
    assert isinstance(found["small"], Document)


def test_many_items_keep_their_order() -> None:
    names = [f"{'small ' * (number % 3 == 0)}item {number}" for number in range(1200)]
    assert [answer.id for answer in read(*names).values()] == names


def test_a_source_that_only_this_process_knows_is_not_sent() -> None:
    class Local(HostileSource):
        """Nobody else can import it."""

    assert reader_order(Local(HostileSource.Params()), HostileSource.Params()) == b""


@pytest.mark.parametrize(
    ("text", "reason"),
    [('"<!--' * 60_000, "max_seconds"), ("<p " + "a=1 " * 1_000_000 + ">", "max_memory_mb")],
    ids=["comments", "attributes"],
)
def test_a_page_that_costs_too_much_is_left_out(tmp_path: Path, text: str, reason: str) -> None:
    from bakeoff.plugins.sources.folder import FolderSource

    (tmp_path / "bad.html").write_text(text)
    (tmp_path / "good.html").write_text("<p>good</p>")
    params = FolderSource.Params(
        folder=tmp_path, max_seconds=1 if "seconds" in reason else 30, max_memory_mb=200
    )
    source = FolderSource(params)
    items = [item for item in source.items() if isinstance(item, SourceItem)]
    with ReaderProcesses(source, reader_order(source, params), items) as processes:
        bad, good = processes.read(items)
    assert isinstance(bad, Skipped) and reason in bad.reason and isinstance(good, Document)
