"""Five chunkers on questions whose answers are character spans in texts that others chose."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import bakeoff
from bakeoff.cli.app import app

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "span-questions"
BUDGET = "1500tokens"
CHUNKERS = ["line", "semantic", "sentences", "recursive", "tokens"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="shared/data/span-questions is not here"),
]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> bakeoff.Result:
    folder = tmp_path_factory.mktemp("spans")
    with (DATA / "questions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    queries = [
        {"id": f"q{i:03}", "text": row["question"], "category": row["corpus_id"], "truth": truth(row)}
        for i, row in enumerate(rows)
    ]
    (folder / "queries.yaml").write_text(yaml.safe_dump({"queries": queries}))
    experiment = {
        "corpus": {"folder": str(DATA), "include": ["*.md"]},
        "queries": "queries.yaml",
        "allow": ["leak"],  # some questions of the published set stand in their documents
        "chunkers": CHUNKERS,
        "modes": ["dense"],
        "measures": {
            "primary": "SpanRecall@5",
            "also": [
                *("SpanPrecision@5", "SpanIoU@5", "tokens@5", "Hit@5(answer)"),
                *(f"{name}@{BUDGET}" for name in ("SpanRecall", "SpanPrecision", "SpanIoU", "tokens")),
                *(f"{name}@{BUDGET}(document)" for name in ("Hit", "nDCG")),
            ],
        },
        "depth": 200,
    }
    (folder / "bakeoff.yaml").write_text(yaml.safe_dump(experiment))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAKEOFF_HOME", str(folder / "home"))
        done = CliRunner().invoke(app, ["run", str(folder / "bakeoff.yaml"), "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return bakeoff.open_run(folder / "run")


def truth(row: dict[str, str]) -> dict[str, object]:
    places = [
        {"document": f"{row['corpus_id']}.md", "from": span["start_index"], "to": span["end_index"]}
        for span in json.loads(row["references"])
    ]
    return {"characters": places}


def test_every_span_resolves_and_every_chunker_is_measured(result: bakeoff.Result) -> None:
    assert not result.failed and len(result.done) == len(CHUNKERS)
    assert result.comparison.common == 472
    assert sum(hit.hits for hit in result.record.truth_hits) == 790


def test_the_measures_fit_together(result: bakeoff.Result) -> None:
    recall, precision, iou = (
        result.matrix(f"Span{name}@5").values for name in ("Recall", "Precision", "IoU")
    )
    assert (iou <= recall + 1e-12).all() and (iou <= precision + 1e-12).all()
    found = result.matrix("Hit@5(answer)").values
    assert (found[recall == 0] == 0).all()


def test_longer_chunks_buy_recall_with_tokens(result: bakeoff.Result) -> None:
    """Why tokens stand beside recall: by recall alone the chunker with the longest chunks looks best (F08)."""
    tokens = {s.system: s.mean or 0.0 for s in result.compare("tokens@5").systems}
    recall = {s.system: s.mean or 0.0 for s in result.compare("SpanRecall@5").systems}
    precision = {s.system: s.mean or 0.0 for s in result.compare("SpanPrecision@5").systems}
    longest, shortest = max(tokens, key=tokens.__getitem__), min(tokens, key=tokens.__getitem__)
    assert recall[longest] > recall[shortest] and precision[longest] < precision[shortest]


def test_a_budget_is_never_passed_and_nearly_used_up(result: bakeoff.Result) -> None:
    tokens = result.matrix(f"tokens@{BUDGET}").values
    assert (tokens <= 1500).all()
    at_k = result.matrix("tokens@5").values
    assert at_k.max() > 1500 and (at_k.mean(axis=1).max() / at_k.mean(axis=1).min()) > 2
    assert (tokens.mean(axis=1) > 800).all()


def test_at_a_fixed_budget_the_longest_chunks_no_longer_look_best(result: bakeoff.Result) -> None:
    """The order at fixed k is the order of chunk lengths; at equal tokens it is another one (F08)."""
    at_k = {s.system: s.mean or 0.0 for s in result.compare("SpanRecall@5").systems}
    paid = {s.system: s.mean or 0.0 for s in result.compare(f"SpanRecall@{BUDGET}").systems}
    tokens = {s.system: s.mean or 0.0 for s in result.compare("tokens@5").systems}
    longest = max(tokens, key=tokens.__getitem__)
    assert max(at_k, key=at_k.__getitem__) == longest
    assert max(paid, key=paid.__getitem__) != longest


def test_both_tables_stand_in_the_report_of_the_command(result: bakeoff.Result) -> None:
    page = (result.path / "report.md").read_text() if (result.path / "report.md").is_file() else ""
    shown = page or (result.path / "report.html").read_text()
    assert "SpanRecall@5" in shown and f"SpanRecall@{BUDGET}" in shown
