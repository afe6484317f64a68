"""The JSON Schema of query files, for editors and for those who write them by program.

`python -m bakeoff.truth.schema` writes it anew after a change of the models.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bakeoff.truth.queries import QueryFile

SCHEMA = Path(__file__).with_name("queries.schema.json")


def query_schema() -> dict[str, Any]:
    """The schema, made from the models that read the file."""
    made = QueryFile.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "bakeoff queries"}


def schema_text() -> str:
    """The schema as it stands in queries.schema.json."""
    return json.dumps(query_schema(), indent=1, ensure_ascii=False) + "\n"


def write_schema() -> None:
    """Write queries.schema.json beside this module."""
    SCHEMA.write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    write_schema()
