from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bakeoff
from bakeoff.errors import DataError
from bakeoff.pipeline.canary import MIXED
from bakeoff.runs import run as run_module
from bakeoff.runs.folder import read_record
from bakeoff.runs.recommend import recommendation_record
from bakeoff.runs.system_needs import decision_rule, question_tokens, running_parts
from bakeoff.stats.preferences import DEFAULT_RULE


@pytest.fixture
def copied(ran: Any, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran.result.path, tmp_path / "run"))


def rewritten(folder: Path, **changes: object) -> bakeoff.Result:
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return bakeoff.open_run(folder)


def test_a_run_keeps_what_it_recommends(ran: Any) -> None:
    stored = read_record(ran.result.path).recommendation
    assert stored is not None and stored == recommendation_record(bakeoff.open_run(ran.result.path))
    assert stored.system in ran.result.done and stored.strength == "start"
    assert stored.sentence.startswith(f"Start with {stored.system}. ")
    assert [label for label, _ in stored.lines][:1] == ["How sure"]


def test_a_run_of_an_earlier_version_has_a_recommendation_too(copied: Path) -> None:
    found = rewritten(copied, recommendation=None).recommendation
    assert found is not None and found.system


def test_the_rule_comes_from_the_experiment(copied: Path) -> None:
    text = json.loads((copied / "run.json").read_text())["experiment"]
    assert decision_rule(bakeoff.open_run(copied)) == DEFAULT_RULE
    given = rewritten(copied, experiment=f"{text}\ndecide: {{margin: .5, prefer: [latency], ratio: 2}}\n")
    rule = decision_rule(given)
    assert (rule.margin, rule.prefer, rule.ratio) == (0.5, ("latency",), 2.0)
    with pytest.raises(DataError, match="decide"):
        decision_rule(rewritten(copied, experiment=f"{text}\ndecide: {{prefer: [beauty]}}\n"))


def test_parts_and_tokens_of_every_system(ran: Any) -> None:
    parts = running_parts(ran.result)
    assert all(("model" in needed) == ("bm25" not in name) for name, needed in parts.items())
    assert all(("second index" in needed) == ("hybrid" in name) for name, needed in parts.items())
    assert all("server" not in needed for needed in parts.values())
    tokens = question_tokens(ran.result)
    assert set(tokens) == set(ran.result.done) and all(one.mean > 0 for one in tokens.values())


def test_files_that_were_not_read_and_failed_systems_are_named(copied: Path) -> None:
    record = json.loads((copied / "run.json").read_text())
    unread = {"kind": "PDF", "files": 2, "example": "a.pdf", "reason": "no reader", "has_text": True}
    found = rewritten(copied, corpus={**record["corpus"], "left_out": [unread]}).recommendation
    assert found is not None and any(
        text.startswith("2 PDF files ") and "(no reader)" in text for text in found.warnings
    )
    assert dict(found.lines)["Mind"].startswith("2 PDF files")


@pytest.mark.parametrize(
    ("embedder", "warned"), [(None, False), ("use-multilingual", False), ("minilm", True), ("mine", True)]
)
def test_only_a_model_is_checked_for_its_language(copied: Path, embedder: str | None, warned: bool) -> None:
    for name, column, value in (
        ("queries", "text", "哪种算法对密码进行哈希处理?"),
        ("systems", "embedder", embedder),
    ):
        path = copied / f"{name}.parquet"
        table = pq.read_table(path)
        place, field = table.schema.get_field_index(column), table.schema.field(column)
        values = pa.array([value] * table.num_rows, field.type)
        pq.write_table(table.set_column(place, field, values), path)
    found = rewritten(copied, tables={}).recommendation
    assert found is not None
    assert any("their language" in text for text in found.warnings) is warned


@pytest.mark.parametrize(("documents", "minded"), [(10, 1), (11, 0)])
def test_a_primary_recall_of_every_document_is_minded(copied: Path, documents: int, minded: int) -> None:
    record = json.loads((copied / "run.json").read_text())
    corpus = {**record["corpus"], "documents": documents}
    found = rewritten(
        copied, corpus=corpus, primary="R@10(document)", measures=["R@10(document)"]
    ).recommendation
    assert found is not None
    assert len([text for text in found.warnings if text.startswith("R@10(document) ")]) == minded


def test_a_model_that_changed_under_its_name_is_minded(copied: Path) -> None:
    note = f"mine gives other vectors, so this run {MIXED}."
    found = rewritten(copied, notes=[note]).recommendation
    assert found is not None and note in found.warnings


def test_ctrl_c_leaves_a_stopped_run(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "_prepare_and_measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bakeoff.run(small, out="out")
    assert read_record(Path("out")).status == "stopped"
