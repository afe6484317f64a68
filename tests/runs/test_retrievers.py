"""Retrievers in a run: measured like any other system, placed, bounded, failed alone."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from bakeoff.errors import ConsentError, ExperimentError
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run

CODE = """
import re
from pathlib import Path

TEXTS = {p.relative_to("corpus").as_posix(): p.read_text(encoding="utf-8") for p in sorted(Path("corpus").rglob("*.*"))}


def words(text):
    return set(re.findall(r"\\w+", text.lower()))


def ranked(text, k):
    scores = {name: float(len(words(text) & words(body))) for name, body in TEXTS.items()}
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:k]


def by_id(text, k):
    return ranked(text, k)


def by_text(text, k):
    return [{"text": TEXTS[name].upper(), "score": score} for name, score in ranked(text, k)]


def half_unknown(text, k):
    return [(name if place % 2 else f"index-{place}", score) for place, (name, score) in enumerate(ranked(text, k))]


def twice(text, k):
    found = ranked(text, 3)
    return [*found[:1], *found]


def not_a_number(text, k):
    return [(name, float("nan")) for name, _ in ranked(text, k)]


def elsewhere(text, k):
    return [(f"chunk-{place}", 1.0) for place in range(3)]
"""
EXPERIMENT = """
name: known
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [whole]
modes: [bm25]
depth: 5
measures: {primary: "nDCG@5(document)", also: ["R@5(document)", "P@5(chunk)", "tokens@5"]}
retrievers:
  - {python: {call: "known:by_id", as: ids}}
  - {python: {call: "known:by_text", as: texts}}
  - {python: {call: "known:half_unknown", as: half}}
  - {python: {call: "known:twice", as: twice}}
  - {python: {call: "known:not_a_number", as: nan}}
  - {python: {call: "known:elsewhere", as: elsewhere}}
  - {run: {file: prod.jsonl, as: file}}
  - {http: {url: "http://127.0.0.1:1/s?q={query}", method: GET, id: id, retries: 0, as: down}}
