"""F59: ten questions drafted from one document counted as ten independent ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.compare_runs import compare_across
from bakeoff.runs.run import run
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix

DOCUMENTS, EACH = 12, 4
EXPERIMENT = """
name: together
corpus: {folder: docs}
queries: queries.yaml
chunkers: [line]
embedders: [wordllama]
stores: [exact]
modes: [dense, bm25]
measures: {primary: "RR@10(document)"}
"""
WORDS = [
    "anchor",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "islet",
    "jetty",
    "knoll",
    "lagoon",
]


def lay_out_questions(cluster: str = "") -> None:
    """Twelve documents, and four questions about each, every one with words of another document too."""
    Path("docs").mkdir(exist_ok=True)
    lines = ["queries:"]
    for number, word in enumerate(WORDS):
        text = "\n".join(f"The {word} has property {part} of kind {number}." for part in range(20))
        Path(f"docs/{word}.md").write_text(f"# {word}\n\n{text}\n")
        for part in range(EACH):
            other = WORDS[(number * 5 + part * 3 + 1) % DOCUMENTS]
            lines += [
                f"  - id: {word}-{part}",
                f"    text: which property {part} of the {word} is like the {other} of kind {part}?",
                f"    truth: {{documents: [{word}.md]}}",
            ]
            lines += [f"    cluster: {cluster}{number}-{part}"] if cluster else []
    Path("queries.yaml").write_text("\n".join(lines) + "\n")
    Path("bakeoff.yaml").write_text(EXPERIMENT)


@pytest.fixture
def together(home: Path) -> Result:
    lay_out_questions()
    return run(Path("bakeoff.yaml"), out="r")


def test_f59_questions_with_the_same_truth_are_one_cluster(together: Result) -> None:
    matrix = together.matrix(together.record.primary)
    assert set(matrix.clusters) == {f"{word}.md" for word in WORDS}
    pair = together.comparison.pairs[0]
    assert (pair.n, pair.clusters) == (DOCUMENTS * EACH, DOCUMENTS)
    assert together.comparison.questions is not None
    assert together.comparison.questions.clusters == DOCUMENTS


def test_f59_questions_that_most_documents_answer_are_not_about_one(home: Path) -> None:
    """Every document has a section on its property: no single one can fail all these questions."""
    lay_out_questions()
    broad = "".join(
        f"  - {{id: broad-{part}, text: property {part}, truth: {{documents: ['*.md']}}}}\n"
        for part in range(3)
    )
    Path("queries.yaml").write_text(Path("queries.yaml").read_text() + broad)
    result = run(Path("bakeoff.yaml"), out="r")
    names = dict(
        zip(result.matrix("RR@10(document)").queries, result.matrix("RR@10(document)").clusters, strict=True)
    )
    assert len({names[f"broad-{part}"] for part in range(3)}) == 3
    assert names["anchor-0"] == names["anchor-1"] == "anchor.md"


def test_f59_signs_flip_by_cluster() -> None:
    """Three documents with six equal differences each are three differences, not eighteen."""
    queries = tuple(f"q{i:02d}" for i in range(18))
    values = np.vstack([np.full(18, 0.5), np.full(18, 0.2)])
    labels = tuple("a" * 6 + "b" * 6 + "c" * 6)
    pair = compare(ScoreMatrix(("x", "y"), queries, values, "RR@10", clusters=labels), seed=1).pairs[0]
    assert pair.p_randomisation == pytest.approx(1 / 8)


def test_f59_the_author_can_name_clusters(home: Path) -> None:
    lay_out_questions(cluster="own-")
    result = run(Path("bakeoff.yaml"), out="r")
    assert result.comparison.pairs[0].clusters == DOCUMENTS * EACH


def test_f59_the_commands_report_what_the_questions_are_worth(together: Result, cli: Any) -> None:
    found = json.loads(cli("run", "--out", "r", "--json").out)["questions"]
    assert (found["questions"], found["clusters"], found["largest"]) == (48, 12, 4)
    assert found["effective"] == pytest.approx(48 / max(1.0, found["design_effect"]))
    pair = json.loads(cli("compare", "r", "dense", "bm25", "--json").out)
    assert pair["dependence"]["clusters"] == 12
    assert pair["effective_n"] <= 48
    assert "12 clusters" in Path("r/report.html").read_text()


def test_f59_two_runs_are_compared_by_cluster(together: Result, cli: Any) -> None:
    again = run(Path("bakeoff.yaml"), out="r2")
    assert {pair.clusters for pair in compare_across(together, again).pairs} == {DOCUMENTS}
    checks = json.loads(cli("gate", "r", "r2", "--json").out)["systems"]
    assert {check["clusters"] for check in checks} == {DOCUMENTS}


def test_f59_drafts_name_their_document(home: Path, cli: Any) -> None:
    lay_out_questions()
    for word in WORDS:
        body = "a sentence with enough words to be worth a question. " * 3
        sections = "\n\n".join(
            f"## How the {word} is {verb} every year\n\n{body}" for verb in ("cut", "kept")
        )
        Path(f"docs/{word}.md").write_text(f"# The {word}\n\n{sections}\n")
    assert cli("suggest", "--n", "24", "--out", "drafts.yaml").code == 0
    Path("bakeoff.yaml").write_text(EXPERIMENT.replace("queries.yaml", "drafts.yaml"))
    matrix = run(Path("bakeoff.yaml"), out="r").matrix("RR@10(document)")
    assert len(matrix.queries) == 24
    assert len(set(matrix.clusters)) == DOCUMENTS
    assert "cluster: " in Path("drafts.yaml").read_text()


def test_f59_a_run_written_before_has_independent_questions(together: Result) -> None:
    import pyarrow.parquet as pq

    path = Path("r/queries.parquet")
    pq.write_table(pq.read_table(path).drop_columns(["cluster"]), path)
    assert open_run("r", trust=True).comparison.pairs[0].clusters == DOCUMENTS * EACH
