"""Scans by RapidOCR on ONNX Runtime; its weights come with its package."""

from __future__ import annotations

import itertools
from functools import cached_property
from importlib.metadata import version as installed
from typing import ClassVar

import numpy as np
from PIL import Image
from rapidocr_onnxruntime import RapidOCR

from bakeoff.plugins.readers._layout import order_lines
from bakeoff.plugins.readers._scans import SCANNED_KINDS, ScanParams, read_scan
from bakeoff.types import Document, Skipped, SourceFile

BLANK = 0.2
"""Width of an ink-free gap between words, as a share of the line's height."""


class OcrReader:
    """Recognises text in scanned pages and images; pages that contain text are read directly."""

    version: ClassVar[str] = f"1 with rapidocr-onnxruntime {installed('rapidocr-onnxruntime')}"
    kinds: ClassVar[tuple[str, ...]] = SCANNED_KINDS
    Params = ScanParams

    def __init__(self, params: ScanParams) -> None:
        self._params = params

    def read(self, file: SourceFile) -> Document | Skipped:
        """Return the text of all pages."""
        return read_scan(file, self._params, self._recognise)

    @cached_property
    def _engine(self) -> RapidOCR:
        return RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)  # more spin, which costs CPU seconds

    def _recognise(self, picture: Image.Image) -> str:
        """Lines of an image in reading order."""
        pixels = np.asarray(picture)[:, :, ::-1]  # blue, green, red
        corners, _ = self._engine(pixels, use_det=True, use_cls=False, use_rec=False)
        boxes = [_edges(one, pixels) for one in corners or ()]
        words = [_words(pixels[top:bottom, left:right]) for left, top, right, bottom in boxes]
        read = iter(self._engine.text_rec([word for line in words for word in line])[0] if boxes else ())
        texts = [" ".join(text for text, _ in itertools.islice(read, len(line))) for line in words]
        lines = [
            ((left, picture.height - top, right, picture.height - bottom), text)
            for (left, top, right, bottom), text in zip(boxes, texts, strict=True)
        ]
        return "\n".join(order_lines(lines))


def _edges(corners: list[list[float]], pixels: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a line in pixels."""
    across, down = [x for x, _ in corners], [y for _, y in corners]
    height, width = pixels.shape[:2]
    left, top = max(0, int(min(across))), max(0, int(min(down)))
    return (
        left,
        top,
        min(width, max(left + 1, round(max(across)))),
        min(height, max(top + 1, round(max(down)))),
    )


def _words(line: np.ndarray) -> list[np.ndarray]:
    """Split a line into words at gaps without ink: the model was trained on Chinese and joins words of other
    scripts."""
    grey = line.mean(axis=2)
    ink = (grey < (float(grey.min()) + float(grey.max())) / 2).any(axis=0)
    inked = np.flatnonzero(ink)
    if not len(inked):
        return [line]
    wide = np.flatnonzero(np.diff(inked) > BLANK * line.shape[0])
    starts = [inked[0], *inked[wide + 1]]
    ends = [*inked[wide], inked[-1]]
    rim = max(1, line.shape[0] // 8)
    return [line[:, max(0, start - rim) : end + rim + 1] for start, end in zip(starts, ends, strict=True)]
