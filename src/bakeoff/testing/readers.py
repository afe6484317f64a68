"""The contract of readers."""

from __future__ import annotations

import re
from typing import ClassVar, cast

import pytest

from bakeoff.config.file_readers import FileReaders, ReaderPart
from bakeoff.corpus.document_kinds import kind_of
from bakeoff.protocols import Reader
from bakeoff.testing.contracts import PluginContract
from bakeoff.types import Document, Skipped, SourceFile

WORD = re.compile(r"\w+")


class ReaderContract(PluginContract):
    """A reader finds the words of a file, returns the same text twice, and names what it can't read.

    Set `file` to a file name and override `content`: the bytes of a file whose text has all of `words`, of
    which the reader must return at least the share `kept`.
    """

    kind = "readers"
    file: ClassVar[str]
    words: ClassVar[str]
    kept: ClassVar[float] = 1.0

    def content(self) -> bytes:
        """The bytes of a file with the words."""
        raise NotImplementedError

    def reader(self) -> Reader:
        """A new instance."""
        plugin = cast("type[Reader]", self.plugin())
        return ReaderPart(self.name, plugin, plugin.Params(**self.params)).open()

    def read(self, data: bytes) -> Document | Skipped:
        """What a run gets from the reader."""
        plugin = cast("type[Reader]", self.plugin())
        part = ReaderPart(self.name, plugin, plugin.Params(**self.params))
        return FileReaders({kind_of(self.file): (part,)}).document(SourceFile(self.file, data))

    def test_it_declares_the_kind_of_its_file(self) -> None:
        assert kind_of(self.file) in self.reader().kinds

    def test_the_words_of_a_file_are_in_its_text(self) -> None:
        found = self.read(self.content())
        assert isinstance(found, Document), found
        assert found.id == self.file and found.kind
        share = words_kept(self.words, found.text)
        assert share >= self.kept, f"only {share:.0%} of the words are in the text: {found.text[:500]!r}"

    def test_a_second_instance_gives_the_same_document(self) -> None:
        file = SourceFile(self.file, self.content())
        assert self.reader().read(file) == self.reader().read(file)

    @pytest.mark.parametrize("damage", ["empty", "half", "noise"])
    def test_a_damaged_file_is_left_out_or_read_in_part(self, damage: str) -> None:
        data = self.content()
        broken = {"empty": b"", "half": data[: len(data) // 2], "noise": bytes(range(256)) * 4}[damage]
        found = self.read(broken)
        assert isinstance(found, Document) or (isinstance(found, Skipped) and found.reason)


def words_kept(words: str, text: str) -> float:
    """Share of words, with multiplicity, that a text contains."""
    wanted, there = WORD.findall(words.casefold()), WORD.findall(text.casefold())
    left = {word: there.count(word) for word in {*wanted}}
    found = 0
    for word in wanted:
        if left[word] > 0:
            left[word] -= 1
            found += 1
    return found / len(wanted)
