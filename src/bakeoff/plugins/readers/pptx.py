"""PowerPoint by python-pptx: each slide under its title, shapes from top to bottom, tables and speaker notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version as installed
from io import BytesIO
from typing import ClassVar

import pptx
from lxml import etree
from pptx.exc import PythonPptxError
from pptx.shapes.base import BaseShape
from pptx.slide import Slide

from bakeoff.plugins.kit.reading import (
    NoReaderParams,
    heading,
    make_document,
    open_archive,
    report_damage,
    table_lines,
)
from bakeoff.types import Document, Skipped, SourceFile


class PptxReader:
    """Reads the text of slides and notes; pictures are not read."""

    version: ClassVar[str] = f"1 with python-pptx {installed('python-pptx')}"
    kinds: ClassVar[tuple[str, ...]] = ("pptx",)
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The text of all slides in order."""
        open_archive(file, "PowerPoint file").close()
        with report_damage("PowerPoint file", PythonPptxError, etree.LxmlError):
            shown = pptx.Presentation(BytesIO(file.data))
            slides = list(shown.slides)
            blocks = [block for number, slide in enumerate(slides, 1) for block in _slide(slide, number)]
            has_text = any(not block.startswith("## Slide ") for block in blocks)
            title = shown.core_properties.title or (_title(slides[0]) if slides else "")
            return make_document(file, blocks if has_text else [], title)


def _slide(slide: Slide, number: int) -> Iterator[str]:
    yield heading(2, _title(slide) or f"Slide {number}")
    title = slide.shapes.title
    shapes = [one for one in _shapes(slide.shapes) if title is None or one.shape_id != title.shape_id]
    for shape in sorted(shapes, key=lambda one: (one.top or 0, one.left or 0)):
        if shape.has_text_frame:
            yield "\n".join(one.text for one in shape.text_frame.paragraphs if one.text.strip())
        elif getattr(shape, "has_table", False):
            yield "\n".join(table_lines([cell.text for cell in row.cells] for row in shape.table.rows))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield slide.notes_slide.notes_text_frame.text


def _shapes(shapes: Iterable[BaseShape]) -> Iterator[BaseShape]:
    """All shapes, those in groups too."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _title(slide: Slide) -> str:
    return slide.shapes.title.text if slide.shapes.title is not None else ""
