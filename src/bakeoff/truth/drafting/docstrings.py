"""Python docstrings → queries answered by the function, method or class they describe."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator

from bakeoff.corpus.segmentation import sentences, word_spans
from bakeoff.truth.drafting.draft import QueryDraft
from bakeoff.truth.leaked_sentences import LEAK
from bakeoff.truth.spans import passages

FEWEST_WORDS, MOST_WORDS = 5, 30
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s+[A-Z(`*]|$)", re.DOTALL)
"""For ASCII text, where an abbreviation is followed by a lower-case letter."""
_MARKUP = re.compile(r":[a-z:]+:(?=`)|`+")
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def from_docstrings(document: str, text: str) -> Iterator[QueryDraft]:
    """One draft per public definition whose docstring starts with a suitable sentence."""
    try:
        tree = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: too deeply nested
        return
    definitions = list(_public_definitions(tree.body, ""))
    names = Counter(name for name, _ in definitions)
    for name, node in definitions:
        sentence = first_sentence(ast.get_docstring(node, clean=False) or "")
        if names[name] == 1 and sentence and len(passages(text, sentence)) == 1:
            yield QueryDraft(
                text=_MARKUP.sub("", sentence).rstrip("."),
                category="docstring",
                difficulty="easy",
                truth={"symbol": f"{document}::{name}"},
                document=document,
                tags={LEAK: sentence},
            )


def first_sentence(docstring: str) -> str:
    """The first sentence on one line, or '' if it is too short or too long for a question."""
    paragraph = inspect.cleandoc(docstring).split("\n\n", 1)[0].strip()
    if re.match(r"\w+\(.*?\)\s*(->|--)", paragraph) or ">>>" in paragraph:
        return ""
    sentence = " ".join(_first(paragraph).split())
    count = len(sentence.split()) if sentence.isascii() else len(word_spans(sentence))
    return sentence if FEWEST_WORDS <= count <= MOST_WORDS else ""


def _first(paragraph: str) -> str:
    if not paragraph.isascii():
        return next((paragraph[start:end] for start, end in sentences(paragraph)), "")
    match = _SENTENCE.match(paragraph)
    return match[1] if match else paragraph


def _public_definitions(
    body: list[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Public definitions with their dotted names; those inside functions are not addressable."""
    for node in body:
        if not isinstance(node, _DEFINING) or node.name.startswith("_"):
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _public_definitions(node.body, f"{prefix}{node.name}.")
