from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bakeoff.errors import MeasureError, SystemFailure
from bakeoff.measures.conventions import DEFAULT
from bakeoff.measures.names import parse
from bakeoff.pipeline.chunk import TokenCounts
from bakeoff.pipeline.query_pipeline import StepResult
from bakeoff.pipeline.scoring.score import ScoringInputs, measure_values, score_table
from bakeoff.truth.queries import read_queries
from bakeoff.truth.resolve import resolve
from bakeoff.types import Hits

QUERIES = """\
queries:
  - {id: doc, text: a, truth: {documents: [guide/auth.md]}}
  - {id: span, text: b, truth: {passage: {text: "Passwords are hashed with argon2"}}}
  - {id: none, text: c, truth: negative}
  - {id: unjudged, text: d, truth: unjudged}
"""


def score_system(work: ScoringInputs, names: tuple[str, ...]) -> Any:
    measures = [parse(name) for name in names]
    return score_table("run", "system", work, measure_values(work, measures), measures)


@pytest.fixture
def scored(bench: Any) -> Any:
    """Scores any ranking of chunks (row numbers, one list a query) on measures."""
    Path("queries.yaml").write_text(QUERIES)
    queries = read_queries(Path("queries.yaml"))
    chunking = bench.chunking("semantic", merge_below=0)
    truth = resolve(queries, bench.corpus().documents, {chunking.fingerprint: chunking.chunks}, strict=True)

    def run(rows: list[list[int]], *measures: str, top: float = 1.0) -> dict[tuple[str, str], float | None]:
        hits = tuple(Hits(np.array(row, np.int64), top - np.arange(len(row)) / 10) for row in rows)
        leg = StepResult(hits, np.ones((1, 4)))
        work = ScoringInputs(
            leg,
            chunking,
            queries,
            truth,
            DEFAULT,
            lambda: TokenCounts(chunking),
            lambda: run.legs,
            run.depth,
        )
        table = score_system(work, measures).to_pylist()
        run.table = table
        return {(row["query_id"], row["measure"]): row["value"] for row in table}

    run.legs = run.depth = None
    texts = chunking.chunks["text"].to_pylist()
    run.chunk = lambda words: next(i for i, text in enumerate(texts) if words in text)
    run.tokens = TokenCounts(chunking)[np.arange(chunking.chunks.num_rows)]
    return run


def test_documents_count_once_and_nulls_stay_null(scored: Any) -> None:
    auth, password, tax = scored.chunk("Access tokens"), scored.chunk("argon2"), scored.chunk("Value added")
    found = scored([[tax, auth, password], [tax, password], [tax], [tax]], "RR@10(document)", "P@2(document)")
    assert found["doc", "RR@10(document)"] == 0.5 and found["span", "RR@10(document)"] == 0.5
    assert found["doc", "P@2(document)"] == 0.5
    for query in ("none", "unjudged"):
        assert found[query, "RR@10(document)"] is None


def test_chunk_and_answer_units_follow_the_span(scored: Any) -> None:
    auth, password = scored.chunk("Access tokens"), scored.chunk("argon2")
    found = scored([[auth], [auth, password], [], []], "RR@10(chunk)", "RR@10(answer)")
    assert found["span", "RR@10(chunk)"] == 0.5 and found["span", "RR@10(answer)"] == 0.5
    assert found["doc", "RR@10(chunk)"] == 1.0
    assert found["doc", "RR@10(answer)"] is None


def test_an_empty_answer_scores_zero_where_there_is_truth(scored: Any) -> None:
    auth = scored.chunk("Access tokens")
    found = scored([[auth], [], [], []], "R@5(document)")
    assert found["span", "R@5(document)"] == 0.0 and found["none", "R@5(document)"] is None


def test_tokens_are_those_of_the_chunks(scored: Any) -> None:
    auth, tax = scored.chunk("Access tokens"), scored.chunk("Value added")
    found = scored([[auth, tax], [auth], [tax], []], "Hit@5(document)", "tokens@1", "tokens@5")
    assert found["doc", "tokens@1"] == scored.tokens[auth]
    assert found["doc", "tokens@5"] == scored.tokens[auth] + scored.tokens[tax]


def test_spans_are_measured_in_characters(scored: Any) -> None:
    password = scored.chunk("argon2")
    found = scored([[password], [password], [], []], "SpanRecall@5", "SpanPrecision@5")
    assert found["span", "SpanRecall@5"] == 1.0
    assert 0 < found["span", "SpanPrecision@5"] < 1
    assert found["doc", "SpanRecall@5"] is None


