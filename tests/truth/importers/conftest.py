"""What importer tests share: real data that lies beside the project, and files written on the spot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.config.yaml_document import parse
from bakeoff.errors import QueryFileError
from bakeoff.presets.import_formats import read_foreign
from bakeoff.truth.importers.draft import ImportedQueries, ImportOptions
from bakeoff.truth.importers.writing import query_file
from bakeoff.truth.queries import QuerySet, query_set

DATA = Path(__file__).resolve().parents[3].parent / "shared/data"


@pytest.fixture
def data() -> Path:
    """The folder of real data."""
    if not DATA.is_dir():
        pytest.skip("the real data is not beside the project")
    return DATA


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file: texts and bytes as they are, other values as JSON."""

    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.fixture
def imports() -> Callable[..., tuple[ImportedQueries, QuerySet]]:
    """Imports files and reads back what would be written."""

    def run(format_: str, *paths: Path, **options: Any) -> tuple[ImportedQueries, QuerySet]:
        imported = read_foreign(format_, paths, ImportOptions(**options))
        return imported, query_set(parse(query_file(imported), "queries.yaml", QueryFileError))

    return run
