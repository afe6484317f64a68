"""Jupyter notebooks: Markdown cells unchanged, code cells fenced, outputs only on request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from bakeoff.plugins.kit.reading import make_document, report_damage
from bakeoff.types import Document, Skipped, SourceFile


class IpynbReader:
    """Reads the cells of a notebook in order."""

    version: ClassVar[str] = "1"
    kinds: ClassVar[tuple[str, ...]] = ("ipynb",)

    class Params(BaseModel):
        """Parameters of the notebook reader."""

        model_config = ConfigDict(extra="forbid", frozen=True)

        outputs: bool = Field(False, description="also read the text output of code cells")

    def __init__(self, params: Params) -> None:
        self._params = params

    def read(self, file: SourceFile) -> Document | Skipped:
        """The cells as one Markdown text."""
        with report_damage("notebook"):
            found = json.loads(file.data)
            cells = found["cells"] if "cells" in found else found["worksheets"][0]["cells"]
            language = str(found.get("metadata", {}).get("kernelspec", {}).get("language", "python"))
            blocks = [block for cell in cells for block in self._cell(cell, language)]
            return make_document(file, blocks)

    def _cell(self, cell: dict[str, Any], language: str) -> Iterator[str]:
        source = _join_lines(cell.get("source", cell.get("input", "")))
        if cell.get("cell_type") != "code":
            yield source
            return
        if source.strip():
            yield f"```{language}\n{source.strip()}\n```"
        if self._params.outputs:
            yield from (_output(one) for one in cell.get("outputs", []))


def _output(found: dict[str, Any]) -> str:
    text = _join_lines(found.get("text", found.get("data", {}).get("text/plain", "")))
    return f"```\n{text.strip()}\n```" if text.strip() else ""


def _join_lines(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
