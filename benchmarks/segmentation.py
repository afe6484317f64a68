"""Speed of splitting texts into words and tokens, against regular expressions that only suit Latin script.

Figures are millions of characters per second of CPU time on one core, the best of several passes that take turns: this
Python's own json, http and asyncio packages, and XQuAD's paragraphs where ../shared/data has them.
Run with: python benchmarks/segmentation.py
"""

from __future__ import annotations

import asyncio
import http
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bakeoff.corpus.segmentation import count_tokens, sentences, words
from common import Row, show

REPEATS = 9
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "xquad"
LANGUAGES = {"de": "German", "ru": "Russian", "ar": "Arabic", "hi": "Hindi", "th": "Thai", "zh": "Chinese"}
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])[」』”]*\s*|\r?\n[ \t]*\r?\n\s*")


def main() -> int:
    """Measure everything and print the rows."""
    return show(row for name, texts in _corpora() for row in _rows(name, texts))


def _rows(name: str, texts: list[str]) -> Iterator[Row]:
    works: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
        "words": (words, _WORD.findall),
        "tokens": (count_tokens, _TOKEN.findall),
        "sentences": (lambda text: list(sentences(text)), lambda text: list(_SENTENCE.finditer(text))),
    }
    size = sum(map(len, texts)) / 1e6
    target = ">= 0.5" if all(text.isascii() for text in texts) else ""
    for what, pair in works.items():
        ours, peer = _best(pair, texts)
        yield Row(f"{what} of {name}, M characters/s", size / ours, size / peer, target)


def _best(pair: tuple[Callable[[str], object], ...], texts: list[str]) -> list[float]:
    """CPU seconds of each work over all texts, the best of the passes."""
    best = [float("inf")] * len(pair)
    for _ in range(REPEATS):
        for number, work in enumerate(pair):
            started = time.process_time()
            for text in texts:
                work(text)
            best[number] = min(best[number], time.process_time() - started)
    return best


def _corpora() -> Iterator[tuple[str, list[str]]]:
    folders = [Path(module.__file__).parent for module in (json, http, asyncio) if module.__file__]
    files = [path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.glob("*.py"))]
    yield "ASCII source text", [text for text in files if text.isascii()]
    for code, name in LANGUAGES.items():
        path = DATA / f"xquad.{code}.json"
        if path.is_file():
            articles = json.loads(path.read_text(encoding="utf-8"))["data"]
            yield name, [part["context"] for article in articles for part in article["paragraphs"]]


if __name__ == "__main__":
    sys.exit(main())
