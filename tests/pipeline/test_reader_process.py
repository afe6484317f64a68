"""A file that loops, swallows memory, crashes or raises costs that file only."""

from __future__ import annotations

import os
import signal
import time
import zipfile
from pathlib import Path

import pytest
from pydantic import BaseModel

from bakeoff.config.file_readers import FileReaders, ReaderPart, file_readers
from bakeoff.errors import CorpusError
from bakeoff.pipeline.reading.process import ReaderProcesses
from bakeoff.plugins.sources.folder import FolderSource
from bakeoff.types import Document, ReadLimits, Skipped, SourceFile, SourceItem

LIMITS = ReadLimits(seconds=1, memory_mb=200)


class NoSettings(BaseModel):
    """Nothing to set."""


class HostileReader:
    """Does to its process what the file's name says."""

    version = "1"
    kinds = ("text",)
    Params = NoSettings

    def __init__(self, params: NoSettings) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        match file.id:
            case "loop":
                while True:
                    pass
            case "swallow":
                return Document(file.id, "x" * (500 * 2**20), "text")
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "raise":
                raise ZeroDivisionError("by this file")
            case "print":
                print("noise on standard output", flush=True)
            case "wait":
                time.sleep(60)
        return Document(file.id, f"text of {file.id}, read by {os.getpid()}", "text")


class HarmlessReader(HostileReader):
    """Says that its files need no process."""

    packed = False


class Files:
    """A source whose files are their names."""

    version = "1"
    Params = NoSettings

    def items(self) -> list[SourceItem]:
        return []

    def read(self, item: SourceItem) -> SourceFile | Document:
        if item.id == "changed":
            raise CorpusError("changed while it was read")
        if item.id == "broken":
            raise ZeroDivisionError("by its source")
        return Document(item.id, "made by the source") if item.id == "made" else SourceFile(item.id, b"x")


def read(
    *names: str, limits: ReadLimits = LIMITS, reader: type[HostileReader] = HostileReader
) -> dict[str, Document | Skipped]:
    items = [SourceItem(name, "1", 1) for name in names]
    readers = FileReaders({"text": (ReaderPart("hostile", reader, NoSettings()),)})
    with ReaderProcesses(Files(), readers, items, limits=limits) as processes:
        answers = processes.read(items)
    return dict(zip(names, answers, strict=True))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("loop", "max_seconds", marks=pytest.mark.slow),
        ("swallow", "200 MB"),
        ("crash", "signal 11"),
        ("raise", "by this file"),
    ],
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


def test_an_item_that_its_source_cannot_give_is_left_out() -> None:
    found = read("broken", "before", "made")
    assert isinstance(found["broken"], Skipped) and "by its source" in found["broken"].reason
    assert isinstance(found["before"], Document) and found["made"] == Document("made", "made by the source")


def test_only_a_small_file_of_a_format_that_is_not_packed_is_read_here() -> None:
    here = f"read by {os.getpid()}"
    apart, harmless = read("a")["a"], read("a", reader=HarmlessReader)["a"]
    assert isinstance(apart, Document) and here not in apart.text and apart.fields == {"reader": "hostile"}
    assert isinstance(harmless, Document) and here in harmless.text and harmless.fields == {}


def test_many_items_keep_their_order() -> None:
    names = [f"item {number}" for number in range(300)]
    assert [answer.id for answer in read(*names).values()] == names


def test_a_reader_that_only_this_process_knows_is_used_here() -> None:
    class Local(HostileReader):
        """Nobody else can import it."""

    found = read("a", reader=Local)["a"]
    assert isinstance(found, Document) and f"read by {os.getpid()}" in found.text


@pytest.mark.slow
def test_an_office_file_that_unpacks_to_too_much_is_left_out(tmp_path: Path) -> None:
    """A ZIP bomb is refused by what its directory says; one whose directory lies ends at the limit of memory."""
    pytest.importorskip("docx")
    with zipfile.ZipFile(tmp_path / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", " " * 10)
        archive.writestr("word/document.xml", b" " * 301_000_000)
    data = (tmp_path / "bomb.docx").read_bytes()
    sizes = (301_000_000).to_bytes(4, "little")
    (tmp_path / "liar.docx").write_bytes(data.replace(sizes, (1000).to_bytes(4, "little")))
    (tmp_path / "good.html").write_text("<p>good</p>")
    source = FolderSource(FolderSource.Params(folder=tmp_path))
    items = [item for item in source.items() if isinstance(item, SourceItem)]
    with ReaderProcesses(source, file_readers(item.id for item in items), items, limits=LIMITS) as processes:
        bomb, good, liar = processes.read(items)
    assert isinstance(bomb, Skipped) and "301 MB unpacked" in bomb.reason
    assert isinstance(liar, Skipped) and isinstance(good, Document)
