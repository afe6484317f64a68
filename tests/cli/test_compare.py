"""bakeoff compare with files of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.cli.compare import print_pair
from bakeoff.stats.compare import compare
from bakeoff.stats.comparison import ScoreMatrix


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    queries = [f"q{number}" for number in range(20)]
    for name, score in (("a", 0.9), ("b", 0.4)):
        rows = [
            f"{query},{score - (place % 5) / (20 if name == 'a' else 50)}"
            for place, query in enumerate(queries)
        ]
        Path(f"{name}.csv").write_text("query,nDCG@10\n" + "\n".join(rows) + "\n")
        orders = [
            [f"right-{q}", "wrong"] if name == "a" or q in ("q1", "q2") else ["wrong", f"right-{q}"]
            for q in queries
        ]
        lines = [
            f"{query} Q0 {item} {rank} {3 - rank} {name}"
            for query, items in zip(queries, orders, strict=True)
            for rank, item in enumerate(items, start=1)
        ]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n")
    Path("q.txt").write_text("".join(f"{query} 0 right-{query} 1\n" for query in queries))
    return tmp_path


def test_runs_are_compared_with_judgments(folder: Path, cli: Any) -> None:
    found = cli("compare", "a.run", "b.run", "--qrels", "q.txt", "-m", "RR", "--json").json
    assert found["measure"] == "RR" and found["verdict"]["system"] == "a"
    assert [one["mean"] for one in found["systems"]] == [1.0, 0.55]
    assert found["pairs"][0]["difference"] == pytest.approx(0.45)
    assert found["pairs"][0]["counts"] == {"wins": 18, "losses": 0, "ties": 2, "tolerance": 0.01}
    assert found["conventions"]["order"] == "served"


def test_files_become_a_run_folder_with_its_report(folder: Path, cli: Any) -> None:
    assert cli("compare", "a.run", "b.run", "--qrels", "q.txt", "-m", "RR", "--out", "runs/files").code == 0
    names = {path.name for path in Path("runs/files").iterdir()}
    assert {"run.json", "scores.parquet", "report.html", "report.md"} <= names
    assert "**Take a." in Path("runs/files/report.md").read_text()


def test_tables_of_scores_are_compared(folder: Path, cli: Any) -> None:
    found = cli("compare", "a.csv", "b.csv", "--json").json
    assert found["measure"] == "nDCG@10" and found["conventions"] is None
    assert found["pairs"][0]["difference"] == pytest.approx(0.44) and found["verdict"]["kind"] == "use"
    shown = cli("compare", "a.csv", "b.csv")
    assert shown.code == 0 and found["verdict"]["sentence"].split(".")[0] in shown.out


def test_three_files_are_compared_in_pairs(folder: Path, cli: Any) -> None:
    Path("c.csv").write_text(Path("b.csv").read_text())
    found = cli("compare", "a.csv", "b.csv", "c.csv", "--json").json
    assert len(found["pairs"]) == 3 and found["pairs"][2]["identical"] is True
    assert cli("compare", "a.csv", "b.csv", "c.csv").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("a.run", "b.run"),
        ("a.csv", "b.csv", "--qrels", "q.txt"),
        ("a.csv", "a.csv"),
        ("a.csv",),
        ("a.csv", "none.csv"),
        ("a.csv", "b.csv", "--range", "wide"),
        ("a.csv", "b.csv", "--missing", "guess"),
        ("a.csv", "b.csv", "--trust"),
        ("a.csv", "."),
        (".", "a"),
        (".", "a", "b", "--missing", "zero"),
        ("a.run", "b.run", "--qrels", "none.txt"),
        ("runs/none", "x", "y"),
    ],
)
def test_wrong_use_exits_with_2(folder: Path, cli: Any, words: tuple[str, ...]) -> None:
    done = cli("compare", *words)
    assert done.code == 2 and done.err and not done.out


def test_a_document_twice_in_a_ranking_is_refused(folder: Path, cli: Any) -> None:
    lines = Path("b.run").read_text().splitlines()
    Path("b.run").write_text("\n".join([lines[0], *lines]) + "\n")
    done = cli("compare", "a.run", "b.run", "--qrels", "q.txt")
    assert done.code == 2 and "b.run, line 2" in done.err


def test_no_p_value_is_printed_as_0(capsys: pytest.CaptureFixture[str]) -> None:
    better = {f"q{place:02}": 0.9 + place / 1000 for place in range(60)}
    scores = ScoreMatrix.of({"a": better, "b": dict.fromkeys(better, 0.1)}, "nDCG@10")
    print_pair(compare(scores, 1).pairs[0], "nDCG@10")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Wilcoxon" in line]
    assert line.rstrip().endswith("<.001")
