"""The main text of an HTML page without menus, banners and footers, by trafilatura."""

from __future__ import annotations

from typing import ClassVar

import trafilatura
from trafilatura import extract, extract_metadata

from bakeoff.plugins.kit.reading import NoReaderParams, report_damage
from bakeoff.plugins.readers.text import decode_file, encoding_fields
from bakeoff.types import Document, Skipped, SourceFile


class MainTextReader:
    """Reads the main content of a page as Markdown, with tables and lists, without comments."""

    version: ClassVar[str] = f"1 with trafilatura {trafilatura.__version__}"
    kinds: ClassVar[tuple[str, ...]] = ("html",)
    packed: ClassVar[bool] = False
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The main text, or that trafilatura found none."""
        found = decode_file(file)
        if isinstance(found, Skipped):
            return found
        with report_damage("HTML"):
            text = extract(
                found.text,
                output_format="markdown",
                include_comments=False,
                include_tables=True,
                favor_recall=True,
            )
            about = extract_metadata(found.text)
        if not text or not text.strip():
            return Skipped(file.id, "no main text on the page: the reader html reads all of it")
        title = (about.title if about else "") or ""
        return Document(file.id, f"{text.strip()}\n", "html", " ".join(title.split()), encoding_fields(found))
