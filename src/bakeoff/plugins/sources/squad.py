"""The paragraphs of a file in SQuAD's format, each a document; its article is the title and a field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import CorpusError, DataError
from bakeoff.fingerprint import file_fingerprint
from bakeoff.types import DocumentBatch

BATCH_ROWS = 8_192


class SquadParams(BaseModel):
    """Which file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    squad: Path = Field(description="a JSON file with data, paragraphs and context")


class SquadSource:
    """Reads the paragraphs; `Oxygen#3` is the third of the article Oxygen."""

    version: ClassVar[str] = "1"
    Params = SquadParams

    def __init__(self, params: SquadParams) -> None:
        self._path = params.squad
        if not self._path.is_file():
            raise CorpusError(f"{self._path} does not exist: give the JSON file in SQuAD's format")

    def content_version(self) -> str:
        """Fingerprint of the file."""
        return file_fingerprint(self._path)

    def count_rows(self) -> int | None:
        """None: unknown before the file is parsed."""
        return None

    def batches(self) -> Iterator[DocumentBatch]:
        """Yield the paragraphs in file order."""
        rows = self._paragraphs()
        while some := list(islice(rows, BATCH_ROWS)):
            ids, titles, texts = (pa.array(column, pa.large_string()) for column in zip(*some, strict=True))
            yield DocumentBatch(ids=ids, titles=titles, texts=texts, fields={"article": titles})

    def _paragraphs(self) -> Iterator[tuple[str, str, str]]:
        try:
            articles = json.loads(self._path.read_text(encoding="utf-8-sig"))["data"]
            for i, article in enumerate(articles, 1):
                title = str(article.get("title") or f"article {i}")
                for n, paragraph in enumerate(article["paragraphs"], 1):
                    yield f"{title}#{n}", title, str(paragraph["context"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
            raise DataError(
                f"{self._path} is not in SQuAD's format ({type(exc).__name__}: {exc}): "
                "it has data, a list of articles with paragraphs, each with a context"
            ) from exc
