"""The walk over an experiment: what is sound is ready, and each fault is named where it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from bakeoff.corpus.skipped_files import SkippedFiles
from bakeoff.examples import find
from bakeoff.runs.checks.checking import validate

Make = Callable[..., Any]
EXAMPLES = ("stdlib", "lineage", "incidents")


def test_a_sound_experiment_has_no_errors_and_says_what_it_is(lab: Make) -> None:
    report = lab().report()
    assert report.of("error") == ()
    assert report.corpus is not None and report.corpus.documents == 12
    assert [row.documents for row in report.queries] == [1, 1, 1, 0]
    assert [row.state for row in report.queries] == ["judged", "judged", "judged", "negative"]
    assert [(row.query, row.rule, row.hits) for row in report.rules] == [
        ("sign", "truth", 1),
        ("post", "truth", 1),
        ("rail", "truth", 1),
    ]
    assert not report.faults() and report.faults(strict=True)  # few queries are a warning


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_bundled_examples_are_clean(name: str, tmp_path: Path) -> None:
    report = validate(find(name).experiment, home=tmp_path)
    errors = [finding for finding in report.of("error") if finding.code != "weights"]
    assert errors == []
    warnings = {finding.code for finding in report.of("warning")}
    # the preset's P@5 ≥ 0.8 lies above the ceiling of this truth (C-26), and is said
    assert warnings == ({"target"} if name == "lineage" else set())
    assert report.corpus is not None and report.power is not None
    assert all(row.documents > 0 for row in report.queries if row.state == "judged")


def test_weights_that_are_not_here_are_an_error_before_the_run(
    lab: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.storage.weights._wheel_folders", lambda _: [])
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "empty"))
    made = lab(experiment=(("[wordllama]", "[minilm]"), ("[bm25]", "[dense]")))
    (found,) = made.found("weights")
    assert found.level == "error" and "bakeoff models pull minilm" in found.message


def test_a_damaged_graph_is_an_error_before_the_run(lab: Make, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"not a graph")
    Tokenizer(WordLevel({"?": 0}, unk_token="?")).save(str(folder / "tokenizer.json"))
    part = f"[{{onnx: {{folder: '{folder}', pooling: mean}}}}]"
    (found,) = lab(experiment=(("[wordllama]", part), ("[bm25]", "[dense]"))).found("unreachable")
    assert found.level == "error" and "model.onnx" in found.message


def test_an_experiment_that_cannot_be_read_is_one_finding(lab: Make) -> None:
    (found,) = lab(experiment="corpus: {folder: docs}\nqueries: q.yaml\nchunker: line\n").report().findings
    assert (found.level, found.code) == ("error", "experiment")
    assert "line 3" in found.message


def test_missing_extras_are_all_named(lab: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from bakeoff import registry
    from bakeoff.errors import MissingExtraError

    real = registry.load

    def load(kind: str, name: str) -> Any:
        if name in ("wordllama", "faiss"):
            raise MissingExtraError(f"{name} needs {name}: pip install 'bakeoff[{name}]'")
        return real(kind, name)

    monkeypatch.setattr(registry, "load", load)
    report = lab(experiment=(("modes: [bm25]", "modes: [bm25]\nstores: [exact, faiss]"),)).report()
    assert [finding.code for finding in report.findings] == ["extra", "extra"]
    assert "bakeoff[wordllama]" in report.findings[0].message
    assert report.findings[1].where == "bakeoff.yaml, line 7"


def test_queries_and_corpus_are_both_looked_at_when_one_is_broken(lab: Make) -> None:
    made = lab(queries="queries:\n  - {id: a, text: b}\n", experiment=(("docs", "nowhere"),))
    assert [finding.code for finding in made.report().of("error")] == ["queries", "corpus"]


def test_unknown_preset_is_an_error(lab: Make) -> None:
    (found,) = lab(experiment=(("modes", "preset: linaege\nmodes"),)).found("experiment")
    assert "mean lineage?" in found.message


def test_skipped_files_are_counted_and_named(lab: Make) -> None:
    made = lab(empty__md="", void__md=" \n")
    report = made.report()
    assert report.corpus is not None
    assert report.corpus.skipped == (SkippedFiles("markdown", 2, "empty.md", "empty", has_text=False),)
    (found,) = made.found("skipped")
    assert found.level == "note" and "Skipped 2 files" in found.message


def test_a_file_whose_text_is_missing_is_a_warning(lab: Make) -> None:
    made = lab(deck__pptx="PK")
    (found,) = made.found("skipped")
    assert found.level == "warning" and "deck.pptx (" in found.message


def test_a_query_that_nearly_everything_answers_is_named(lab: Make) -> None:
    made = lab(queries=(("[trains.md]", '["other/*.md"]'),))
    (found,) = made.found("too-many-hits")
    assert found.where.endswith("query rail") and found.message.startswith("75% ")


def test_a_rule_without_hits_is_named_and_the_query_is_an_error(lab: Make) -> None:
    made = lab(queries=(("{documents: [trains.md]}", "{keywords: {any: [zeppelin]}, over: documents}"),))
    assert [finding.level for finding in made.found("truth")] == ["error", "warning"]
    assert all(finding.where == "queries.yaml, line 4, query rail" for finding in made.found("truth"))


def test_chunks_are_made_only_where_something_speaks_of_them(lab: Make) -> None:
    assert lab().report().corpus.chunks == {}
    made = lab(queries=(("{documents: [trains.md]}", "{sql: \"chunk_text LIKE '%timetable%'\"}"),))
    report = made.report()
    assert report.corpus.chunks == {"line": 12}
    assert report.queries[2].hits == {"line": 1}


def test_f08_chunk_bound_truth_is_refused_where_chunkers_are_compared(lab: Make) -> None:
    condition = "{sql: \"chunk_text LIKE '%timetable%'\"}"
    both = (("[line]", "[line, whole]"),)
    made = lab(queries=(("{documents: [trains.md]}", condition),), experiment=both)
    (found,) = made.found("chunk-bound")
    assert (found.level, found.where) == ("error", "bakeoff.yaml, line 4")
    assert "1 query (rail)" in found.message and "By document" in found.message
    free = (("{documents: [trains.md]}", condition[:-1] + ", over: documents}"),)
    assert lab(queries=free, experiment=both).found("chunk-bound") == []


def test_f02_a_condition_that_cannot_run_is_an_error(lab: Make) -> None:
    broken = (("{documents: [trains.md]}", '{sql: "no_such_column = 1", over: documents}'),)
    (found,) = lab(queries=broken).found("truth")
    assert found.level == "error" and "no_such_column" in found.message


def test_f07_truth_by_symbol_and_passage_needs_no_chunks(lab: Make) -> None:
    made = lab(queries=(("{documents: [trains.md]}", '{passage: "announced two weeks ahead"}'),))
    report = made.report()
    assert report.corpus.chunks == {} and not report.of("error")


def test_a_leaked_run_is_quoted_as_the_query_writes_it(lab: Make) -> None:
    text = "isn't it true: a timetable change is announced two weeks ahead"
    made = lab(queries=(("when do passengers learn of new departures", f'"{text}"'),))
    (found,) = made.found("leak-run")
    assert '"a timetable change is announced two weeks ahead"' in found.message
    assert "trains.md" in found.message
