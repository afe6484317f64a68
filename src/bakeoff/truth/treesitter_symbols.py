"""Definitions in files that tree-sitter parses, by the dotted names the semantic chunker uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bakeoff.corpus.grammars import GRAMMARS, GrammarPart, LoadedGrammar, load
from bakeoff.corpus.grammars.names import name_of, symbol_of
from bakeoff.corpus.grammars.parsing import ParseError, parse, to_characters
from bakeoff.errors import TruthError

if TYPE_CHECKING:
    from tree_sitter import Node

Definitions = Mapping[str, list[tuple[int, int]]]
"""Dotted name → (start, end) in characters of each definition with that name."""

_DEPTH = 40
"""Most nested scopes to enter."""
_MARKS = frozenset({"attribute_item", "decorator"})
"""Siblings that belong to the following definition, for example decorators in Python."""
_Span = tuple[int, int]
"""First byte of a definition and the byte after its last."""
_Found = tuple[str, _Span]


def parse_definitions(text: str, language: str, document: str) -> Definitions:
    """Types, functions and methods of a file, each with its export, template or attributes."""
    try:
        grammar = load(language)
    except ImportError as exc:
        package = GRAMMARS[language].package.replace("_", "-")
        raise TruthError(
            f"symbols of {language} files (\"{document}\") need {package}: pip install 'bakeoff[semantic]'"
        ) from exc
    try:
        data, root = parse(text, grammar)
    except ParseError as exc:
        raise TruthError(
            f'"{document}" does not parse as {language} ({exc}), so it has no symbols. Use lines or passage.'
        ) from exc
    return _in_characters(text, data, list(_Walk(data, grammar).visit(root.named_children, "", 0)))


def _in_characters(text: str, data: bytes, symbols: Sequence[_Found]) -> Definitions:
    places = sorted({place for _, span in symbols for place in span})
    characters = dict(zip(places, to_characters(text, data, places), strict=True))
    by_name: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, (start, end) in symbols:
        by_name[name].append((characters[start], characters[end]))
    return by_name


class _Walk:
    """Walks all scopes of a tree; never enters a function."""

    def __init__(self, data: bytes, grammar: LoadedGrammar) -> None:
        self._data = data
        self._grammar = grammar

    def visit(self, nodes: Sequence[Node], scope: str, depth: int) -> Iterator[_Found]:
        """What siblings define in a scope with this dotted name."""
        if depth > _DEPTH:
            return
        marked: int | None = None
        for node in nodes:
            if node.type in _MARKS:
                marked = node.start_byte if marked is None else marked
                continue
            part = self._grammar.parts.get(node.kind_id)
            if part is GrammarPart.LEADING:
                continue
            start = node.start_byte if marked is None else marked
            marked = None
            if part is GrammarPart.OPEN:
                yield from self.visit(node.named_children, scope, depth + 1)
            elif part is not None:
                yield from self._item(node, node, (start, node.end_byte), scope, depth)

    def _item(self, node: Node, around: Node, span: _Span, scope: str, depth: int) -> Iterator[_Found]:
        """The definitions of one sibling: a single one takes the span, several in one wrapper take their own."""
        if self._grammar.parts[node.kind_id] is GrammarPart.WRAPPER:
            inner = [child for child in node.named_children if self._defines(child)]
            for child in inner:
                own = span if len(inner) == 1 else (child.start_byte, child.end_byte)
                yield from self._item(child, node, own, scope, depth)
        elif node.type == "type_declaration" and len(node.named_children) > 1:
            yield from self._group(node, scope)
        elif not _is_only_named(node):
            yield from self._definition(node, around, span, scope, depth)

    def _defines(self, node: Node) -> bool:
        part = self._grammar.parts.get(node.kind_id)
        return part is not None and part <= GrammarPart.WRAPPER

    def _definition(self, node: Node, around: Node, span: _Span, scope: str, depth: int) -> Iterator[_Found]:
        """One definition, which a wrapper may name, and those inside it."""
        word, namer = self._grammar.namers[node.kind_id]
        name = namer(node, self._data) or (name_of(around, self._data) if around is not node else "")
        dotted = _dotted_name(scope, symbol_of(name, word))
        if dotted != scope:
            yield dotted, span
        if self._grammar.parts[node.kind_id] is GrammarPart.SCOPE:
            yield from self.visit(node.named_children, dotted, depth + 1)

    def _group(self, node: Node, scope: str) -> Iterator[_Found]:
        """Go's types in one pair of parentheses, each separately."""
        for spec in node.named_children:
            if name := name_of(spec, self._data):
                yield _dotted_name(scope, name), (spec.start_byte, spec.end_byte)


def _dotted_name(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope and name else scope or name


def _is_only_named(node: Node) -> bool:
    """Whether a C or C++ type is declared without a body, to be defined elsewhere."""
    return node.type.endswith("_specifier") and node.child_by_field_name("body") is None
