"""Scans with Tesseract, if it is installed on this machine."""

from __future__ import annotations

import shutil
import subprocess
from io import BytesIO
from typing import ClassVar

from PIL import Image
from pydantic import Field

from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.readers._scans import SCANNED_KINDS, ScanParams, read_scan
from bakeoff.types import Document, Skipped, SourceFile


class TesseractReader:
    """Recognises text in scanned pages and images; pages that contain text are read directly."""

    version: ClassVar[str] = "1"
    kinds: ClassVar[tuple[str, ...]] = SCANNED_KINDS

    class Params(ScanParams):
        """Parameters of Tesseract."""

        language: str = Field(
            "eng", pattern=r"[A-Za-z_+]{3,40}", description="installed languages, as in eng+deu"
        )

    def __init__(self, params: Params) -> None:
        self._params = params

    def read(self, file: SourceFile) -> Document | Skipped:
        """Return the text of all pages."""
        return read_scan(file, self._params, self._recognise)

    def _recognise(self, picture: Image.Image) -> str:
        program = shutil.which("tesseract")
        if program is None:
            raise UnreadableFileError("tesseract is not installed: apt install tesseract-ocr, or use ocr")
        data = BytesIO()
        picture.save(data, "PNG")
        command = [program, "-", "-", "-l", self._params.language, "--dpi", str(self._params.dpi)]
        done = subprocess.run(command, input=data.getvalue(), capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
            raise UnreadableFileError(f"tesseract failed: {said}")
        return done.stdout.decode("utf-8", "replace").strip()
