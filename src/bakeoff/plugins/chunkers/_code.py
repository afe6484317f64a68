"""Splits source code into blocks: the definitions of a syntax tree, small ones joined, every character kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tree_sitter import Node

from bakeoff.corpus.grammars import GrammarPart, LoadedGrammar
from bakeoff.corpus.grammars.names import name_of, symbol_of
from bakeoff.corpus.grammars.parsing import parse, to_characters
from bakeoff.plugins.chunkers._context import CodeDefinition, Path

# as module names: reading an enum member costs as much as reading a node
_SCOPE, _WRAPPER, _OPEN, _LEADING = (
    GrammarPart.SCOPE,
    GrammarPart.WRAPPER,
    GrammarPart.OPEN,
    GrammarPart.LEADING,
)
_DEPTH = 40  # nested scopes looked into; deeper ones stay whole
_INDENT = 200  # bytes of indentation before a definition
_SIGNATURE = 200  # bytes of a definition's first line that are kept
_TINY = 5  # a block below 1/5 of the joining size joins its successor, whatever its length


class CodeBlock(NamedTuple):
    """A span that holds whole definitions, or statements between them, of one scope."""

    start: int
    end: int
    path: Path
    own: Path


_Mark = tuple[int, Path, CodeDefinition | None]
"""Start of a block in bytes, its enclosing scopes, and what it defines; a plain tuple as there are many."""


def blocks(
    text: str, grammar: LoadedGrammar, join_below: int, max_chars: int, signatures: bool = False
) -> list[CodeBlock]:
    """The text's blocks in order, covering the whole text; raises ParseError."""
    data, root = parse(text, grammar)
    walk = _Walk(data, grammar, join_below, signatures)
    walk.visit(root.named_children, (), 0)
    marks = walk.marks or [(0, (), None)]
    starts = to_characters(text, data, [mark[0] for mark in marks])
    return _join(marks, [0, *starts[1:], len(text)], join_below, max_chars)


class _Walk:
    """Walks the upper levels of a tree and records where blocks start; never enters a function."""

    def __init__(self, data: bytes, grammar: LoadedGrammar, small: int, signatures: bool) -> None:
        self.marks: list[_Mark] = []
        self._data = data
        self._parts = grammar.parts
        self._namers = grammar.namers
        self._small = small
        self._signatures = signatures

    def visit(self, nodes: Sequence[Node], path: Path, depth: int) -> None:
        """Record the blocks among siblings; comments stay with the definition right below them."""
        parts, leading, last = self._parts, -1, 0
        for node in nodes:
            part = parts.get(node.kind_id)
            start = node.start_byte
            if leading >= 0 and self._data.count(b"\n", last, start) > 1:
                self._filler(leading, path)
                leading = -1
            if part is _LEADING:
                if leading < 0 and self._line_start(start) is not None:
                    leading = start
                last = node.end_byte
                continue
            self._item(node, part, leading if leading >= 0 else start, path, depth)
            leading = -1
        if leading >= 0:
            self._filler(leading, path)

    def _item(self, node: Node, part: GrammarPart | None, start: int, path: Path, depth: int) -> None:
        """Record one sibling other than a comment."""
        if part is None or depth > _DEPTH:
            self._filler(start, path)
        elif part is _OPEN:
            self._filler(start, path)
            self.visit(node.named_children, path, depth + 1)
        else:
            inner, names = self._unwrap(node, part)
            if inner is None:
                self._filler(start, path)
            else:
                self._define(inner, names, start, path, depth)

    def _unwrap(self, node: Node, part: GrammarPart) -> tuple[Node | None, Node]:
        """The definition inside wrappers, and the node with its name."""
        names = node
        while part is _WRAPPER:
            for child in node.named_children:
                found = self._parts.get(child.kind_id)
                if found is not None and found <= _WRAPPER:
                    names, node, part = node, child, found
                    break
            else:
                return None, names
        return node, names

    def _define(self, node: Node, names: Node, start: int, path: Path, depth: int) -> None:
        definition = self._definition(node, names)
        if self._parts[node.kind_id] is _SCOPE and node.end_byte - node.start_byte > self._small:
            inside = (*path, definition)
            self._mark(start, inside, None)
            self.visit(node.named_children, inside, depth + 1)
        else:
            self._mark(start, path, definition)

    def _definition(self, node: Node, names: Node) -> CodeDefinition:
        data, (word, namer) = self._data, self._namers[node.kind_id]
        name = namer(node, data) or (name_of(names, data) if names is not node else "")
        signature = self._first_line(node) if self._signatures else ""
        return CodeDefinition(f"{word} {name}" if name else word, symbol_of(name, word), signature)

    def _first_line(self, node: Node) -> str:
        head = self._data[node.start_byte : min(node.start_byte + _SIGNATURE, node.end_byte)]
        return head.partition(b"\n")[0].decode("utf-8", "ignore").strip()

    def _filler(self, start: int, path: Path) -> None:
        if self.marks:
            _, around, own = self.marks[-1]
            if own is None and around is path:
                return
        self._mark(start, path, None)

    def _mark(self, start: int, path: Path, own: CodeDefinition | None) -> None:
        line = self._line_start(start)
        start = start if line is None else line
        marks = self.marks
        while marks and marks[-1][0] >= start:
            marks.pop()
        marks.append((start, path, own))

    def _line_start(self, start: int) -> int | None:
        """First byte of the line if only whitespace precedes `start` on it."""
        line = self._data.rfind(b"\n", max(0, start - _INDENT), start) + 1
        if line == 0 and start > _INDENT:
            return None
        return line if line == start or self._data[line:start].isspace() else None


def _join(marks: Sequence[_Mark], starts: Sequence[int], below: int, max_chars: int) -> list[CodeBlock]:
    """Join neighbouring blocks of one scope up to `below` characters; a tiny one joins its successor."""
    found: list[CodeBlock] = []
    first, last = 0, len(marks) - 1
    for number, mark in enumerate(marks):
        if number < last and mark[1] is marks[number + 1][1]:
            closing = number + 1 == last or marks[number + 2][1] is not mark[1]
            size, following = starts[number + 1] - starts[first], starts[number + 2] - starts[number + 1]
            if _goes_on(size, following, closing, below, max_chars):
                continue
        own = tuple([mark[2] for mark in marks[first : number + 1] if mark[2]])
        found.append(CodeBlock(starts[first], starts[number + 1], mark[1], own))
        first = number + 1
    return found


def _goes_on(size: int, following: int, closing: bool, below: int, max_chars: int) -> bool:
    """Whether a block absorbs its successor, which is the last of its scope if `closing`."""
    if size + following <= below:
        return True
    tiny = below // _TINY
    return size + following <= max_chars and (size < tiny or (closing and following < tiny))
