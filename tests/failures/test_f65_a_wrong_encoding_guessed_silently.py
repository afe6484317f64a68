"""F65: a French Latin-1 file decoded as cp1250, without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bakeoff.report.build import build_report
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.run import run
from bakeoff.runtime.events import WarningRaised

FRENCH = {
    "dessert.txt": "La crème brûlée se sert froide, avec une croûte de sucre caramélisé.",
    "mer.txt": "La marée monte jusqu'à la jetée, où les pêcheurs réparent leurs filets.",
}


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in FRENCH.items():
        (docs / name).write_bytes(text.encode("latin-1"))
    (docs / "utf8.txt").write_text("Le château fut bâti au moyen âge.", encoding="utf-8")
    (docs / "bom.txt").write_text("Un fichier avec une marque d'ordre des octets.", encoding="utf-8-sig")
    queries = [{"id": "q1", "text": "croûte caramélisée", "truth": {"file": "dessert.txt"}},
               {"id": "q2", "text": "réparer les filets", "truth": {"file": "mer.txt"}},
               {"id": "q3", "text": "marque des octets", "truth": {"characters": {"document": "bom.txt", "from": 0, "to": 10}}}]  # fmt: skip
    (tmp_path / "queries.yaml").write_text(
        json.dumps({"queries": queries}, ensure_ascii=False), encoding="utf-8"
    )
    path = tmp_path / "bakeoff.yaml"
    path.write_text("corpus: {folder: docs}\nqueries: queries.yaml\nchunkers: [whole]\nmodes: [bm25]\n")
    return path


def test_f65_french_latin_1_is_read_right_and_named(experiment: Path) -> None:
    seen: list[Any] = []
    result = run(experiment, out=Path("run"), home=Path("home"), emit=seen.append)
    texts = dict(zip(*(result.passages[name].to_pylist() for name in ("document_id", "text")), strict=True))
    assert {name: texts[name] for name in FRENCH} == FRENCH
    assert texts["bom.txt"].startswith("Un fichier")
    assert result.record.corpus is not None
    named = {(one.document, one.encoding, one.basis) for one in result.record.corpus.other_encodings}
    assert named == {(name, "cp1252", "guessed") for name in FRENCH}
    (warning,) = [
        event.message for event in seen if isinstance(event, WarningRaised) and "UTF-8" in event.message
    ]
    assert "dessert.txt (cp1252)" in warning and "mer.txt (cp1252)" in warning
    assert warning in build_report(result).background.notes


def test_f65_validate_names_the_files_and_the_byte_order_mark(experiment: Path) -> None:
    found = {finding.code: finding for finding in validate(experiment, home=Path("home")).findings}
    assert found["encoding"].level == "warning" and "mer.txt (cp1252)" in found["encoding"].message
    assert found["byte-order-mark"].level == "warning" and "bom.txt" in found["byte-order-mark"].message


def test_f65_the_experiment_decides_also_when_the_same_bytes_were_read_before(experiment: Path) -> None:
    run(experiment, out=Path("guessed"), home=Path("home"))
    experiment.write_text(
        experiment.read_text().replace("{folder: docs}", "{folder: docs, encoding: cp1250}")
    )
    result = run(experiment, out=Path("given"), home=Path("home"))
    texts = dict(zip(*(result.passages[name].to_pylist() for name in ("document_id", "text")), strict=True))
    assert texts["dessert.txt"].startswith("La crčme brűlée")
    assert "utf8.txt" not in texts or "château" in texts["utf8.txt"]
    assert result.record.corpus is not None
    assert {one.basis for one in result.record.corpus.other_encodings} == {"given"}
