"""The fields of a Tantivy index: ids, words, payload columns, and comparisons of a column."""

from __future__ import annotations

import tantivy

from bakeoff.plugins.kit.payload import Term
from bakeoff.types import PayloadField

ANALYZER = "bakeoff"
TYPES = {"integer": tantivy.FieldType.Integer, "number": tantivy.FieldType.Float}


def schema(columns: dict[str, PayloadField]) -> tantivy.Schema:
    """Ids that are read back, words that are found, and a column for each payload field."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=False, indexed=False, fast=True)
    builder.add_text_field("text", stored=False, tokenizer_name=ANALYZER, index_option="freq")
    for column, field in columns.items():
        if field.kind == "text":
            builder.add_text_field(column, stored=False, tokenizer_name="raw", index_option="basic")
        elif field.kind == "integer":
            builder.add_integer_field(column, stored=False, indexed=True, fast=True)
        else:
            builder.add_float_field(column, stored=False, indexed=True, fast=True)
    return builder.build()


def comparison_query(of: tantivy.Schema | None, column: str, term: Term) -> tantivy.Query:
    """The rows for which one comparison holds."""
    if term.sign == "in":
        return tantivy.Query.term_set_query(of, column, list(term.values))
    bound = {"lower_bound" if term.sign == ">=" else "upper_bound": term.values[0]}
    return tantivy.Query.range_query(of, column, TYPES[term.kind], **bound)
