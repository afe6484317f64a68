"""Writes an import as a query file: the same bytes for the same source, verified by reading it back."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import yaml

from bakeoff.config.yaml_document import LIMIT_BYTES, parse
from bakeoff.errors import DataError, QueryFileError
from bakeoff.truth.importers.draft import ImportDraft, ImportedQueries
from bakeoff.truth.queries import query_set
from bakeoff.types import JsonObject

WIDTH = 110
_NUMBER_LIKE = frozenset("0123456789+-.")


class _Dumper(yaml.CSafeDumper):
    """Quotes texts that our reader would take for numbers, which are more than in YAML 1.1."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base class names it
        """Never write anchors: equal values are written out."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    style = '"' if value[:1] in _NUMBER_LIKE else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: _Dumper, value: list[object]) -> yaml.Node:
    flow = not any(isinstance(item, list | dict) for item in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=flow)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def query_file(imported: ImportedQueries) -> str:
    """The text of the query file; raises if our own reader would reject it."""
    metadata, queries = _metadata(imported), [_query(draft) for draft in imported.queries]
    try:
        text = f"{_header(imported)}{_dump({'metadata': metadata})}\nqueries:\n"
        text += "\n".join(textwrap.indent(_dump([query]), "  ") for query in queries)
        size = len(text.encode())
    except UnicodeEncodeError as exc:
        raise DataError(f"half a surrogate pair is in a text: {exc.object[exc.start]!r}. Remove it.") from exc
    if size > LIMIT_BYTES:
        raise DataError(f"the queries take {size:,} bytes; at most {LIMIT_BYTES:,} are read. Import fewer.")
    located = parse(text, "the imported queries", QueryFileError)
    if located.data != {"metadata": metadata, "queries": queries}:
        raise QueryFileError("the queries do not read back as they were written. Remove control characters.")
    query_set(located)
    return text


def _header(imported: ImportedQueries) -> str:
    title = f"Imported from the {imported.format} format: {', '.join(imported.files)}."
    lines = [
        title,
        "Fields of the source that have no place of their own are under tags and metadata.extra.",
    ]
    return "".join(f"# {line}\n" for text in lines for line in textwrap.wrap(text, WIDTH - 2))


def _metadata(imported: ImportedQueries) -> JsonObject:
    metadata = dict(imported.metadata)
    extra = {
        "imported": {"format": imported.format, "files": list(imported.files)},
        **metadata.pop("extra", {}),
    }
    return {**metadata, "extra": extra}


def _query(draft: ImportDraft) -> dict[str, object]:
    labels = {name: getattr(draft, name) for name in ("category", "difficulty", "intent", "cluster", "notes")}
    entry: JsonObject = {"id": draft.id, "text": draft.text, **{k: v for k, v in labels.items() if v}}
    entry["truth"] = draft.truth
    return {**entry, "tags": dict(draft.tags)} if draft.tags else entry


def _dump(value: Mapping[str, object] | list[object]) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
