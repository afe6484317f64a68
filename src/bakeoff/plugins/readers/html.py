"""HTML as text: everything on the page, headings as Markdown headings, code fenced."""

from __future__ import annotations

from typing import ClassVar

import chardet
from lxml import etree

from bakeoff.plugins._titles import title_of
from bakeoff.plugins.kit.reading import NoReaderParams
from bakeoff.plugins.readers._html import html_to_text
from bakeoff.plugins.readers.text import decode_file, encoding_fields
from bakeoff.types import Document, Skipped, SourceFile


class HtmlReader:
    """Reads the whole page, menus and footers included; `main_text` leaves those out."""

    version: ClassVar[str] = f"1 with lxml {etree.__version__} and chardet {chardet.__version__}"
    kinds: ClassVar[tuple[str, ...]] = ("html",)
    packed: ClassVar[bool] = False
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The page's text, with its title."""
        found = decode_file(file)
        if isinstance(found, Skipped):
            return found
        text, title = html_to_text(found.text)
        if not text.strip():
            return Skipped(file.id, "empty: no text in it", has_text=False)
        return Document(file.id, text, "html", title or title_of(text, "html"), encoding_fields(found))
