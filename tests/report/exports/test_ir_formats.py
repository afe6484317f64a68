"""Experiments and runs as files of other tools, held against these tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import pytrec_eval

from bakeoff import run
from bakeoff.errors import BakeoffError, DataError, SettingError
from bakeoff.presets.export_files import Files
from bakeoff.presets.import_formats import read_foreign
from bakeoff.report.exports.ir_formats import ExportChoice, ExportScores, Format, Level, export
from bakeoff.runs.analysis import Result
from bakeoff.truth.importers.writing import query_file

DATA = Path(__file__).resolve().parents[3].parent / "shared/data"
NOTES = {
    "apples.md": "# Apples\n\nApples are red fruit.\n\n# Pears\n\nPears are green fruit and grow on trees.\n",
    "boats.md": "# Boats\n\nBoats sail on water. A boat needs wind.\n",
    "old trees.md": "# Trees\n\nTrees grow slowly. Apple trees bear fruit.\n",
}
QUERIES = """
queries:
  - {id: q1, text: red fruit, category: food, truth: {any: [{documents: [apples.md], grade: 3}, {keywords: {any: [fruit]}}]}}
  - {id: q2, text: sail with wind, truth: {documents: [boats.md]}}
  - {id: q3, text: spaceships, truth: negative}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def notes(home: Path) -> Path:
    """An experiment over three notes."""
    for name, text in NOTES.items():
        (home / "notes").mkdir(exist_ok=True)
        (home / "notes" / name).write_text(text, encoding="utf-8")
    (home / "queries.yaml").write_text(QUERIES, encoding="utf-8")
    (home / "bakeoff.yaml").write_text(
        "corpus: {folder: notes}\nqueries: queries.yaml\nchunkers: [{line: {doc_lines: 2, context: none}}]\n"
        "modes: [bm25]\nmeasures: {primary: nDCG@10(document)}\n",
        encoding="utf-8",
    )
    return home


def beir_experiment(home: Path, corpus: Path, queries: str) -> Path:
    """An experiment over a BEIR corpus with a query file."""
    (home / "queries.yaml").write_text(queries, encoding="utf-8")
    text = f"corpus: {{source: beir, folder: {corpus}}}\nqueries: queries.yaml\nchunkers: [whole]\nmodes: [bm25]\n"
    (home / "bakeoff.yaml").write_text(text, encoding="utf-8")
    return home


def texts(files: Files) -> dict[str, str]:
    return {name: content.decode() for name, content in files.contents.items()}


