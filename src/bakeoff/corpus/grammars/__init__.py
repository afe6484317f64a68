"""What a definition looks like in each language with a tree-sitter grammar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING

from bakeoff.corpus.grammars.names import Namer, namer

if TYPE_CHECKING:
    from tree_sitter import Language


class GrammarPart(IntEnum):
    """The role of a syntax node in finding definitions."""

    SCOPE = 1  # has members that are separate chunks
    LEAF = 2  # is kept whole
    WRAPPER = 3  # wraps one definition: decorator, export, template
    OPEN = 4  # may hold definitions but has no name: a body, an #ifdef
    LEADING = 5  # belongs to the definition that follows: comment, attribute


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language: its wheel, and the relevant node types with their words for a breadcrumb."""

    package: str
    scopes: Mapping[str, str]
    leaves: Mapping[str, str]
    wrappers: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset({"comment"})
    entry: str = "language"
    comment: str = "//"


@dataclass(frozen=True, slots=True)
class LoadedGrammar:
    """A loaded grammar: the role of each node type, and how definitions are named."""

    kind: str
    language: Language
    parts: Mapping[int, GrammarPart]
    namers: Mapping[int, tuple[str, Namer]]


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_JS_LEAVES = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "method_definition": "method",
    "arrow_function": "function",
    "function_expression": "function",
}
_TS_LEAVES = _JS_LEAVES | {
    "function_signature": "function",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
}
_TS_SCOPES = {
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "class": "class",
    "internal_module": "namespace",
    "module": "module",
}
_JS_WRAPPERS = _set(
    "export_statement lexical_declaration variable_declaration variable_declarator"
    " expression_statement assignment_expression"
)
_C_LEAVES = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
    "type_definition": "typedef",
}
_C_OPEN = _set(
    "preproc_if preproc_ifdef preproc_else preproc_elif preproc_elifdef"
    " linkage_specification declaration_list"
)

GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        "python": Grammar(
            "tree_sitter_python",
            {"class_definition": "class"},
            {"function_definition": "def"},
            _set("decorated_definition"),
            _set(
                "block if_statement else_clause elif_clause"
                " try_statement except_clause finally_clause with_statement"
            ),
            comment="#",
        ),
        "javascript": Grammar(
            "tree_sitter_javascript",
            {"class_declaration": "class", "class": "class"},
            _JS_LEAVES,
            _JS_WRAPPERS,
            _set("class_body"),
        ),
        "typescript": Grammar(
            "tree_sitter_typescript",
            _TS_SCOPES,
            _TS_LEAVES,
            _JS_WRAPPERS | {"ambient_declaration"},
            _set("class_body statement_block"),
            entry="language_typescript",
        ),
        "tsx": Grammar(
            "tree_sitter_typescript",
            _TS_SCOPES,
            _TS_LEAVES,
            _JS_WRAPPERS | {"ambient_declaration"},
            _set("class_body statement_block"),
            entry="language_tsx",
        ),
        "go": Grammar(
            "tree_sitter_go",
            {},
            {"function_declaration": "func", "method_declaration": "func", "type_declaration": "type"},
        ),
        "rust": Grammar(
            "tree_sitter_rust",
            {"impl_item": "impl", "trait_item": "trait", "mod_item": "mod"},
            {
                "function_item": "fn",
                "function_signature_item": "fn",
                "struct_item": "struct",
                "enum_item": "enum",
                "union_item": "union",
                "macro_definition": "macro",
            },
            open=_set("declaration_list foreign_mod_item"),
            leading=_set("line_comment block_comment attribute_item"),
        ),
        "java": Grammar(
            "tree_sitter_java",
            {
                "class_declaration": "class",
                "interface_declaration": "interface",
                "enum_declaration": "enum",
                "record_declaration": "record",
            },
            {
                "method_declaration": "method",
                "constructor_declaration": "constructor",
                "compact_constructor_declaration": "constructor",
                "annotation_type_declaration": "annotation",
            },
            open=_set("class_body interface_body enum_body enum_body_declarations"),
            leading=_set("line_comment block_comment"),
        ),
        "c": Grammar("tree_sitter_c", {}, _C_LEAVES, open=_C_OPEN),
        "cpp": Grammar(
            "tree_sitter_cpp",
            {"class_specifier": "class", "struct_specifier": "struct", "namespace_definition": "namespace"},
            {word: name for word, name in _C_LEAVES.items() if word != "struct_specifier"},
            _set("template_declaration"),
            _C_OPEN | {"field_declaration_list"},
        ),
        "ruby": Grammar(
            "tree_sitter_ruby",
            {"class": "class", "module": "module"},
            {"method": "def", "singleton_method": "def"},
            open=_set("body_statement singleton_class"),
            comment="#",
        ),
        "sql": Grammar(
            "tree_sitter_sql",
            {},
            {
                "create_table": "table",
                "create_view": "view",
                "create_materialized_view": "view",
                "create_function": "function",
                "create_procedure": "procedure",
                "create_trigger": "trigger",
                "create_index": "index",
                "create_type": "type",
                "create_schema": "schema",
            },
            _set("statement"),
            leading=_set("comment marginalia"),
            comment="--",
        ),
    }
)
"""Grammars by document kind."""


def grammar_versions() -> str:
    """The parser and installed grammars with their versions: another set splits the same text differently."""
    names = ["tree_sitter", *sorted({grammar.package for grammar in GRAMMARS.values()})]
    return ", ".join(f"{name.replace('_', '-')} {_version(name)}" for name in names)


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


@cache
def load(kind: str) -> LoadedGrammar:
    """The grammar of a kind; raises ImportError if its wheel is not installed."""
    from tree_sitter import Language

    grammar = GRAMMARS[kind]
    language = Language(getattr(import_module(grammar.package), grammar.entry)())
    names: dict[str, GrammarPart] = dict.fromkeys(grammar.scopes, GrammarPart.SCOPE) | dict.fromkeys(
        grammar.leaves, GrammarPart.LEAF
    )
    names |= dict.fromkeys(grammar.wrappers, GrammarPart.WRAPPER) | dict.fromkeys(
        grammar.open, GrammarPart.OPEN
    )
    names |= dict.fromkeys(grammar.leading, GrammarPart.LEADING)
    words = {**grammar.scopes, **grammar.leaves}
    parts: dict[int, GrammarPart] = {}
    namers: dict[int, tuple[str, Namer]] = {}
    for number in range(language.node_kind_count):
        name = language.node_kind_for_id(number)
        # keywords ("class") share their name with the node they open, and are not relevant nodes
        if name in names and language.node_kind_is_named(number):
            parts[number] = names[name]
            namers[number] = (words.get(name, ""), namer(name))
    return LoadedGrammar(kind, language, parts, namers)