def test_a_token_budget_cuts_the_ranking_before_what_does_not_fit(scored: Any) -> None:
    auth, password, tax = scored.chunk("Access tokens"), scored.chunk("argon2"), scored.chunk("Value added")
    first, second = int(scored.tokens[tax]), int(scored.tokens[password])
    ranking = [[tax, auth], [tax, password], [tax], [tax]]
    fits, lacks = f"{first + second}tokens", f"{first + second - 1}tokens"
    names = [f"{name}@{budget}" for name in ("SpanRecall", "tokens") for budget in (fits, lacks)]
    names += [f"{name}@{b}(document)" for name in ("R", "Hit", "RR", "nDCG") for b in (fits, lacks)]
    found = scored(ranking, "R@2(document)", *names)
    assert found["span", f"SpanRecall@{fits}"] == 1.0 and found["span", f"SpanRecall@{lacks}"] == 0.0
    assert found["span", f"tokens@{fits}"] == first + second and found["span", f"tokens@{lacks}"] == first
    for name, value in (("R", 1.0), ("Hit", 1.0), ("RR", 0.5), ("nDCG", 1 / np.log2(3))):
        assert found["span", f"{name}@{fits}(document)"] == pytest.approx(value)
        assert found["span", f"{name}@{lacks}(document)"] == 0.0
    assert found["none", f"SpanRecall@{fits}"] is None


def test_a_budget_that_the_depth_cannot_fill_is_no_score(scored: Any) -> None:
    auth, tax = scored.chunk("Access tokens"), scored.chunk("Value added")
    budget = int(scored.tokens[[auth, tax]].sum()) + 1
    scored.depth = 2
    with pytest.raises(SystemFailure, match=r"2.*3"):
        scored([[auth, tax]] * 4, f"R@{budget}tokens(document)")
    scored.depth = 3  # the store gave all it had
    assert (
        scored([[auth, tax]] * 4, f"R@{budget}tokens(document)")["doc", f"R@{budget}tokens(document)"] == 1.0
    )


def test_false_alarms_are_of_negative_queries_alone(scored: Any) -> None:
    auth = scored.chunk("Access tokens")
    found = scored([[auth]] * 4, "Hit@5(document)", "FalseAlarm@0.5", "FalseAlarm@1.5")
    assert found["none", "FalseAlarm@0.5"] == 1.0 and found["none", "FalseAlarm@1.5"] == 0.0
    assert found["doc", "FalseAlarm@0.5"] is None


def test_unit_and_source_stand_in_every_row(scored: Any) -> None:
    auth = scored.chunk("Access tokens")
    scored([[auth]] * 4, "Hit@5(document)", "tokens@5")
    rows = {(row["query_id"], row["measure"]): row for row in scored.table}
    assert rows["doc", "Hit@5(document)"]["unit"] == "document"
    assert rows["doc", "Hit@5(document)"]["source"] == "documents"
    assert rows["none", "Hit@5(document)"]["source"] == ""
    assert [row["measure"] for row in scored.table] == ["Hit@5(document)"] * 4 + ["tokens@5"] * 4


def test_all_zero_on_the_primary_measure_is_a_failure(scored: Any) -> None:
    tax = scored.chunk("Value added")
    with pytest.raises(SystemFailure, match=r"nDCG@10\(document.* 0 .*2 queries"):
        scored([[tax]] * 4, "nDCG@10(document)")


def test_measures_that_a_run_cannot_have(scored: Any) -> None:
    with pytest.raises(MeasureError):
        scored([[0]] * 4, "SemPrec@10")


def leg(*rows: list[int]) -> StepResult:
    """Answers over rows whose score falls with their number."""
    hits = tuple(Hits(np.array(row, np.int64), 1.0 - np.array(row) / 10) for row in rows)
    return StepResult(hits, np.ones((1, len(rows))))


def test_recall_against_exact_search_needs_a_search_by_vector(scored: Any) -> None:
    answers = [[scored.chunk("Access tokens")]] * 4
    assert scored(answers, "Hit@5(document)", "kNN@2")["doc", "kNN@2"] is None
    scored.legs = leg([0, 1], [0, 3], [4, 5], [6]), leg([0, 1], [0, 1], [0, 1], [6, 7])
    found = scored(answers, "Hit@5(document)", "kNN@2")
    values = [found[query, "kNN@2"] for query in ("doc", "span", "none", "unjudged")]
    assert values == [1.0, 0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("own", "expected"), [("", 0.5), (", universal: [TAXES]", 1.0), (", universal: [Z]", 0.5)]
)
def test_a_rule_brings_its_own_universal_sections(bench: Any, own: str, expected: float) -> None:
    Path("queries.yaml").write_text(
        f"queries:\n  - {{id: a, text: x, truth: {{sections: {{of: [Refunds]{own}}}}}}}\n"
        "  - {id: b, text: y, truth: {sections: [Refunds]}}\n"
    )
    queries, chunking = read_queries(Path("queries.yaml")), bench.chunking("semantic", merge_below=0)
    truth = resolve(queries, bench.corpus().documents, {}, strict=True)
    rows = [
        i
        for i, label in enumerate(chunking.chunks["section"].to_pylist())
        if "Refunds" in label or "Taxes" in label
    ]
    hits = Hits(np.array(rows, np.int64), np.arange(len(rows), 0.0, -1.0))
    leg = StepResult((hits, hits), np.ones((1, 4)))
    work = ScoringInputs(leg, chunking, queries, truth, DEFAULT, lambda: TokenCounts(chunking), lambda: None)
    table = score_system(work, ("SecAcc@2", "SecAcc_primary@2"))
    assert table["value"].to_pylist() == [expected, 0.5, 0.5, 0.5]
