"""The beir source: strict, with line numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.errors import CorpusError, DataError
from bakeoff.plugins.sources.beir import BeirSource
from bakeoff.types import Document, Skipped, SourceItem


def source(folder: Path) -> BeirSource:
    return BeirSource(BeirSource.Params(folder=folder))


def corpus(folder: Path, *lines: str) -> BeirSource:
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return source(folder)


def test_a_text_is_title_blank_text(tmp_path: Path) -> None:
    found = corpus(
        tmp_path,
        '{"_id": "1", "title": "Größe", "text": "matters.", "metadata": {"year": 1999, "tags": []}}',
        '{"_id": "2", "text": "alone"}',
    )
    one, two = (found.read(item) for item in found.items() if isinstance(item, SourceItem))
    assert one == Document("1", "Größe matters.", "text", "Größe", {"year": "1999"})
    assert two == Document("2", "alone", "text", "")


def test_a_document_is_read_without_listing_first(tmp_path: Path) -> None:
    items = list(corpus(tmp_path, *(f'{{"_id": "{n}", "text": "t{n} ä"}}' for n in range(5))).items())
    assert isinstance(items[3], SourceItem)
    document = source(tmp_path).read(items[3])
    assert isinstance(document, Document) and document.text == "t3 ä"


def test_an_empty_document_is_skipped_by_name(tmp_path: Path) -> None:
    found = list(corpus(tmp_path, '{"_id": "1", "title": "", "text": " "}').items())
    assert found == [Skipped("1", "empty: neither title nor text", has_text=False)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "a list, not an object"),
        ('{"text": "x"}', "_id is None"),
        ('{"_id": 7, "text": "x"}', "_id is 7"),
        ('{"_id": "", "text": "x"}', "_id ''"),
        ('{"_id": "2"}', "text is None"),
        ('{"_id": "2", "title": 3, "text": "x"}', "title 3"),
        ('{"_id": "1", "text": "again"}', "_id '1' is also on line 1"),
    ],
)
def test_a_malformed_line_is_named_by_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=r"corpus\.jsonl:2: ") as caught:
        list(corpus(tmp_path, '{"_id": "1", "text": "x"}', line).items())
    assert message in str(caught.value)


def test_bytes_that_are_no_utf8_are_named(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(b'{"_id": "1", "text": "\xff"}\n')
    with pytest.raises(DataError, match=r"corpus\.jsonl:1: .*UTF-8"):
        list(source(tmp_path).items())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError):
        list(source(tmp_path).items())


def test_a_file_that_changes_in_between_is_an_error(tmp_path: Path) -> None:
    found = corpus(tmp_path, '{"_id": "1", "text": "one"}')
    (item,) = found.items()
    corpus(tmp_path, '{"_id": "1", "text": "two"}')
    assert isinstance(item, SourceItem)
    with pytest.raises(CorpusError):
        found.read(item)


SCIFACT = Path(__file__).resolve().parents[3].parent / "shared/data/scifact"


@pytest.mark.skipif(not SCIFACT.is_dir(), reason="shared/data/scifact is not here")
def test_scifact_is_read_whole() -> None:
    found = source(SCIFACT)
    items = [item for item in found.items() if isinstance(item, SourceItem)]
    assert len(items) == 5183
    document = found.read(items[0])
    assert isinstance(document, Document) and document.text.startswith(document.title + " ")
