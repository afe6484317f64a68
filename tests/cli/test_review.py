"""bakeoff review as it is typed: from a run to files, ledger, agreement, what is next, and a judgment set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture
def review(ran: Any, cli: Cli, home: Path) -> Path:
    """A review of the tiny run."""
    done = cli("review", "export", ran.result.path, "--to", "review", "--k", 3, "--system", "line dense exact",
               "--system", "line bm25")  # fmt: skip
    assert done.code == 0, done.err
    return Path("review")


def judge(folder: Path, reviewer: str, label: str = "SEMANTIC_MATCH") -> None:
    for path in folder.glob("*.yaml"):
        text = path.read_text(encoding="utf-8").replace("judgment: ''", f"judgment: {label}")
        text = text.replace("reviewer: ''", f"reviewer: {reviewer}").replace(
            "complete: false", "complete: true"
        )
        path.write_text(text, encoding="utf-8")


def test_from_export_to_judgments(review: Path, cli: Cli, ran: Any) -> None:
    assert cli("review", "next", review, "--json").json["stop"] is False
    judge(review / "files", "ann")
    done = cli("review", "import", review / "files")
    assert done.code == 0
    assert f"{review}/ledger" in done.out
    status = cli("review", "status", review, "--run", ran.result.path, "--json").json
    assert status["states"] == {"agreed": status["items"]}
    assert any(side["human"]["n"] for side in status["sides"])
    assert cli("review", "next", review, "--json").json["open"] == 0
    assert cli("review", "agreement", review, "--json").json["reviewers"] == ["ann"]
    made = cli("review", "judgments", review, "--out", "j.json", "--json").json
    assert made["judgments"] == status["items"]
    assert json.loads(Path("j.json").read_text())["fingerprint"] == made["fingerprint"]
    again = cli("review", "judgments", review, "--out", "j.json")
    assert again.code == 2
    assert "j.json" in again.err


def test_before_anybody_judged_status_is_short(review: Path, cli: Cli) -> None:
    before = cli("review", "status", review)
    assert before.code == 0 and f"serve {review}" in before.out
    assert "SemPrec" not in before.out
    judge(review / "files", "ann")
    cli("review", "import", review / "files")
    assert "SemPrec" in cli("review", "status", review).out


def test_two_reviewers_and_an_adjudicator(review: Path, cli: Cli, ran: Any) -> None:
    judge(review / "files", "ann")
    cli("review", "import", review / "files")
    cli("review", "export", ran.result.path, "--to", "other", "--k", 3, "--system", "line dense exact",
        "--system", "line bm25")  # fmt: skip
    judge(Path("other/files"), "bob", "FALSE_POSITIVE")
    cli("review", "import", "other/files", "--into", review)
    panel = cli("review", "agreement", review, "--json").json
    assert panel["reviewers"] == ["ann", "bob"]
    assert panel["pairs"][0]["same"] == 0
    assert len(panel["queue"]) == panel["overall"]["labels"]["items"]
    cli("review", "import", "other/files", "--into", review, "--adjudicate")
    assert cli("review", "agreement", review, "--json").json["queue"] == []


def test_the_names_of_the_source_system_do_the_same(review: Path, cli: Cli) -> None:
    judge(review / "files", "ann")
    assert cli("import-review", review / "files", "--json").json["refused"] == []
    assert cli("export-review", "--help").code == 0


def test_a_refused_file_is_exit_code_2_and_the_others_are_taken(review: Path, cli: Cli) -> None:
    judge(review / "files", "ann")
    path = sorted((review / "files").glob("*.yaml"))[0]
    path.write_text(
        path.read_text(encoding="utf-8").replace("SEMANTIC_MATCH", "SEMANTC_MATCH", 1), encoding="utf-8"
    )
    done = cli("review", "import", review / "files")
    assert done.code == 2
    assert "SEMANTIC_MATCH" in done.err
    assert "1 refused" in done.out


def test_import_writes_human_reviews(review: Path, cli: Cli) -> None:
    judge(review / "files", "ann")
    files = cli("review", "import", review / "files", "--out", "out", "--k", 3, "--json").json["files"]
    (dense,) = [Path(name) for name in files if "dense" in name]
    data = json.loads(dense.read_text(encoding="utf-8"))
    assert dense.name.startswith("human_review_line")
    assert data["measures"]["SemPrec"]["value"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("review", "status", "nowhere"), "is not a review"),
        (("review", "import", "nowhere"), "does not exist"),
        (("review", "export", "nowhere"), "is not a run"),
        (("review", "next", "review", "--confidence", "2"), "between 0.5 and 1"),
    ],
)
def test_mistakes(review: Path, cli: Cli, words: tuple[str, ...], message: str) -> None:
    done = cli(*words)
    assert done.code == 2
    assert message in done.err


def test_nothing_judged_makes_no_set(review: Path, cli: Cli) -> None:
    done = cli("review", "judgments", review, "--out", "j.json")
    assert done.code == 2 and not Path("j.json").exists()


def test_files_without_the_mark_are_reported_and_taken_when_asked(review: Path, cli: Cli) -> None:
    judge(review / "files", "ann")
    paths = sorted((review / "files").glob("*.yaml"))
    for path in paths:
        path.write_text(path.read_text().replace("review_complete: true", "review_complete: false"))
    told = cli("review", "import", review / "files", "--json").json
    assert told["unmarked"] == told["incomplete"] and len(told["unmarked"]) + len(told["by_rule"]) == len(
        paths
    )
    assert told["unmarked"] and "--include-unmarked" in cli("review", "import", review / "files").err
    taken = cli("review", "import", review / "files", "--include-unmarked", "--json").json
    assert (len(taken["taken"]), taken["unmarked"]) == (len(paths), [])
    assert taken["new_in_ledger"] > 0 and set(taken["figures"]["on_common"]) == {
        one["system"] for one in taken["figures"]["systems"]
    }
