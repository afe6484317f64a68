"""encodings: documents whose files are not UTF-8, and the encoding used for each (F65)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.pipeline.read import ReadCorpus

UTF8 = frozenset({"utf-8", "utf-8-sig"})
SHOWN = 3


@dataclass(frozen=True, slots=True)
class OtherEncoding:
    """A document that is not UTF-8; `basis` is how its encoding was chosen: mark, given, declared or guessed."""

    document: str
    encoding: str
    basis: str


def other_encodings(corpus: ReadCorpus) -> list[OtherEncoding]:
    """The documents that are not UTF-8, guesses first."""
    read = ((name, json.loads(fields)) for name, fields in _with_field(corpus, '"encoding"'))
    encodings = [
        OtherEncoding(name, fields["encoding"], fields.get("encoding_basis", ""))
        for name, fields in read
        if fields["encoding"] not in UTF8
    ]
    return sorted(encodings, key=lambda one: one.basis != "guessed")


def documents_with_a_mark(corpus: ReadCorpus) -> set[str]:
    """Ids of documents whose file starts with a byte order mark, which is not part of the text."""
    return {name for name, _ in _with_field(corpus, '"encoding_basis": "mark"')}


def _with_field(corpus: ReadCorpus, written: str) -> list[tuple[str, str]]:
    """The id and the fields of the documents that have this in their fields; few of the rows of a table do."""
    import pyarrow.compute as pc

    documents = corpus.documents.select(["id", "fields"])
    rows = documents.filter(pc.match_substring(documents["fields"], written))
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def encoding_sentence(encodings: Sequence[OtherEncoding]) -> str:
    """Sentence on the files that are not UTF-8, their encodings, and what to do; '' if all are UTF-8."""
    if not encodings:
        return ""
    kinds = Counter((one.encoding, one.basis) for one in encodings)
    counted = ", ".join(f"{count:,} as {name} ({basis})" for (name, basis), count in kinds.most_common())
    named = [f"{one.document} ({one.encoding})" for one in encodings[:SHOWN]]
    more = f" and {len(encodings) - SHOWN:,} more" if len(encodings) > SHOWN else ""
    files = "1 file is" if len(encodings) == 1 else f"{len(encodings):,} files are"
    advice = " If that is wrong, set `encoding:` in the corpus." if encodings[0].basis == "guessed" else ""
    return f"{files} not UTF-8; read {counted}: {', '.join(named)}{more}.{advice}"
