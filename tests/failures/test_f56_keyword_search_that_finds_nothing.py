"""F56: keyword search that finds nothing for most questions of another script, and "dense beats it"."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.report.build import build_report
from bakeoff.runs.run import run
from bakeoff.runtime.events import WarningRaised

DOCUMENTS = {
    "zh": "长城是中国古代的军事防御工程，东起山海关，西到嘉峪关。",
    "ja": "富士山は日本で一番高い山で、静岡県と山梨県にあります。",
    "ko": "한라산은 제주도에 있는 산으로 대한민국에서 가장 높다.",
    "th": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทยและตั้งอยู่ริมแม่น้ำเจ้าพระยา",
    "hi": "गंगा नदी हिमालय से निकलती है और बंगाल की खाड़ी में गिरती है।",
    "ar": "يقع نهر النيل في أفريقيا ويصب في البحر الأبيض المتوسط.",
}
QUESTIONS = {
    "zh": "长城的西端在哪里？",
    "ja": "日本で最も高い山は？",
    "ko": "제주도에서 가장 높은 산은?",
    "th": "เมืองหลวงของไทยคืออะไร",
    "hi": "गंगा कहाँ से निकलती है?",
    "ar": "أين يقع النيل؟",
}


@pytest.fixture
def experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, tuple[str, str]]], Path]:
    """Writes an experiment over the documents with these questions: id → text and the document that answers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs" / f"{name}.txt").write_text(text, encoding="utf-8")

    def write(questions: dict[str, tuple[str, str]]) -> Path:
        rows = [{"id": i, "text": t, "truth": {"file": f"{d}.txt"}} for i, (t, d) in questions.items()]
        (tmp_path / "queries.yaml").write_text(
            json.dumps({"queries": rows}, ensure_ascii=False), encoding="utf-8"
        )
        (tmp_path / "bakeoff.yaml").write_text(
            "corpus: {folder: docs}\nqueries: queries.yaml\nchunkers: [whole, sentences]\n"
            "modes: [bm25, {bm25: {k1: 1.2}}]\nallow: [leak]\n"
        )
        return tmp_path / "bakeoff.yaml"

    return write


def test_f56_every_script_is_answered_by_its_own_document(experiment: Any) -> None:
    result = run(
        experiment({name: (text, name) for name, text in QUESTIONS.items()}),
        out=Path("run"),
        home=Path("home"),
    )
    assert not result.failed and len(result.done) == 4
    first = {
        (row["system"], row["query_id"]): row["document_id"]
        for row in result.rankings.to_pylist()
        if row["rank"] == 1
    }
    assert first == {(system, name): f"{name}.txt" for system in result.done for name in QUESTIONS}
    assert result.record.empty_searches == []


def test_f56_a_search_that_finds_nothing_is_reported_everywhere(experiment: Any) -> None:
    unanswered = {f"en{n}": (f"unrelated english question {n}", "zh") for n in range(3)}
    asked = {name: (text, name) for name, text in QUESTIONS.items()} | unanswered
    seen: list[Any] = []
    result = run(experiment(asked), out=Path("run"), home=Path("home"), emit=seen.append)
    found = {(one.system, one.search): one for one in result.record.empty_searches}
    assert set(found) == {(system, "keywords") for system in result.done}
    for one in found.values():
        assert (one.queries, one.of) == (3, 9)
        assert [name for name, _ in one.examples] == ["en0", "en1", "en2"]
    warnings = [event.message for event in seen if isinstance(event, WarningRaised)]
    assert all(any(system in text and "3 of 9" in text for text in warnings) for system in result.done)
    assert "3 of 9" in result.verdict.reasons[0]
    assert result.verdict.reasons[0] in build_report(result).headline.reasons


def test_f56_a_few_empty_searches_are_not_accused(experiment: Any) -> None:
    asked = {f"{name}{n}": (f"{text} {n}", name) for name, text in QUESTIONS.items() for n in range(10)}
    result = run(experiment(asked | {"en": ("unrelated", "zh")}), out=Path("run"), home=Path("home"))
    assert result.record.empty_searches == []
    assert all("returned nothing" not in reason for reason in result.verdict.reasons)
