"""Definitions in source files, by dotted name: their characters, including decorators."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from bakeoff.corpus.document_kinds import KIND_OF_SUFFIX
from bakeoff.corpus.grammars import GRAMMARS
from bakeoff.errors import TruthError
from bakeoff.truth.corpus import line_starts
from bakeoff.truth.treesitter_symbols import Definitions, parse_definitions

_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def definitions(text: str, kind: str, document: str) -> Definitions:
    """The definitions of a document; a kind without a parser is an error that suggests alternatives."""
    language = kind if kind in GRAMMARS else KIND_OF_SUFFIX.get(document.rsplit(".", 1)[-1].lower(), "")
    if language == "python":
        return python(text, document)
    if language in GRAMMARS:
        return parse_definitions(text, language, document)
    supported = ", ".join(GRAMMARS)
    raise TruthError(
        f'symbols are found in {supported} files; "{document}" is {kind}. Use lines or passage for it.'
    )


def python(text: str, document: str) -> Definitions:
    """Classes, functions, methods and assigned names of a Python file."""
    try:
        tree = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:  # the last two: too deeply nested
        raise TruthError(
            f'"{document}" is not valid Python ({exc}), so it has no symbols. Use lines or passage.'
        ) from exc
    place = _Places(text)
    spans_by_name: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, node in _walk(tree.body, ""):
        spans_by_name[name].append(place.of(node))
    return spans_by_name


def _walk(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, _DEFINING):
            yield prefix + node.name, node
            yield from _walk(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((prefix + target.id, node) for target in targets if isinstance(target, ast.Name))
        else:
            for inner in _bodies(node):
                yield from _walk(inner, prefix)


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Statement lists inside if, try, with, for and match, where definitions may occur."""
    for key in ("body", "orelse", "finalbody"):
        yield getattr(node, key, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


class _Places:
    """Character positions from ast's lines and columns, which count UTF-8 bytes (F45)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = line_starts(text)
        if text.startswith("\ufeff"):
            self.starts[0] = 1

    def of(self, node: ast.stmt) -> tuple[int, int]:
        """Start of a statement, at its first decorator if it has one, and its end."""
        first: ast.stmt | ast.expr = node
        decorators = getattr(node, "decorator_list", ())
        if decorators:
            first = min(decorators, key=lambda item: (item.lineno, item.col_offset))
        start = self.at(first.lineno, first.col_offset)
        if decorators:
            start = self.text.rindex("@", 0, start)
        return start, self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def at(self, line: int, column: int) -> int:
        """Character at a line from 1 and a column in bytes."""
        start = self.starts[line - 1]
        # a character takes at most four bytes, so `column` characters hold at least `column` bytes
        prefix = self.text[start : start + column].encode("utf-8", "surrogatepass")[:column]
        return start + len(prefix.decode("utf-8", "surrogatepass"))
