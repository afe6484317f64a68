from pathlib import Path

import yaml

import bakeoff
from bakeoff.truth.leaked_sentences import blank_sentences

SOURCE = '''"""Helpers."""


def parse(text):
    """Turn a duration such as five minutes into a number of seconds."""
    return 300


def other(text):
    """Add two numbers."""
    return 1 + 1
'''


def test_offsets_and_lines_stay() -> None:
    text = "one two\nthree four\nfive"
    found = blank_sentences(text, ["two\nthree"])
    assert len(found) == len(text) and found.splitlines() == ["one    ", "      four", "five"]


def test_a_sentence_a_query_was_made_of_is_not_embedded(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "time.py").write_text(SOURCE)
    (tmp_path / "docs" / "else.py").write_text(
        SOURCE.replace("parse", "read").replace("a duration", "anything")
    )
    sentence = "Turn a duration such as five minutes into a number of seconds."
    queries = [
        {
            "id": "q1",
            "text": sentence,
            "synthetic": True,
            "tags": {"leak": sentence},
            "truth": {"symbol": "time.py::parse"},
        }
    ]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"queries": queries}))
    (tmp_path / "bakeoff.yaml").write_text("corpus: {folder: docs}\nqueries: queries.yaml\nmodes: [bm25]\n")
    result = bakeoff.run(tmp_path / "bakeoff.yaml", out=tmp_path / "run", home=tmp_path / "home")
    texts = dict(zip(*(result.passages[name].to_pylist() for name in ("document_id", "text")), strict=True))
    assert sentence not in texts["time.py"] and "def parse" in texts["time.py"]
    assert "such as five minutes" in texts["else.py"]
