"""EPUB: the chapters in reading order, each converted from HTML."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname, join, normpath
from typing import ClassVar
from urllib.parse import unquote

from lxml import etree

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.kit.reading import NoReaderParams, make_document, open_archive, parse_xml, report_damage
from bakeoff.plugins.readers._html import html_to_text
from bakeoff.types import Document, Skipped, SourceFile

_CONTAINER = "META-INF/container.xml"
_LOCKS = "META-INF/encryption.xml"
_OPF = "{http://www.idpf.org/2007/opf}"


class EpubReader:
    """Reads the chapters that the book's spine lists."""

    version: ClassVar[str] = f"1 with lxml {etree.__version__}"
    kinds: ClassVar[tuple[str, ...]] = ("epub",)
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The text of all chapters."""
        with report_damage("EPUB", etree.LxmlError), open_archive(file, "EPUB") as archive:
            root = parse_xml(archive.read(_CONTAINER)).find(".//{*}rootfile")
            if root is None:
                raise UnreadableFileError("damaged EPUB: its container names no book")
            place = root.get("full-path", "")
            book = parse_xml(archive.read(place))
            chapters = [
                html_to_text(archive.read(name).decode("utf-8", "replace"))[0] for name in _spine(book, place)
            ]
            if not any(one.strip() for one in chapters) and _LOCKS in archive.namelist():
                raise UnreadableFileError("protected EPUB: its chapters are encrypted")
            return make_document(file, chapters, _title(book))


def _spine(book: etree._Element, place: str) -> Iterator[str]:
    """File names of the chapters in reading order."""
    files = {one.get("id"): one.get("href", "") for one in book.iter(f"{_OPF}item")}
    for one in book.iter(f"{_OPF}itemref"):
        if href := files.get(one.get("idref")):
            yield normpath(join(dirname(place), unquote(href.partition("#")[0])))


def _title(book: etree._Element) -> str:
    found = book.find(".//{http://purl.org/dc/elements/1.1/}title")
    return (found.text or "") if found is not None else ""