def objects(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_documents_are_judged_with_their_highest_grade(notes):
    exported = export(notes, ExportChoice(Format.BEIR))
    rows = [line.split("\t") for line in texts(exported)["qrels/test.tsv"].splitlines()[1:]]
    assert rows == [["q1", "apples.md", "3"], ["q1", "old trees.md", "1"], ["q2", "boats.md", "1"]]
    assert [row["_id"] for row in objects(texts(exported)["corpus.jsonl"])] == sorted(NOTES)
    assert objects(texts(exported)["queries.jsonl"])[0]["metadata"] == {"category": "food"}
    assert any("no judgment" in note and "q3" in note for note in exported.notes)


def test_chunks_are_judged_and_written_as_the_corpus(notes):
    files = texts(export(notes, ExportChoice(Format.BEIR, Level.CHUNK)))
    corpus = {row["_id"]: row for row in objects(files["corpus.jsonl"])}
    judged = [line.split("\t") for line in files["qrels/test.tsv"].splitlines()[1:]]
    assert {item for _, item, _ in judged} <= set(corpus)
    grades = {item: int(grade) for query, item, grade in judged if query == "q1"}
    fruit = {name for name, row in corpus.items() if "fruit" in str(row["text"]).lower()}
    apples = {name for name, row in corpus.items() if row["metadata"]["document"] == "apples.md"}
    assert set(grades) == fruit | apples
    assert all(grades[name] == (3 if name in apples else 1) for name in grades)


def test_trec_ids_with_blanks_agree_between_qrels_and_run(notes):
    result = run(notes, out=notes / "run")
    qrels = texts(export(notes, ExportChoice(Format.TREC)))["qrels.txt"]
    lines = texts(export(notes / "run", ExportChoice(Format.TREC)))[
        "runs/line-doc_lines=2-context=none-bm25.txt"
    ]
    assert "q1 0 old%20trees.md 1\n" in qrels
    assert " old%20trees.md " in lines
    assert_same_as_trec_eval(result, qrels, lines)


def assert_same_as_trec_eval(result: Result, qrels: str, lines: str) -> None:
    """nDCG@10 of exported files under trec_eval's own code equals what the run stored."""
    judged, served = {}, {}
    for query, _, item, grade in (line.split() for line in qrels.splitlines()):
        judged.setdefault(query, {})[item] = int(grade)
    for query, _, item, _, score, _ in (line.split() for line in lines.splitlines()):
        served.setdefault(query, {})[item] = float(score)
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(served)
    rows = result.scores.to_pylist()
    ours = {row["query_id"]: row["value"] for row in rows if row["measure"] == "nDCG@10(document)"}
    assert set(theirs) == {"q1", "q2"}
    for query, found in theirs.items():
        assert found["ndcg_cut_10"] == pytest.approx(ours[query], abs=1e-12)


def test_a_document_has_the_rank_of_its_first_chunk(notes):
    run(notes, out=notes / "run")
    chunks = texts(export(notes / "run", ExportChoice(Format.TREC, Level.CHUNK)))
    documents = texts(export(notes / "run", ExportChoice(Format.TREC)))
    (by_chunk,), (by_document,) = chunks.values(), documents.values()
    served: dict[str, list[str]] = {}
    for query, _, item, *_ in (line.split() for line in by_chunk.splitlines()):
        name = item.split("#")[0]
        if name not in served.setdefault(query, []):
            served[query].append(name)
    found: dict[str, list[str]] = {}
    for query, _, item, rank, *_ in (line.split() for line in by_document.splitlines()):
        found.setdefault(query, []).append(item)
        assert int(rank) == len(found[query])
    assert found == served
    assert len(by_chunk.splitlines()) > len(by_document.splitlines())


def test_scores_by_rank_fall_by_one(notes):
    run(notes, out=notes / "run")
    files = texts(export(notes / "run", ExportChoice(Format.BEIR, scores=ExportScores.RANK)))
    (text,) = files.values()
    for found in json.loads(text).values():
        assert list(found.values()) == [float(len(found) - i) for i in range(len(found))]


def test_export_is_the_same_bytes_each_time_and_overwrites_nothing(notes):
    first = export(notes, ExportChoice(Format.BEIR))
    paths = first.write(notes / "out")
    assert texts(export(notes, ExportChoice(Format.BEIR))) == texts(first)
    with pytest.raises(SettingError):
        first.write(notes / "out")
    assert first.write(notes / "out", overwrite=True) == paths


def test_neither_run_nor_experiment(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        export(tmp_path / "none", ExportChoice(Format.BEIR))
    with pytest.raises(BakeoffError, match=r"bakeoff\.yaml"):
        export(tmp_path, ExportChoice(Format.BEIR))


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not beside the project")
def test_scifact_goes_round(home):
    """BEIR → a query file → BEIR: the same queries, judgments and documents."""
    scifact = DATA / "scifact"
    files = texts(
        export(
            beir_experiment(home, scifact, query_file(read_foreign("beir", [scifact]))),
            ExportChoice(Format.BEIR),
        )
    )
    for name in ("queries.jsonl", "corpus.jsonl"):
        assert objects(files[name]) == objects((scifact / name).read_text(encoding="utf-8"))
    judged = (scifact / "qrels/test.tsv").read_text(encoding="utf-8").split("\n")
    assert sorted(files["qrels/test.tsv"].splitlines()) == sorted(line.strip() for line in judged if line)


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not beside the project")
@pytest.mark.parametrize("name", ["qrels.test", "qrels.rel_level"])
def test_trec_eval_qrels_go_round_byte_for_byte(home, name):
    source = DATA / "trec_eval" / name
    rows = [line.split() for line in source.read_text(encoding="utf-8").splitlines()]
    topics = home / "topics.tsv"
    topics.write_text("".join(f"{topic}\tTopic {topic}\n" for topic in dict.fromkeys(row[0] for row in rows)))
    documents = sorted({row[2] for row in rows})
    lines = (
        json.dumps({"_id": document, "title": "", "text": f"text of {document}"}) for document in documents
    )
    (home / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    where = beir_experiment(home, home, query_file(read_foreign("trec", [topics, source])))
    assert texts(export(where, ExportChoice(Format.TREC)))["qrels.txt"] == source.read_text(encoding="utf-8")
