from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml


def test_init_then_run_works(tiny: Path, cli: Any) -> None:
    done = cli("init", "corpus", "--into", "mine")
    assert done.code == 0
    assert "7 files" in done.out and "mine/bakeoff.yaml" in done.out and "mine/queries.yaml" in done.out
    assert "bakeoff run" in done.out
    ran = cli("run", "mine", "--json", "--out", "out")
    assert ran.code == 0 and len(ran.json["systems"]) == 6


def test_init_in_the_folder_of_the_documents(tiny: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("corpus")
    assert cli("init", ".").code == 0
    assert cli("run", "-q").code == 0


def test_omissions_are_noted(tiny: Path, cli: Any) -> None:
    Path("corpus/blank.md").write_text("")
    assert "skipped   1 markdown, e.g. blank.md (empty)" in cli("init", "corpus", "--into", "mine").out


def test_files_are_kept_unless_forced(tiny: Path, cli: Any) -> None:
    done = cli("init", "corpus")
    assert done.code == 2 and "--force" in done.err
    assert cli("init", "corpus", "--force").code == 0


def test_no_folder(home: Path, cli: Any) -> None:
    done = cli("init", "nowhere")
    assert done.code == 2 and "does not exist" in done.err and done.out == ""


def test_files_of_other_kinds_are_counted_and_can_be_had(tiny: Path, cli: Any) -> None:
    for name in ("README", "NOTES", "data.json", "NEWS.Debian"):
        Path("corpus", name).write_text("some words")
    done = cli("init", "corpus", "--into", "mine")
    assert "skipped   2 without an ending, e.g. NOTES " in done.out
    assert "skipped   1 json, e.g. data.json " in done.out
    assert '"**/NOTES"' in done.out and '"**/*.json"' in done.out


def test_every_ending_that_was_seen_is_read(tiny: Path, cli: Any) -> None:
    endings = ["txt", "rst", "html", "go", "rs", "java", "rb", "lua", "php", "kt"]
    for ending in endings:
        Path("corpus", f"one.{ending}").write_text("some words")
    done = cli("init", "corpus", "--into", "mine")
    written = Path("mine/bakeoff.yaml").read_text()
    assert "17 files" in done.out and all(f'"**/*.{ending}"' in written for ending in endings)


def test_a_run_is_named_by_the_folder_of_the_documents(tiny: Path, cli: Any) -> None:
    cli("init", "corpus", "--into", "mine")
    assert 'name: "corpus"' in Path("mine/bakeoff.yaml").read_text()


TICKETS = """\
row,ticket_id,subject,body,product,opened,score
1,T-1,Router loses wifi,The router loses its wifi every night at about three,router,2026-05-01,3
1,T-2,Modem is slow,The modem is slow since the update of last Tuesday,modem,2026-05-02,4
1,T-3,Camera is blank,The camera shows a blank picture after it was moved,router,2026-05-02,5
1,T-4,Camera is loud,The camera makes a noise that the whole house can hear,router,2026-05-03,5
"""
QUESTIONS = """\
nr,what users ask,answer,topic
1,why is my wifi gone at night,T-1,wifi
2,update made the modem slow,T-2,speed
"""


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_init_writes_an_experiment_that_validates(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tickets.csv").write_text(TICKETS)
    questions = Path("q.csv")
    questions.write_text(QUESTIONS)
    if suffix == "jsonl":
        rows = '{"ask": "why is my wifi gone at night", "id": 1, "ticket": "T-1"}\n'
        questions = Path("q.jsonl")
        questions.write_text(
            rows + rows.replace("T-1", "T-2").replace("1,", "2,").replace("night", "noon today")
        )
    assert cli("init", "tickets.csv", questions.name).code == 0
    assert cli("validate").code == 0
    queries = yaml.safe_load(Path("queries.yaml").read_text())["queries"]
    assert queries[0]["truth"] == {"documents": ["T-1"]} and queries[0]["text"].startswith("why is my wifi")
    Path("docs").mkdir()
    assert cli("init", "docs", questions.name).code == 2
