"""The name of a definition, from its syntax node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_FIELDS = ("name", "left", "property")
_MAX = 120


Namer = Callable[["Node", bytes], str]


def namer(kind: str) -> Namer:
    """The function that names nodes of a type."""
    return _SPECIAL.get(kind, _plain)


def name_of(node: Node, data: bytes) -> str:
    """Name of a definition in its own language, or ''."""
    return namer(node.type)(node, data)


def _plain(node: Node, data: bytes) -> str:
    for name in _FIELDS:
        if (child := node.child_by_field_name(name)) is not None:
            return _text(child, data)
    return ""


def symbol_of(name: str, word: str) -> str:
    """A name as one part of a dotted symbol: without generics, trait or receiver star."""
    if name.isidentifier():
        return name
    if word == "impl":
        name = name.rpartition(" for ")[2]
    return name.partition("<")[0].replace("::", ".").replace("*", "").strip().strip("\"'")


def _text(node: Node, data: bytes) -> str:
    text = data[node.start_byte : node.end_byte].decode("utf-8", "replace")
    return text if text.isidentifier() else " ".join(text.split())[:_MAX]


def _impl(node: Node, data: bytes) -> str:
    kind, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
    name = _text(kind, data) if kind is not None else ""
    return f"{_text(trait, data)} for {name}" if trait is not None else name


def _go_method(node: Node, data: bytes) -> str:
    receiver, name = node.child_by_field_name("receiver"), node.child_by_field_name("name")
    owner = _text(receiver, data).strip("()").split("[")[0].split() if receiver is not None else []
    own = _text(name, data) if name is not None else ""
    return f"{owner[-1].lstrip('*')}.{own}" if owner else own


def _go_types(node: Node, data: bytes) -> str:
    names = (spec.child_by_field_name("name") for spec in node.named_children)
    return ", ".join(_text(name, data) for name in names if name is not None)[:_MAX]


def _declarator(node: Node, data: bytes) -> str:
    """The identifier within C's nested declarators: `*f(int)` is named f."""
    inner: Node | None = node.child_by_field_name("declarator")
    while inner is not None:
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type in {"parenthesized_declarator", "reference_declarator"}:
            deeper = inner.named_children[-1] if inner.named_children else None
        if deeper is None:
            return _text(inner, data)
        inner = deeper
    return ""


def _sql(node: Node, data: bytes) -> str:
    for child in node.named_children:
        if child.type in {"object_reference", "identifier"}:
            return _text(child, data)
    return ""


def _ruby_singleton(node: Node, data: bytes) -> str:
    owner, name = node.child_by_field_name("object"), node.child_by_field_name("name")
    own = _text(name, data) if name is not None else ""
    return own if owner is None or owner.type == "self" else f"{_text(owner, data)}.{own}"


def _named_or_declared(node: Node, data: bytes) -> str:
    """Python's function has a name, C's has a declarator."""
    name = node.child_by_field_name("name")
    return _text(name, data) if name is not None else _declarator(node, data)


_SPECIAL: Mapping[str, Namer] = {
    "impl_item": _impl,
    "method_declaration": _go_method,
    "type_declaration": _go_types,
    "function_definition": _named_or_declared,
    "type_definition": _declarator,
    "singleton_method": _ruby_singleton,
    "create_table": _sql,
    "create_view": _sql,
    "create_materialized_view": _sql,
    "create_function": _sql,
    "create_procedure": _sql,
    "create_trigger": _sql,
    "create_index": _sql,
    "create_type": _sql,
    "create_schema": _sql,
}
