"""The kinds of documents, by file suffix, and which of them are code."""

from __future__ import annotations

from pathlib import PurePosixPath
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
    "text": "txt text tex org",
    "asciidoc": "adoc asciidoc",
    "docx": "docx docm dotx",
    "pptx": "pptx pptm ppsx potx",
    "xlsx": "xlsx xlsm xlsb xls ods",
    "odt": "odt odp",
    "epub": "epub",
    "rtf": "rtf",
    "eml": "eml",
    "mbox": "mbox",
    "ipynb": "ipynb",
    "json": "json jsonl",
    "yaml": "yaml yml",
    "toml": "toml",
    "xml": "xml",
    "ini": "ini cfg conf",
    "csv": "csv tsv",
}

KIND_OF_SUFFIX = MappingProxyType({s: kind for kind, suffixes in _SUFFIXES.items() for s in suffixes.split()})
"""Kind by lower-case file suffix without its dot."""

OFFICE = frozenset({"docx", "pptx", "xlsx", "odt", "epub", "rtf", "eml", "mbox", "ipynb"})
"""Kinds of documents that need their own programs."""

DOCS = frozenset({"markdown", "rst", "asciidoc", "html", "pdf", "text"}) | OFFICE
"""Kinds that are prose."""

DATA = frozenset({"json", "yaml", "toml", "xml", "ini", "csv"})
"""Kinds that are neither prose nor code; a source reads them only on request."""

CODE = frozenset(_SUFFIXES) - DOCS - DATA
"""Kinds that are source code."""

TEXTS = frozenset(_SUFFIXES) - OFFICE - {"html", "pdf"}
"""Kinds whose files are the text itself."""

DEFAULT_INCLUDE = tuple(sorted(f"*.{s}" for s, kind in KIND_OF_SUFFIX.items() if kind not in DATA))
"""Globs of the files read from a folder by default."""

_UNSUPPORTED = {
    "old PowerPoint": "ppt pps",
    "old Word": "doc dot",
    "e-book": "mobi azw3",
    "Pages": "pages",
    "Keynote": "key",
    "Numbers": "numbers",
    "Outlook": "msg pst",
    "OneNote": "one",
    "PostScript": "ps eps",
    "DjVu": "djvu",
}
_WITHOUT_TEXT = {
    "image": "png jpg jpeg gif webp bmp tif tiff ico heic svg psd",
    "archive": "zip tar gz tgz bz2 xz zst 7z rar jar war whl",
    "sound or video": "mp3 wav flac ogg m4a mp4 mov avi mkv webm",
    "font": "ttf otf woff woff2",
    "program": "exe dll so dylib a o obj class pyc pyo pyd wasm bin",
    "database": "db sqlite sqlite3 parquet feather arrow npy npz pkl pt onnx safetensors gguf",
}

UNSUPPORTED = MappingProxyType({s: name for name, found in _UNSUPPORTED.items() for s in found.split()})
"""Document formats that no source reads, by suffix: their text is missing from the corpus."""

WITHOUT_TEXT = MappingProxyType({s: name for name, found in _WITHOUT_TEXT.items() for s in found.split()})
"""Formats without document text, by suffix."""

NOT_INCLUDED = "not named by `include`"
"""Why a file was skipped that could be read as text."""


_FORMATS = {
    "pdf": "PDF",
    "html": "HTML",
    "docx": "Word",
    "pptx": "PowerPoint",
    "xlsx": "Excel",
    "odt": "OpenDocument",
    "epub": "EPUB",
    "rtf": "Rich Text",
    "eml": "e-mail",
    "mbox": "mailbox",
    "ipynb": "notebook",
}


def kind_of(name: str) -> str:
    """Kind of a file by its suffix: a known one, else the suffix itself, else text."""
    suffix = PurePosixPath(name).suffix[1:].lower()
    return KIND_OF_SUFFIX.get(suffix, suffix or "text")


def format_of(name: str) -> str:
    """Short name of a file's format: PowerPoint, image, markdown, or its suffix if unknown."""
    if name.endswith("/"):
        return "folder"
    suffix = PurePosixPath(name).suffix[1:].lower()
    known = UNSUPPORTED.get(suffix) or WITHOUT_TEXT.get(suffix) or KIND_OF_SUFFIX.get(suffix)
    return _FORMATS.get(known or "", known or (f".{suffix}" if suffix else "without an ending"))
