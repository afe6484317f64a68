"""F58: people's judgments are collected and the decision never consults them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import bakeoff
from bakeoff import run
from bakeoff.errors import ComparisonError
from bakeoff.measures.labels import Label
from bakeoff.review.ledger import LedgerEntry, LedgerKind
from bakeoff.review.review_folder import open_review
from bakeoff.review.reviewed_run import NOTHING_RELEVANT, open_reviewed, open_runs, same_truth
from bakeoff.runs.analysis import Result, open_run
from bakeoff.runs.compare_runs import check_comparable
from bakeoff.runs.verdict import gather_evidence, semantic_lift

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test leaves its run and cache for the others."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def finished(small: Path, home: Path, kept: Path) -> Result:
    """A small run of the preset that has a review."""
    small.write_text(small.read_text().replace("[dense]", "[dense, bm25]") + "preset: goldsql\n")
    if (kept / "home").is_dir():
        shutil.copytree(kept / "home", home)
        return open_run(shutil.copytree(kept / "run", "run"))
    result = run(small, out=Path("run"))
    shutil.copytree("run", kept / "run")
    shutil.copytree(home, kept / "home")
    return result


def judge(result: Result, favoured: str, skip: tuple[str, ...] = ()) -> None:
    """Ann calls relevant what one system returned first, and nothing else."""
    review = open_review(result.path)
    for item in review.pool().items:
        if item.query_id in skip:
            continue
        first = any(one.system == favoured and one.rank == 1 for one in item.returned)
        label = Label.SEMANTIC_MATCH if first else Label.FALSE_POSITIVE
        review.ledger.append(
            LedgerEntry(LedgerKind.JUDGE, item.id, item.query_id, "ann", item.text_hash, judgment=label)
        )


def test_verdict_report_and_export_use_what_people_judged(finished: Result, cli: Cli) -> None:
    assert cli("review", "export", finished.path).code == 0
    assert open_reviewed(finished.path).reviewed is None, "nobody has judged yet"
    favoured, other = reversed(finished.comparison.ranking)
    judge(finished, favoured)

    found = open_reviewed(finished.path)
    primary = found.record.primary
    assert found.reviewed is not None and found.reviewed.reviewers == ("ann",)
    assert found.comparison.best == favoured
    assert found.summaries(primary)[favoured].mean == 1.0
    assert (found.summaries(primary)[other].mean or 0.0) < 1.0
    assert found.verdict.reasons[0] == found.reviewed.sentence
    assert open_run(finished.path).comparison.ranking == finished.comparison.ranking, "the run is as it was"
    sources = {
        row["source"] for row in found.scores.to_pylist() if row["measure"] == primary and row["value"]
    }
    assert sources == {"human"}

    again = run("bakeoff.yaml", out=finished.path)
    assert (again.reviewed, again.verdict.sentence) == (found.reviewed, found.verdict.sentence), "one rule"
    assert again.by_rules().comparison.ranking == finished.comparison.ranking

    (state,) = json.loads(cli("status", finished.path, "--json").out)
    assert state["review"]["decided"] == state["review"]["passages"] > 0
    assert state["review"]["questions"] == len(found.reviewed.queries)
    screen = cli("status", finished.path).out
    assert "final-report" in screen
    assert f"{state['review']['decided']} of {state['review']['passages']}\n" in screen.replace(" \n", "\n")

    assert cli("final-report", finished.path).code == 0
    for name, title in (("report.md", "## Judged by people"), ("report.html", "Judged by people</h2>")):
        text = (finished.path / name).read_text()
        assert 0 < text.index(title) < text.index("## Systems" if name == "report.md" else 'id="systems"')
        assert text.index("What to use, by ") < text.index(title)

    assert cli("export", finished.path, "--preset", "goldsql", "--out", "out").code == 0
    combined = json.loads(Path("out/combined_metrics.json").read_text())
    assert combined["human_review"] == "imported"
    assert combined["queries_judged_by_people"] == len(found.reviewed.queries)
    lifts = combined["semantic_lift"]
    assert set(lifts.values()) != {None} and combined["human_adjusted"] != combined["automated"]
    details = pq.read_table("out/human_review_details.parquet").to_pylist()
    assert len(details) == 2 * len(found.reviewed.queries) and all(row["all_models"] for row in details)
    (decision,) = pq.read_table("out/benchmark_decision.parquet").to_pylist()
    assert decision["semantic_lift_difference"] is not None


def test_take_ask_and_status_use_what_people_judged(finished: Result, cli: Cli, tmp_path: Path) -> None:
    assert cli("review", "export", finished.path).code == 0
    judge(finished, finished.ordered[-1])
    found = open_reviewed(finished.path)
    assert found.recommendation is not None and finished.recommendation is not None
    chosen = found.recommendation.system
    assert chosen != finished.recommendation.system, "else this shows nothing"
    taken = json.loads(cli("take", finished.path, "--out", tmp_path / "mine", "--no-test", "--json").out)
    assert taken["system"] == chosen
    assert set(json.loads(cli("ask", finished.path, "anything", "--json").out)) == {chosen}
    assert set(json.loads(cli("ask", finished.path, "anything", "--systems", "A", "--json").out)) == {
        found.ordered[0]
    }
    with bakeoff.load_system(finished.path) as live:
        assert live.label == chosen
    (state,) = json.loads(cli("status", finished.path, "--json").out)
    assert state["recommendation"]["system"] == chosen


def test_a_query_counts_only_where_every_system_is_judged(finished: Result, cli: Cli) -> None:
    cli("review", "export", finished.path)
    favoured = finished.comparison.ranking[0]
    asked = [row["query_id"] for row in finished.queries.to_pylist() if not row["negative"]]
    judge(finished, favoured, skip=(asked[0],))
    found = open_reviewed(finished.path)
    assert found.reviewed is not None
    assert asked[0] not in found.reviewed.queries and found.reviewed.of == len(asked)
    rules, people = (one.matrix(one.record.primary) for one in (finished, found))
    place = rules.queries.index(asked[0])
    assert (rules.values[:, place] == people.values[:, place]).all()


def test_what_people_call_irrelevant_is_not_relevant_by_rule(finished: Result, cli: Cli) -> None:
    cli("review", "export", finished.path)
    judge(finished, "no such system")
    found = open_reviewed(finished.path)
    assert found.reviewed is not None
    reasons = {one.reason for one in found.record.excluded if one.query_id in found.reviewed.queries}
    assert NOTHING_RELEVANT in reasons


def test_the_review_of_another_run_does_not_count(finished: Result, cli: Cli) -> None:
    cli("review", "export", finished.path)
    judge(finished, finished.comparison.ranking[-1])
    review = open_review(finished.path)
    review.keep(replace(review.pool(), run="another-run"))
    assert open_reviewed(finished.path).reviewed is None


def test_a_repeated_run_prints_what_people_judged(small: Path, finished: Result, cli: Cli) -> None:
    cli("review", "export", finished.path)
    favoured = finished.comparison.ranking[-1]
    judge(finished, favoured)
    again = json.loads(cli("run", small, "--out", finished.path, "--json").out)
    (mean,) = (
        row["measures"][finished.record.primary]["mean"]
        for row in again["systems"]
        if row["system"] == favoured
    )
    assert mean == 1.0 != finished.summaries(finished.record.primary)[favoured].mean


@pytest.mark.parametrize("runs", [".", "runs"])
def test_a_review_next_to_the_run_counts_from_any_folder(
    runs: str, finished: Result, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, elsewhere = finished.path.resolve().parent, tmp_path / "elsewhere"
    cli("review", "export", finished.path)
    judge(finished, finished.comparison.ranking[-1])
    (work / runs).mkdir(exist_ok=True)
    moved = finished.path.resolve().rename(work / runs / finished.path.name)
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    found = open_reviewed(moved)
    assert found.reviewed is not None and found.reviewed.reviewers == ("ann",)


def begin_again(small: Path) -> tuple[Result, Result]:
    """Two runs of one experiment, as if of two days."""
    small.write_text(small.read_text().replace("[dense]", "[dense, bm25]") + "preset: goldsql\n")
    return run(small, out=Path("runs/one")), run(small, out=Path("runs/two"))


def test_gate_diff_history_and_python_use_what_people_judged(small: Path, cli: Cli) -> None:
    one, two = begin_again(small)
    first, last = one.comparison.ranking[0], one.comparison.ranking[-1]
    for result, favoured in ((one, first), (two, last)):
        assert cli("review", "export", result.path).code == 0
        judge(result, favoured)
    by_rules = json.loads(cli("gate", one.path, two.path, "--truth", "rules", "--json").out)
    assert by_rules["truth"] == "rules" and {check["gain"] for check in by_rules["systems"]} == {0.0}
    reviewed = json.loads(cli("gate", one.path, two.path, "--json").out)
    assert reviewed["truth"] == "reviewed" and reviewed["notes"][0].startswith("People (ann)")
    gains = {check["system"]: check["gain"] for check in reviewed["systems"]}
    assert gains[first] < 0 < gains[last]
    (pair,) = [p for p in json.loads(cli("diff", one.path, two.path, "--json").out) if first in p["a"]]
    assert pair["truth"] == "reviewed" and pair["difference"] == pytest.approx(gains[first])
    entries = json.loads(cli("history", "runs", "--json").out)
    assert [(entry["truth"], entry["system"]) for entry in entries] == [
        ("reviewed", first),
        ("reviewed", last),
    ]
    assert entries[1]["change"] == pytest.approx(gains[last])
    rules = json.loads(cli("history", "runs", "--truth", "rules", "--json").out)
    assert {entry["truth"] for entry in rules} == {"rules"} and rules[1]["change"] == 0
    assert bakeoff.open_run(two.path).comparison.best == last
    assert bakeoff.open_run(two.path, truth="rules").comparison.best == first


def test_a_question_is_judged_alike_in_all_runs_of_a_comparison(small: Path, cli: Cli) -> None:
    """A question that people judged in one of two runs only is judged by rules in both."""
    one, two = begin_again(small)
    cli("review", "export", one.path)
    judge(one, one.comparison.ranking[-1])
    outcome = json.loads(cli("gate", one.path, two.path, "--json").out)
    assert outcome["truth"] == "rules" and {check["gain"] for check in outcome["systems"]} == {0.0}
    assert "in all runs 0" in outcome["notes"][0]
    with pytest.raises(ComparisonError, match="people judged"):
        check_comparable(bakeoff.open_run(one.path), bakeoff.open_run(two.path))


def test_reviews_to_different_ranks_are_not_mixed(small: Path, cli: Cli) -> None:
    """Below the rank of its review a run has no relevant result, so another rank is another truth."""
    one, two = begin_again(small)
    for result, depth in ((one, 10), (two, 1)):
        assert cli("review", "export", result.path, "--k", depth).code == 0
        judge(result, result.comparison.ranking[-1])
    found = same_truth(open_runs([one.path, two.path]))
    assert found.truth == "rules" and "one 0" not in found.sentence


def test_a_review_may_be_in_any_folder(finished: Result, cli: Cli) -> None:
    cli("review", "export", finished.path)
    favoured = finished.comparison.ranking[-1]
    judge(finished, favoured)
    elsewhere = shutil.move("reviews/run", "judged")
    assert bakeoff.open_run(finished.path).truth == "rules"
    assert bakeoff.open_run(finished.path, review=elsewhere).comparison.best == favoured
    assert cli("final-report", finished.path).code == 2
    for command in ("final-report", "report"):
        (finished.path / "report.md").unlink(missing_ok=True)
        assert cli(command, finished.path, "--review", elsewhere).code == 0
        assert "## Judged by people" in (finished.path / "report.md").read_text()
    (state,) = json.loads(cli("status", finished.path, "--review", elsewhere, "--json").out)
    assert state["review"]["decided"] == state["review"]["passages"] > 0
    assert f"--review {elsewhere}" in cli("status", finished.path, "--review", elsewhere).out
    asked = ("compare", finished.path, *finished.comparison.ranking, "--json")
    assert json.loads(cli(*asked).out)["truth"] == "rules"
    assert json.loads(cli(*asked, "--review", elsewhere).out)["truth"] == "reviewed"
    assert (
        cli("export", finished.path, "--preset", "goldsql", "--out", "out", "--review", elsewhere).code == 0
    )
    assert json.loads(Path("out/combined_metrics.json").read_text())["human_review"] == "imported"
    other = run(Path("bakeoff.yaml"), out=Path("other"))
    assert cli("report", other.path, "--review", elsewhere).code == 2
    assert cli("gate", other.path, finished.path, "--review", elsewhere, "--json").code in (0, 1)


def test_semantic_lift_reaches_the_verdict(finished: Result, cli: Cli) -> None:
    assert semantic_lift(finished) is None and gather_evidence(finished).lift is None
    cli("review", "export", finished.path)
    judge(finished, finished.comparison.ranking[-1])
    found = gather_evidence(open_reviewed(finished.path)).lift
    assert found is not None and found.measure == "SemLift@10(chunk)"
    assert found.best == finished.comparison.ranking[-1]