"""


def lay_out_code(folder: Path) -> None:
    (folder / "known.py").write_text(CODE, encoding="utf-8")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, laid_out_module: Callable[..., Path]) -> Result:
    folder = tmp_path_factory.mktemp("retrievers")
    path = laid_out_module(folder, EXPERIMENT)
    lay_out_code(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BAKEOFF_ALLOW_CODE", "known")
        import sys

        sys.path.insert(0, str(folder))
        import known
        import yaml

        asked = yaml.safe_load((folder / "queries.yaml").read_text(encoding="utf-8"))["queries"]
        lines = [
            {
                "query": one["id"],
                "results": [{"document": d, "score": s} for d, s in known.ranked(one["text"], 5)],
            }
            for one in asked
        ]
        (folder / "prod.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return run(path, out=folder / "run", home=folder / "home")


def means(result: Result, measure: str = "nDCG@5(document)") -> dict[str, float | None]:
    return {system: one.mean for system, one in result.summaries(measure).items()}


def test_the_same_ranking_scores_alike_by_ids_texts_and_from_a_file(result: Result) -> None:
    found = means(result)
    assert found["ids"] == found["texts"] == found["file"] and found["ids"] > 0.5
    rows = result.rankings.select(["system", "query_id", "rank", "document_id", "score"]).to_pylist()
    by_system = {
        name: [tuple(row.values())[1:] for row in rows if row["system"] == name]
        for name in ("ids", "texts", "file")
    }
    assert by_system["ids"] == by_system["texts"] == by_system["file"]


def test_faults_fail_their_own_system_only(result: Result) -> None:
    assert set(result.failed) == {"nan", "elsewhere", "down"}
    assert "rank 1 is nan" in result.failed["nan"]
    assert "'chunk-0'" in result.failed["elsewhere"] and "guide/auth.md" in result.failed["elsewhere"]
    assert "no server answers" in result.failed["down"]
    assert result.record.status == "partial"


def test_results_outside_the_corpus_are_counted_and_bound_the_score(result: Result) -> None:
    half = next(one for one in result.record.placements if one.system == "half")
    assert (half.unknown_id, half.document) == (42, 28) and half.examples[0] == "index-0"
    found = means(result)
    assert half.mean == pytest.approx(found["half"])
    assert found["half"] < found["ids"] and half.high == pytest.approx(0.99585, abs=1e-5)
    assert any(sentence.startswith("half: 42 of 70 results (60.0%)") for sentence in result.verdict.reasons)


def test_the_waterfall_has_the_step_not_placed(result: Result) -> None:
    losses = result.losses.filter(pc.equal(result.losses["system"], "half"))
    mean = {
        step: pc.mean(losses.filter(pc.equal(losses["step"], step))["reachable"]).as_py()
        for step in dict.fromkeys(losses["step"].to_pylist())
    }
    assert list(mean) == ["best possible", "search misses", "not placed", "ranked too low"]
    assert mean["search misses"] > mean["not placed"] > mean["ranked too low"]


def test_a_repeated_result_counts_once(result: Result) -> None:
    twice = next(one for one in result.record.placements if one.system == "twice")
    assert (twice.repeated, twice.results) == (14, 56)
    rows = result.rankings.filter(pc.equal(result.rankings["system"], "twice"))
    assert rows.num_rows == 42


def test_fewer_results_than_the_measure_counts_are_noted(result: Result) -> None:
    short = {one.system: (one.short, one.queries) for one in result.record.placements}
    assert short["ids"][0] == 0 and short["twice"][0] == short["twice"][1] > 0
    assert any("twice" in note and "than nDCG@5(document)" in note for note in result.verdict.reasons)


def test_chunks_that_are_not_all_known_have_no_chunk_measure(result: Result) -> None:
    assert means(result, "P@5(chunk)")["ids"] is None
    assert means(result, "tokens@5(chunk)")["ids"] == pytest.approx(
        means(result, "tokens@5(chunk)")["texts"], rel=0.01
    )


def test_times_are_measured_but_not_of_a_file(result: Result) -> None:
    assert result.timing("ids", "total", "mean_ms") > 0
    assert result.timing("file", "total", "mean_ms") is None
    notes = {row["note"] for row in result.timings.to_pylist() if row["system"] == "file"}
    assert any("prod.jsonl" in note for note in notes)
    row = next(one for one in result.systems.to_pylist() if one["system"] == "ids")
    assert (row["index_bytes"], row["chunks"], row["mode"]) == (None, None, "retriever")


def test_retrievers_are_not_factors(result: Result) -> None:
    from bakeoff.runs.verdict import explain_variation

    assert explain_variation(result) is None  # one combination is left


RETRIEVERS_ONLY = """
corpus: {{folder: corpus}}
queries: queries.yaml
retrievers: {}
"""


@pytest.mark.parametrize(
    ("retrievers", "word"),
    [
        ("[{python: {call: 'a:b'}}, {python: {call: 'a:c'}}]", "as: NAME"),
        ("[{python: {call: 'nothing'}}]", "call"),
        ("[htttp]", "Did you mean 'http'"),
        ("[{http: {url: 'http://h/{query}', method: GET, id: 'a['}}]", "JMESPath"),
    ],
)
def test_mistakes_in_the_file_name_their_line(retrievers: str, word: str, tmp_path: Path) -> None:
    from bakeoff.config import experiment
    from bakeoff.errors import UserError

    path = tmp_path / "bakeoff.yaml"
    path.write_text(RETRIEVERS_ONLY.format(retrievers), encoding="utf-8")
    with pytest.raises(UserError, match="line 4") as fault:
        experiment.load(path)
    assert word in str(fault.value)


def test_an_experiment_may_have_retrievers_only(tmp_path: Path) -> None:
    from bakeoff.config import experiment

    path = tmp_path / "bakeoff.yaml"
    path.write_text(RETRIEVERS_ONLY.format("[{python: {call: 'a:b', as: ours}}]"), encoding="utf-8")
    plan = experiment.load(path)
    assert [system.label for system in plan.systems] == ["ours"]
    text = RETRIEVERS_ONLY.format("[{python: {call: 'a:b', as: ours}}]") + "chunkers: [line]\nmodes: [bm25]\n"
    path.write_text(text, encoding="utf-8")
    assert [system.label for system in experiment.load(path).systems] == ["line · bm25", "ours"]


def test_code_needs_consent_and_chunk_measures_are_refused(
    home: Path, laid_out: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    only = RETRIEVERS_ONLY.format("[{python: {call: 'known:by_id'}}]")
    path = laid_out(Path.cwd(), only)
    lay_out_code(Path.cwd())
    with pytest.raises(ConsentError, match="--allow-code known"):
        run(path, out="asked")
    assert not Path("asked").exists()  # nothing is read before it is allowed
    monkeypatch.setenv("BAKEOFF_ALLOW_CODE", "known")
    path.write_text(only + textwrap.dedent("measures: {primary: nDCG@5(chunk)}\n"), encoding="utf-8")
    with pytest.raises(ExperimentError, match="a retriever"):
        run(path)
