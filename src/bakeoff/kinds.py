"""The kinds a document can have, by file suffix, and which of them are code."""

from __future__ import annotations

from types import MappingProxyType

_SUFFIXES = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp hxx ipp",
    "ruby": "rb rake",
    "sql": "sql ddl",
    "shell": "sh bash zsh",
    "csharp": "cs",
    "kotlin": "kt kts",
    "swift": "swift",
    "php": "php",
    "scala": "scala",
    "lua": "lua",
    "perl": "pl pm",
    "r": "r",
    "proto": "proto",
    "css": "css scss",
    "markdown": "md markdown mdx",
    "rst": "rst",
    "html": "html htm xhtml",
    "pdf": "pdf",
    "text": "txt text adoc tex org",
    "json": "json jsonl",
    "yaml": "yaml yml",
    "toml": "toml",
    "xml": "xml",
    "ini": "ini cfg conf",
    "csv": "csv tsv",
}

KIND_OF_SUFFIX = MappingProxyType({s: kind for kind, suffixes in _SUFFIXES.items() for s in suffixes.split()})
"""Kind by lower-case file suffix without its dot."""

DOCS = frozenset({"markdown", "rst", "html", "pdf", "text"})
"""Kinds that are prose."""

DATA = frozenset({"json", "yaml", "toml", "xml", "ini", "csv"})
"""Kinds that are neither prose nor code; a source reads them only where asked to."""

CODE = frozenset(_SUFFIXES) - DOCS - DATA
"""Kinds that are program text."""

DEFAULT_INCLUDE = tuple(sorted(f"*.{s}" for s, kind in KIND_OF_SUFFIX.items() if kind not in DATA))
"""Globs of the files a folder is read for unless told otherwise."""
