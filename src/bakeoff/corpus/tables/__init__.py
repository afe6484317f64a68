"""Tables in files: their locations, how to open them, and their rows in Arrow batches of bounded size."""

from bakeoff.corpus.tables.cells import as_text, as_text_or_codes, join_text
from bakeoff.corpus.tables.open_table import TableFile, open_table, start_reader, table_suffix
from bakeoff.corpus.tables.places import table_version

__all__ = [
    "TableFile",
    "as_text",
    "as_text_or_codes",
    "join_text",
    "open_table",
    "start_reader",
    "table_suffix",
    "table_version",
]
