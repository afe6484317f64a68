"""The names of exported JSON Schemas stay, whatever the classes are called."""

import json

import pytest

from bakeoff.presets.code.export import Benchmark
from bakeoff.presets.export_files import Files, Shape
from bakeoff.presets.goldsql.shapes import Combined, ComparisonReport, GoldModelResults
from bakeoff.presets.lineage.export import LineageModelResults
from bakeoff.presets.vectordb.export import DatabaseResults, SpeedComparisons

PUBLISHED = {
    GoldModelResults: ("ModelResults", {"Group", "Metrics", "QueryResult", "TopResult"}),
    ComparisonReport: ("ComparisonReport", {"Side"}),
    Combined: ("Combined", {"Metrics"}),
    LineageModelResults: ("ModelResults", {"Group"}),
    DatabaseResults: ("DatabaseResults", {"Ingestion", "QueryResult", "Resources", "Spread"}),
    SpeedComparisons: ("SpeedComparisons", {"PairOfSpeeds"}),
    Benchmark: ("Benchmark", {"AnswerLevel", "FileLevel", "ModelRow"}),
}


@pytest.mark.parametrize("shape", PUBLISHED, ids=lambda shape: shape.__name__)
def test_schemas_keep_their_published_names(tmp_path, shape: type[Shape]) -> None:
    """File name, title, names of parts and references are those that readers of the files rely on."""
    name, parts = PUBLISHED[shape]
    Files({}, {"any.json": shape}).write(tmp_path)
    (written,) = (tmp_path / "schemas").iterdir()
    text = written.read_text()
    schema = json.loads(text)
    assert written.name == f"{name}.schema.json"
    assert schema["title"] == name
    assert {key: part["title"] for key, part in schema["$defs"].items()} == {part: part for part in parts}
    assert set(_references(schema)) == {f"#/$defs/{part}" for part in parts}


def _references(value: object) -> list[str]:
    if isinstance(value, list):
        return [one for item in value for one in _references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if "$ref" in value else []
    return own + [one for item in value.values() for one in _references(item)]
