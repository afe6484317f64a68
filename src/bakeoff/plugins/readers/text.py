"""Text, code and text-based markup: decoded, with newlines unchanged."""

from __future__ import annotations

import re
from typing import ClassVar

import chardet

from bakeoff.corpus.document_kinds import TEXTS, kind_of
from bakeoff.corpus.headings import headings
from bakeoff.plugins._titles import title_of
from bakeoff.plugins.kit.reading import NoReaderParams
from bakeoff.plugins.readers._decoding import Decoded, decode, is_binary
from bakeoff.types import Document, Skipped, SourceFile

_CPP = re.compile(r"^\s*(?:class|namespace|template)\b", re.MULTILINE)
_RST = re.compile(
    r"^\.\. [\w-]+::|^\.\. _[^:\n]+:|:[a-z]+:`[^`\n]+`|::[ \t]*\r?\n[ \t]*\r?\n[ \t]+\S", re.MULTILINE
)
_ASCIIDOC = re.compile(
    r"^\[[\w,= \"%.-]+\][ \t]*\r?$|^:[a-z][\w-]*:(?: |$)|^(?:NOTE|TIP|WARNING): ", re.MULTILINE
)
_HEAD = 100_000  # characters in which signs of a markup are looked for


class TextReader:
    """Reads text in any encoding; plain text that looks like reStructuredText or AsciiDoc is read as such."""

    version: ClassVar[str] = f"1 with chardet {chardet.__version__}"
    kinds: ClassVar[tuple[str, ...]] = tuple(sorted(TEXTS))
    packed: ClassVar[bool] = False
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """Return the decoded text, or why there is none."""
        found = decode_file(file)
        if isinstance(found, Skipped):
            return found
        if not found.text.strip():
            return Skipped(file.id, "empty: no text in it", has_text=False)
        kind = _kind(file.id, found.text)
        return Document(file.id, found.text, kind, title_of(found.text, kind), encoding_fields(found))


def decode_file(file: SourceFile) -> Decoded | Skipped:
    """Text of a file, or why it can't be read."""
    if is_binary(file.data, file.encoding):
        return Skipped(file.id, "binary: it holds zero bytes")
    found = decode(file.data, file.encoding)
    if found is not None:
        return found
    given = file.encoding
    wrong = f"neither UTF-8 nor {given}: correct `encoding`" if given else "unknown encoding: give `encoding`"
    return Skipped(file.id, f"{wrong} or save it as UTF-8")


def encoding_fields(found: Decoded) -> dict[str, str]:
    """Document fields: the encoding and how it was chosen, if it is not UTF-8."""
    basis = {} if found.basis == "utf-8" else {"encoding_basis": found.basis}
    return {"encoding": found.encoding, **basis}


def _kind(name: str, text: str) -> str:
    """Kind by file name, corrected by content if the name says little."""
    kind = kind_of(name)
    if kind not in TEXTS:
        return "text"
    if kind == "c" and name.lower().endswith(".h") and _CPP.search(text):
        return "cpp"
    return _markup(text[:_HEAD]) if kind == "text" and name.lower().endswith((".txt", ".text")) else kind


def _markup(text: str) -> str:
    """Markup of a plain text: its headings and at least one other sign must be present."""
    if _RST.search(text) and len(headings(text, "rst")) > 1:
        return "rst"
    if _ASCIIDOC.search(text) and len(headings(text, "asciidoc")) > 1:
        return "asciidoc"
    return "text"
