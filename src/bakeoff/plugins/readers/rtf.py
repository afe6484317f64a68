"""Rich Text by striprtf."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import ClassVar

from striprtf.striprtf import rtf_to_text

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.kit.reading import NoReaderParams, make_document, report_damage
from bakeoff.types import Document, Skipped, SourceFile


class RtfReader:
    """Reads the text of an RTF file without its formatting."""

    version: ClassVar[str] = f"1 with striprtf {installed('striprtf')}"
    kinds: ClassVar[tuple[str, ...]] = ("rtf",)
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The plain text."""
        if not file.data.lstrip().startswith(b"{\\rtf"):
            raise UnreadableFileError("damaged Rich Text: it does not begin with {\\rtf")
        with report_damage("Rich Text"):
            return make_document(file, [rtf_to_text(file.data.decode("latin-1"), errors="replace")])
